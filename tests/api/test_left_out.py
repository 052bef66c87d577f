"""One bad tool harms only itself, and nobody is left in the dark about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tacid.api.left_out import HEADER, MAX_HEADER, headers
from tacid.catalogue import LeftOut
from tacid.engine.process import Engine
from tests.serving import Served, joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

GOOD = {"name": "good", "parameters": {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}}
#: No call fits; the second is no tool at all.
BAD = {"name": "bad", "parameters": {"type": "object", "properties": {"n": False}, "required": ["n"]}}
NAMELESS = {"description": "nothing"}
ASK = [{"role": "user", "content": "Do it."}]


@pytest.fixture(scope="module")
def served(engine: Engine) -> Iterator[Served]:
    with serving(joined(engine)) as server:
        yield server


@pytest.fixture(scope="module")
def strict(engine: Engine) -> Iterator[Served]:
    with serving(joined(engine, server={"strict_tools": True})) as server:
        yield server


def functions(*tools: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools]


def bodies() -> list[tuple[str, dict[str, Any]]]:
    tools = functions(GOOD, BAD, NAMELESS)
    anthropic = [{"name": tool.get("name"), "input_schema": tool.get("parameters")} for tool in (GOOD, BAD, NAMELESS)]
    flat = [{"type": "function", **tool} for tool in (GOOD, BAD, NAMELESS)]
    few = {"max_tokens": 40}
    return [
        ("/v1/chat/completions", {"messages": ASK, "tools": tools, "tool_choice": "required", **few}),
        ("/v1/responses", {"input": "Do it.", "tools": flat, "tool_choice": "required", "max_output_tokens": 40}),
        ("/v1/messages", {"messages": ASK, "tools": anthropic, "tool_choice": {"type": "any"}, "model": "x", **few}),
        ("/api/chat", {"messages": ASK, "tools": tools, "options": {"num_predict": 40}}),
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("number", range(4))
def test_the_others_are_offered_and_it_is_named(served: Served, number: int, stream: bool) -> None:
    path, body = bodies()[number]
    if "model" in body or path == "/api/chat":
        body["model"] = "smollm2-135m-instruct"
    with httpx.Client(base_url=served.url, timeout=60) as http:
        reply = http.post(path, json={**body, "stream": stream})
    assert reply.status_code == 200, reply.text
    warning = reply.headers[HEADER]
    assert '"bad"' in warning
    assert "/properties/n" in warning
    assert "tools[2]" in warning
    assert '"good"' not in warning
    told = [line for line in reply.text.splitlines() if "left_out" in line]
    assert told, reply.text
    found = json.loads(told[-1].removeprefix("data: "))
    mark = found.get("tacid") or found["response"]["tacid"]
    assert {tool["tool"] for tool in mark["left_out"]} == {"bad", "tools[2]"}
    if path != "/api/chat":
        assert "good" in reply.text
    logged = [line for line in served.log() if line.get("path") == path]
    assert set(logged[-1]["left_out"]) == {"bad", "tools[2]"}


def test_good_tools_warn_of_nothing(served: Served) -> None:
    body = {"messages": ASK, "tools": functions(GOOD), "max_tokens": 20}
    with httpx.Client(base_url=served.url, timeout=60) as http:
        reply = http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200
    assert HEADER not in reply.headers
    assert "left_out" not in reply.text


@pytest.mark.parametrize("tools", [(BAD,), (NAMELESS,), (NAMELESS, BAD)])
@pytest.mark.parametrize(
    "more",
    [
        {"tool_choice": "required"},
        {},
        {"parallel_tool_calls": True},
        {"stream": True},
        {"response_format": {"type": "json_object"}},
    ],
)
def test_nothing_left_to_call_is_refused(served: Served, tools: tuple[Any, ...], more: dict[str, Any]) -> None:
    body = {"messages": ASK, "tools": functions(*tools), "max_tokens": 20, **more}
    with httpx.Client(base_url=served.url, timeout=60) as http:
        reply = http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 400, reply.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("bad", [BAD, NAMELESS])
def test_strictly_it_is_refused_by_name(strict: Served, bad: dict[str, Any], stream: bool) -> None:
    body = {"messages": ASK, "tools": functions(GOOD, bad), "max_tokens": 20, "stream": stream}
    with httpx.Client(base_url=strict.url, timeout=60) as http:
        reply = http.post("/v1/chat/completions", json=body)
        assert reply.status_code == 400, reply.text
        assert ("bad" if "name" in bad else "tools[1]") in reply.json()["error"]["message"]
        body["tools"] = functions(GOOD)
        assert http.post("/v1/chat/completions", json=body).status_code == 200


def test_a_hostile_name_stays_in_its_header() -> None:
    name = "a\r\nset-cookie: x=1\x00\u202e\ud800" + "b" * 5000
    (text,) = headers([LeftOut(name, "/" + name, name)] * 50).values()
    assert text.isascii()
    assert text.isprintable()
    assert len(text) <= MAX_HEADER
