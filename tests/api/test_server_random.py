"""Any body, any history, any reply of the engine: never a fault of ours, always the protocol's shapes.

A status above 499 is only ever the script's (an engine that breaks off, refuses, or writes what doesn't fit).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.api.scripted import Scripted, before, scripted
from tests.api.stream_rules import DONE, Stream, collect
from tests.serving import Served, serving

CHATS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat")
PATHS = (*CHATS, "/v1/completions", "/api/generate", "/v1/messages/count_tokens")
#: Seconds that all examples take together stay under a minute on two busy cores.
FEW = settings(
    max_examples=40,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def actor() -> Iterator[Scripted]:
    with scripted(thinks=True) as engine:
        yield engine


@pytest.fixture(scope="module")
def served(actor: Scripted) -> Iterator[Served]:
    with serving(before(actor)) as server:
        yield server


@pytest.fixture(scope="module")
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30) as client:
        yield client


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
)  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=30), st.sampled_from(["<|im_end|>", "</think>", "{", '{"tool":"weather"', "\ud83d"]))
NAME = st.sampled_from(["weather", "add", "", "gone", 'a"b', "x" * 70])
PARTS = st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url", "thinking", "input_text"])},
                                       optional={"text": TEXT | JSON}), max_size=3)  # fmt: skip
CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "", None]) | JSON,
        "type": st.just("function") | JSON,
        "function": st.fixed_dictionaries({}, optional={"name": NAME | JSON, "arguments": TEXT | JSON}) | JSON,
        "name": NAME,
        "input": JSON,
    },
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "developer", "function", "wizard"]) | JSON},
    optional={
        "content": TEXT | PARTS | JSON,
        "tool_calls": st.lists(CALL | JSON, max_size=3) | JSON,
        "tool_call_id": st.sampled_from(["a", "b", None]) | JSON,
        "function_call": CALL | JSON,
        "name": NAME,
    },
)
SCHEMA = st.sampled_from([
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}},
    {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
    {"$ref": "#/nowhere"},
    {"type": "string"},
    {},
    None,
])  # fmt: skip
TOOL = st.builds(
    lambda name, schema: {"type": "function", "name": name, "input_schema": schema, "parameters": schema,
                          "function": {"name": name, "parameters": schema}},
    NAME, SCHEMA | JSON,
)  # fmt: skip
CHOICE = st.sampled_from(["auto", "none", "required", {"type": "any"}, {"type": "tool", "name": "weather"},
                          {"type": "function", "function": {"name": "add"}}]) | JSON  # fmt: skip
FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "tools": st.lists(TOOL, max_size=3, unique_by=lambda tool: tool["name"]) | JSON,
    "tool_choice": CHOICE,
    "parallel_tool_calls": st.booleans() | JSON,
    "response_format": st.sampled_from([{"type": "json_object"}, {"type": "text"}]) | JSON,
    "format": st.just("json") | SCHEMA | JSON,
    "options": st.dictionaries(
        st.sampled_from(["temperature", "top_k", "top_p", "min_p", "seed", "num_predict", "stop", "repeat_penalty"]),
        SCALARS, max_size=3,
    ),
    "stream_options": st.just({"include_usage": True}) | JSON,
    "instructions": TEXT | JSON,
    "system": TEXT | PARTS | JSON,
    "previous_response_id": TEXT | JSON,
    "thinking": st.just({"type": "disabled"}) | JSON,
    "think": st.booleans() | JSON,
    "reasoning_effort": st.sampled_from(["none", "high"]) | JSON,
    "grammar": TEXT | JSON,
    **dict.fromkeys(("temperature", "top_p", "top_k", "min_p", "seed", "n", "max_completion_tokens", "presence_penalty", "frequency_penalty", "repeat_penalty", "logprobs", "keep_alive"), SCALARS),
    "stop": st.lists(TEXT, max_size=2) | JSON,
    "logit_bias": st.dictionaries(st.text(max_size=3), SCALARS, max_size=2) | JSON,
}  # fmt: skip
#: One or two odd fields a body: with more, nothing but the first error would ever be seen.
ODD = st.lists(st.sampled_from(sorted(FIELDS)), max_size=2, unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: FIELDS[key] for key in keys})
)
BODY = st.builds(
    lambda messages, stream, odd: {
        "model": "m", "messages": messages, "input": messages, "prompt": "x", "max_tokens": 40, "stream": stream, **odd
    },
    st.lists(MESSAGE, max_size=4) | st.just([{"role": "user", "content": "x"}]) | JSON,
    st.booleans(),
    ODD,
)  # fmt: skip
ENTRY = st.builds(
    lambda kind, more: {**kind, **more},
    st.one_of(
        st.builds(lambda text: {"say": text}, st.text(max_size=30)),
        st.builds(lambda text: {"raw": text}, st.text(max_size=60)),
        st.builds(lambda text, at: {"raw": text[:at]},
                  st.sampled_from(['{"tool":"weather","arguments":{"city":"Oslo","x":[1,{}]}}', '{"say":"é\\ud83d\\ude00"}',
                                   '[{"tool":"add","arguments":{}},{"tool":"weather","arguments":{}}]']),
                  st.integers(0, 70)),
        st.just({"call": [{"name": "weather", "arguments": {"city": "Oslo"}}]}),
        st.just({"call": [{"name": "add", "arguments": {}}] * 2}),
        st.builds(lambda status: {"http": {"status": status, "body": {"error": {"message": "no", "code": status}}}},
                  st.sampled_from([400, 401, 404, 500, 503])),
    ),
    st.fixed_dictionaries({}, optional={"think": st.text(max_size=20), "finish": st.sampled_from(["length", "stop"]),
                                        "chunks_of": st.integers(1, 9), "drop_after_chunks": st.integers(0, 5)}),
)  # fmt: skip


def is_error(path: str, body: Any) -> bool:
    """Whether a body is an error in the shape of a path's protocol."""
    if not isinstance(body, dict):
        return False
    if path.startswith("/api/"):
        return set(body) == {"error"} and isinstance(body["error"], str) and bool(body["error"])
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return False
    if path.startswith("/v1/messages"):
        return body.get("type") == "error" and isinstance(error.get("type"), str)
    return set(error) == {"message", "type", "param", "code"}


def _openai(stream: Stream) -> bool:
    """``role`` first and once, then a finish and the sentinel, or an error as the last event."""
    if "error" in stream.chunks[-1]:
        return not stream.finishes and is_error("/v1/chat/completions", stream.chunks[-1])
    roles = ["role" in delta for delta in stream.deltas]
    calls = all(isinstance(json.loads(text), dict) for text in stream.arguments().values())
    whole = stream.finishes[0] in ("tool_calls", "function_call") or not stream.arguments()
    ended = stream.frames[-1][1] == DONE and len(stream.finishes) == 1
    return (
        roles[:1] == [True] and not any(roles[1:]) and ended and (calls or not whole or stream.finishes == ["length"])
    )


def _text(stream: Stream) -> bool:
    if "error" in stream.chunks[-1]:
        return not stream.finishes
    return len(stream.finishes) == 1 and stream.frames[-1][1] == DONE


def _responses(stream: Stream) -> bool:
    kinds = [chunk.get("type") for chunk in stream.chunks]
    numbers = [chunk["sequence_number"] for chunk in stream.chunks if "sequence_number" in chunk]
    last = ("response.completed", "response.incomplete", "response.failed", "error")
    ends = [kind for kind in kinds if kind in last[:3]]
    # Every item that was opened was closed, unless an error ended all or a call was cut off, which is no call then.
    opened = sum(kind == "response.output_item.added" for kind in kinds)
    closed = sum(kind == "response.output_item.done" for kind in kinds)
    whole = opened == closed or kinds[-1] in last[1:]
    return (
        kinds[0] == "response.created" and kinds[-1] in last and len(ends) <= 1 and whole and numbers == sorted(numbers)
    )


def _anthropic(stream: Stream) -> bool:
    kinds = [chunk["type"] for chunk in stream.chunks if chunk["type"] != "ping"]
    if kinds[-1] == "error":
        return is_error("/v1/messages", stream.chunks[-1])
    depth = 0
    for kind in kinds:
        depth += {"content_block_start": 1, "content_block_stop": -1}.get(kind, 0)
        if depth not in (0, 1) or (kind == "content_block_delta" and depth != 1):
            return False
    return kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"] and depth == 0


def _ollama(stream: Stream) -> bool:
    if "error" in stream.chunks[-1]:
        return is_error("/api/chat", stream.chunks[-1]) and not any(line.get("done") for line in stream.chunks[:-1])
    return [line["done"] for line in stream.chunks] == [False] * (len(stream.chunks) - 1) + [True]


STREAMS: Mapping[str, Callable[[Stream], bool]] = {
    "/v1/chat/completions": _openai,
    "/v1/completions": _text,
    "/v1/responses": _responses,
    "/v1/messages": _anthropic,
    "/api/chat": _ollama,
    "/api/generate": _ollama,
}


def judged(path: str, body: Any, entry: Mapping[str, Any], actor: Scripted, http: httpx.Client) -> Stream:
    note(repr((body, entry)))
    actor.play(endless=entry)
    got = collect(http, "POST", path, body)
    scripted_fault = "http" in entry or "drop_after_chunks" in entry
    assert got.status < 500 or scripted_fault, got.raw
    if got.status != 200:
        assert is_error(path, got.chunks[-1]), got.raw
        assert "mistake of its own" not in got.raw
    elif got.content_type.startswith("application/json"):
        assert isinstance(got.chunks[-1], dict)
        assert "error" not in got.chunks[-1] or got.chunks[-1].get("object") == "response"
    else:
        assert STREAMS[path](got), got.raw
        if not scripted_fault:
            assert not any("error" in chunk for chunk in got.chunks if path != "/v1/responses"), got.raw
    return got


@pytest.mark.parametrize("path", PATHS)
@given(body=BODY, entry=ENTRY)
@FEW
def test_any_body_gets_what_its_protocol_knows(
    path: str, body: dict[str, Any], entry: dict[str, Any], actor: Scripted, http: httpx.Client
) -> None:
    judged(path, body, entry, actor, http)


@pytest.mark.parametrize("path", CHATS)
@given(history=st.lists(MESSAGE, max_size=6), entry=ENTRY, stream=st.booleans())
@FEW
def test_any_history_is_served_or_refused_by_its_place(
    path: str, history: list[Any], entry: dict[str, Any], stream: bool, actor: Scripted, http: httpx.Client
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "name": "weather", "input_schema": schema, "parameters": schema}
    tool["function"] = {"name": "weather", "parameters": schema}
    said = [*history, {"role": "user", "content": "x"}]
    body = {"model": "m", "messages": said, "input": said, "max_tokens": 60, "stream": stream, "tools": [tool]}
    got = judged(path, body, entry, actor, http)
    if got.status == 400 and "http" not in entry and "drop_after_chunks" not in entry:
        assert "messages" in got.raw or "input" in got.raw, got.raw


@given(content=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
@FEW
def test_any_bytes_are_no_fault_of_ours(content: bytes, actor: Scripted, http: httpx.Client) -> None:
    actor.play(endless={"say": "x"})
    for path in CHATS:
        answer = http.post(path, content=content)
        assert 400 <= answer.status_code < 500
        assert is_error(path, answer.json())


def test_the_next_request_is_served_as_if_nothing_had_been(actor: Scripted, http: httpx.Client, served: Served) -> None:
    actor.play(endless={"say": "Rain."})
    reply = http.post(CHATS[0], json={"model": "m", "messages": [{"role": "user", "content": "x"}]}).json()
    assert reply["choices"][0]["message"]["content"] == "Rain."
    assert not [line for line in served.log() if line.get("event") == "failure" and "message" not in line]
