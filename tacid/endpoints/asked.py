"""What an endpoint that speaks OpenAI's chat protocol is asked for, one generation of a turn at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tacid.catalogue import AUTO, Catalogue, Choice, Schema, Tool
from tacid.chat import Message, Sampling


@dataclass(frozen=True, slots=True)
class Asked:
    """One generation.

    ``catalogue`` is empty where none of its tools may be called. ``grammar`` is the GBNF that the reply is held to,
    by an endpoint that takes one. ``max_calls``: calls that one reply may hold. ``alone``: tools whose call is never
    part of several. ``think``: whether the model may think, and is listened to.
    """

    messages: tuple[Message, ...]
    catalogue: Catalogue = field(default_factory=Catalogue)
    choice: Choice = AUTO
    sampling: Sampling = field(default_factory=Sampling)
    answer: Schema | None = None
    facts: tuple[str, ...] = ()
    grammar: str | None = None
    max_calls: int = 1
    alone: frozenset[str] = frozenset()
    think: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """The calls that follow are one list; each is judged by itself."""


#: There is only one.
SEVERAL: Final = Several()


def tool_body(tool: Tool) -> dict[str, Any]:
    """A tool in OpenAI's shape; ``strict`` where its schema has what strict mode asks for."""
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if is_strict(tool.parameters):
        function["strict"] = True
    return {"type": "function", "function": function}


def choice_body(choice: Choice) -> Any:
    """A choice in OpenAI's shape."""
    return {"type": "function", "function": {"name": choice.name}} if choice.mode == "named" else choice.mode


def is_strict(schema: Any, depth: int = 0) -> bool:
    """Whether a schema may be sent as strict: every object in it closed, every property required, nothing exotic.

    Source: OpenAI, Structured model outputs, "Supported schemas".
    """
    if not isinstance(schema, Mapping) or depth > 5 or not set(schema) <= _STRICT:
        return False
    if depth == 0 and schema.get("type") != "object":
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        if set(properties) != set(schema.get("required", ())):
            return False
    elif properties or not ({"type", "enum", "const", "anyOf", "$ref"} & set(schema)):
        return False
    inner = [*properties.values(), *schema.get("anyOf", ())]
    if schema.get("type") == "array":
        inner.append(schema.get("items"))
    inner += schema["$defs"].values() if isinstance(schema.get("$defs"), Mapping) else ()
    return all(is_strict(one, depth + 1) for one in inner)


_STRICT = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description",
    "title", "$ref", "$defs",
}  # fmt: skip
