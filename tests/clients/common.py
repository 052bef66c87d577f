"""What the tests of all clients share: two tools, a question, and what is expected of a call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema_rs

MODEL = "smollm2-135m-instruct"
#: A model that isn't served.
NOBODY = "gpt-of-nobody"
#: The key of the server that wants one.
KEY = "a-key-of-the-tests-0123456789"

QUESTION = "What is the weather in Oslo for the next 3 days?"
#: Questions at which the model calls by itself, at one of them at least: for clients that can't say that it must.
ASKING = ("weather Oslo 3", "Use the tool weather: city Oslo, days 3.", "weather Rome 2", "weather tool, Oslo, 3 days")
#: What the tool says, and what people ask after it.
RESULT = "Snow, 3 degrees below zero."
#: Tokens that an answer may have. It ends by itself long before; some clients raise where an answer was cut off.
ANSWER = 200

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
LIGHT: dict[str, Any] = {
    "type": "object",
    "properties": {"room": {"type": "string", "enum": ["hall", "kitchen"]}, "on": {"type": "boolean"}},
    "required": ["room", "on"],
    "additionalProperties": False,
}
#: The shape of a held answer.
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "enum": ["Oslo", "Rome"]}, "cold": {"type": "boolean"}},
    "required": ["name", "cold"],
    "additionalProperties": False,
}

SCHEMAS: dict[str, dict[str, Any]] = {"weather": WEATHER, "light_set": LIGHT}
WORDS = {"weather": "The weather of a city for some days.", "light_set": "Switch the light of a room."}

#: The tools as OpenAI's chat and Ollama take them.
FUNCTIONS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "description": WORDS[name], "parameters": schema}}
    for name, schema in SCHEMAS.items()
]


def judged(name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """The arguments of a call, parsed where they are text; asserts that they fit the tool's schema."""
    parsed = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    jsonschema_rs.validator_for(SCHEMAS[name]).validate(parsed)
    assert isinstance(parsed, dict)
    return parsed


def pieced(parts: Iterable[str | None]) -> str:
    """The text of streamed parts; asserts that it came in more than one."""
    texts = [part for part in parts if part]
    assert len(texts) > 1, texts
    return "".join(texts)


def weather(city: str, days: int) -> str:
    """What the tool does."""
    judged("weather", {"city": city, "days": days})
    return RESULT
