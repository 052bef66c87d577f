"""What the OpenAI SDK makes of our responses: its own types, checked strictly, and its own client."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.faults import fault, fault_of
from tacid.api.openai.responses import ResponsesWire
from tacid.api.openai.responses_encode import deleted_body, not_kept
from tacid.api.openai.responses_store import ResponseStore
from tacid.api.request import Beat, ChatRequest, Limits, WireEvent
from tacid.chat import CallDelta, CallStart, Completion, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.errors import EngineDied
from tests.api.replies import ABOUT, TURNS, call, completions, events, result

openai = pytest.importorskip("openai")
httpx = pytest.importorskip("httpx2")

from openai.types import responses as types  # noqa: E402
from pydantic import TypeAdapter  # noqa: E402

EVENT = TypeAdapter(types.ResponseStreamEvent)
TOOLS = [
    {
        "type": "function",
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    {"type": "function", "name": "now", "description": "The time.", "strict": True, "parameters": {"type": "object"}},
]
ASK = {
    "model": "m",
    "instructions": "Be brief.",
    "input": "Rain?",
    "tools": TOOLS,
    "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "now"}]},
    "parallel_tool_calls": True,
    "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": True}},
    "metadata": {"a": "b"},
    "reasoning": {"effort": "low"},
    "temperature": 0,
    "max_output_tokens": 99,
    "stream": True,
}


def wire() -> ResponsesWire:
    return ResponsesWire(ResponseStore().shelf("a"))


REQUEST = wire().parse(ASK, Limits())


def stream(given: Iterable[WireEvent], request: ChatRequest = REQUEST) -> bytes:
    encoder = wire().stream(request, ABOUT)
    return b"".join(encoder.event(event) for event in given)


def whole(*done: Completion, request: ChatRequest = REQUEST, **more: Any) -> dict[str, Any]:
    return wire().whole(request, ABOUT, result(*done, **more))


def frames(raw: bytes) -> list[dict[str, Any]]:
    """The events' values; each event's name is that of its type, and they are numbered."""
    found = []
    for frame in raw.decode().split("\n\n")[:-1]:
        if frame.startswith(":"):
            continue
        name, data = frame.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        assert value["sequence_number"] == len(found)
        found.append(value)
    return found


def client(content: bytes, media: str = "text/event-stream") -> Any:
    def answer(request: Any) -> Any:
        return httpx.Response(200, content=content, headers={"content-type": media})

    return openai.OpenAI(
        api_key="k",
        base_url="http://tacid/v1",
        max_retries=0,
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )


def put_together(raw: bytes) -> list[dict[str, Any]]:
    """The items of a stream, of nothing but what was added and the deltas."""
    items: list[dict[str, Any]] = []
    for value in frames(raw):
        if value["type"] == "response.output_item.added":
            assert value["output_index"] == len(items)
            items.append(json.loads(json.dumps(value["item"])))
            continue
        if "item_id" in value:
            assert value["item_id"] == items[value["output_index"]]["id"]
        if value["type"] == "response.content_part.added":
            items[-1]["content"].append(dict(value["part"]))
        elif value["type"] == "response.function_call_arguments.delta":
            items[-1]["arguments"] += value["delta"]
        elif value["type"].endswith("_text.delta"):
            items[-1]["content"][value["content_index"]]["text"] += value["delta"]
        elif value["type"] == "response.output_item.done":
            assert items[-1] | {"status": value["item"]["status"]} == value["item"]
            items[-1] = value["item"]
    return items


@pytest.mark.parametrize("held", [False, True], ids=["live", "held"])
@pytest.mark.parametrize("turn", TURNS)
def test_each_event_is_one_of_the_sdk_and_the_sum_is_the_whole(turn: str, held: bool) -> None:
    done, more = TURNS[turn]
    raw = stream(events(*done, held=held, **more))
    for value in frames(raw):
        EVENT.validate_python(value, strict=True)
    body = whole(*done, **more)
    types.Response.model_validate(body, strict=True)
    last = frames(raw)[-1]
    assert last["response"] == body
    assert last["type"] == f"response.{body['status']}"
    assert put_together(raw) == body["output"]


@settings(deadline=None)
@given(completions(), st.integers(1, 9), st.booleans(), st.booleans())
def test_whatever_the_turn_the_sum_is_the_whole(done: list[Completion], size: int, held: bool, beats: bool) -> None:
    raw = stream(events(*done, size=size, held=held, beats=beats))
    body = whole(*done)
    assert frames(raw)[-1]["response"] == body
    assert put_together(raw) == body["output"]
    with client(raw).responses.stream(model="m", input="x") as opened:
        seen = list(opened)
    if body["status"] == "completed":
        assert opened.get_final_response().output_text == "".join(d.text for d in done if isinstance(d, Say))
    text = [event for event in seen if event.type == "response.output_text.delta"]
    assert "".join(event.delta for event in text) == (text[-1].snapshot if text else "")


def test_the_whole_response_reads_in_the_client() -> None:
    body = whole(Think("Hm."), call("now", {"zone": "é"}))
    got = client(json.dumps(body).encode(), "application/json").responses.create(model="m", input="x")
    assert [item.type for item in got.output] == ["reasoning", "function_call"]
    assert json.loads(got.output[1].arguments) == {"zone": "é"}
    assert got.output[1].call_id == "call_0001"
    assert (got.usage.input_tokens, got.usage.input_tokens_details.cached_tokens, got.usage.total_tokens) == (
        50,
        30,
        57,
    )
    assert (
        client(json.dumps(whole(Say("Yes."))).encode(), "application/json")
        .responses.create(model="m", input="x")
        .output_text
        == "Yes."
    )


def test_a_response_repeats_what_was_asked() -> None:
    body = whole(Say("{}"))
    assert body["instructions"] == "Be brief."
    assert [(tool["name"], tool["strict"]) for tool in body["tools"]] == [("now", True)]
    assert body["tool_choice"] == ASK["tool_choice"]
    assert body["metadata"] == {"a": "b"}
    assert (body["parallel_tool_calls"], body["temperature"], body["max_output_tokens"]) == (True, 0, 99)
    assert body["text"]["format"]["name"] == "a"
    assert body["reasoning"]["effort"] == "low"


def test_the_order_of_the_events_of_an_answer() -> None:
    names = [frame["type"].removeprefix("response.") for frame in frames(stream(events(Say("Yes."), size=9)))]
    assert names == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
        "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip


def test_the_order_of_the_events_of_a_thought_and_a_call() -> None:
    raw = stream(events(Think("Hm."), call("now", {}), size=9))
    names = [frame["type"].removeprefix("response.") for frame in frames(raw)][2:]
    assert names == [
        "output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done",
        "output_item.done", "output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
        "output_item.done", "completed",
    ]  # fmt: skip


def test_arguments_leave_as_they_are_sampled() -> None:
    encoder = wire().stream(REQUEST, ABOUT)
    assert [frame["type"] for frame in frames(encoder.event(CallStart("now", "call_1")))][
        -1
    ] == "response.output_item.added"
    assert b'"delta":"{\\"a"' in encoder.event(CallDelta('{"a'))


@pytest.mark.parametrize("done", [Say("It ra", complete=False), Truncated("{")])
def test_a_reply_cut_off_is_incomplete(done: Completion) -> None:
    body = whole(done)
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert frames(stream(events(done)))[-1]["type"] == "response.incomplete"


def test_a_call_cut_off_is_no_call() -> None:
    cut = Truncated('{"tool":"now","arguments":{"a', "now")
    assert whole(cut)["output"] == []
    given = frames(stream([CallStart("now", "call_1"), CallDelta('{"a'), cut, result(cut)]))
    assert given[-1]["response"] == whole(cut)
    assert not [frame for frame in given if frame["type"].endswith((".done", "item.done"))]


def test_a_sign_of_life_is_a_comment_behind_the_start() -> None:
    raw = stream([Beat(), Beat(), SayDelta("a"), Beat(), Say("a"), result(Say("a"))])
    assert raw.count(b"\n\n: ") == 3
    with client(raw).responses.stream(model="m", input="x") as opened:
        assert opened.get_final_response().output_text == "a"


@pytest.mark.parametrize("begun", [False, True])
def test_a_fault_in_mid_stream_fails_the_response_and_is_the_clients_own_error(begun: bool) -> None:
    encoder = wire().stream(REQUEST, ABOUT)
    told = fault_of(EngineDied("The engine ended."))
    raw = (encoder.event(SayDelta("a")) if begun else b"") + encoder.fault(told)
    *_, failed, error = frames(raw)
    for value in (failed, error):
        EVENT.validate_python(value, strict=True)
    assert failed["type"] == "response.failed"
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"] == {"code": "server_error", "message": "The engine ended."}
    with (
        pytest.raises(openai.APIError, match="The engine ended"),
        client(raw).responses.stream(model="m", input="x") as opened,
    ):
        opened.until_done()
    assert encoder.fault(told) == encoder.event(Beat()) == b""


def test_the_words_of_a_failure() -> None:
    for status, code in ((429, "rate_limit_exceeded"), (400, "invalid_prompt"), (504, "server_error")):
        failed = frames(wire().stream(REQUEST, ABOUT).fault(fault(status, "No.")))[-2]
        assert failed["response"]["error"]["code"] == code


def test_what_an_answer_holds_of_thoughts_and_marks() -> None:
    done, more = TURNS["a call that failed"]
    body = whole(*done, **more)
    assert body["tacid"]["invalid"] == {"call_0001": ["arguments.city is no text"]}
    assert body["timings"] == {"prompt_ms": 1.5}


def test_the_bodies_of_the_other_routes() -> None:
    assert deleted_body("resp_1") == {"id": "resp_1", "object": "response", "deleted": True}
    assert (not_kept("resp_1").status, not_kept("resp_1").code) == (404, "response_not_found")


def test_a_thought_that_is_nothing_is_no_item() -> None:
    assert [item["type"] for item in whole(Think(""), Say("a"))["output"]] == ["message"]
    assert (
        put_together(stream([ThinkDelta(""), Think(""), Say("a"), result(Think(""), Say("a"))]))[0]["type"] == "message"
    )
