"""What the Anthropic SDK makes of our replies: its own types, checked strictly, and its own client."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.anthropic import MessagesWire, counted, parse_messages
from tacid.api.faults import fault, fault_of
from tacid.api.request import Beat, ChatRequest, Limits, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Completion, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.errors import EngineDied
from tests.api.replies import ABOUT, TURNS, call, completions, events, result

anthropic = pytest.importorskip("anthropic")
httpx = pytest.importorskip("httpx2")

from anthropic import types  # noqa: E402
from pydantic import TypeAdapter  # noqa: E402

WIRE = MessagesWire()
REQUEST = ChatRequest(None, (), stream=True)
EVENT = TypeAdapter(types.RawMessageStreamEvent)


def stream(given: Iterable[WireEvent], request: ChatRequest = REQUEST) -> bytes:
    encoder = WIRE.stream(request, ABOUT)
    return b"".join(encoder.event(event) for event in given)


def whole(*done: Completion, request: ChatRequest = REQUEST, **more: Any) -> dict[str, Any]:
    return WIRE.whole(request, ABOUT, result(*done, **more))


def frames(raw: bytes) -> list[dict[str, Any]]:
    """The events' values; each event's name is that of its type."""
    found = []
    for frame in raw.decode().split("\n\n")[:-1]:
        name, data = frame.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        found.append(value)
    return found


def client(content: bytes, media: str = "text/event-stream", status: int = 200) -> Any:
    def answer(request: Any) -> Any:
        return httpx.Response(status, content=content, headers={"content-type": media})

    return anthropic.Anthropic(
        api_key="k",
        base_url="http://tacid",
        max_retries=0,
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )


def ask(**more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **more}


def accumulated(raw: bytes) -> dict[str, Any]:
    with client(raw).messages.stream(**ask()) as opened:
        return opened.get_final_message().to_dict(mode="json")


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Without fields of the SDK that we don't have."""
    content = [{key: value for key, value in block.items() if value is not None} for block in message["content"]]
    keys = ("id", "type", "role", "model", "stop_reason", "stop_sequence", "usage")
    return {"content": content, **{key: message.get(key) for key in keys}}


@pytest.mark.parametrize("held", [False, True], ids=["live", "held"])
@pytest.mark.parametrize("turn", TURNS)
def test_each_event_is_one_of_the_sdk_and_the_sum_is_the_whole(turn: str, held: bool) -> None:
    done, more = TURNS[turn]
    raw = stream(events(*done, held=held, **more))
    for value in frames(raw):
        EVENT.validate_python(value, strict=True)
    body = whole(*done, **more)
    types.Message.model_validate(body, strict=True)
    assert plain(accumulated(raw)) == plain(body)


@settings(deadline=None)
@given(completions(), st.integers(1, 9), st.booleans(), st.booleans())
def test_whatever_the_turn_the_sum_is_the_whole(done: list[Completion], size: int, held: bool, beats: bool) -> None:
    raw = stream(events(*done, size=size, held=held, beats=beats))
    assert plain(accumulated(raw)) == plain(whole(*done))


def test_the_whole_reply_reads_in_the_client() -> None:
    body = whole(Think("Hm."), call("weather", {"city": "Oslo"}))
    got = client(json.dumps(body).encode(), "application/json").messages.create(**ask())
    assert [block.type for block in got.content] == ["thinking", "tool_use"]
    assert got.content[1].input == {"city": "Oslo"}
    assert got.id == "msg_0123abcd"
    assert got.stop_reason == "tool_use"


def test_the_order_of_the_events_of_a_call() -> None:
    names = [frame["type"] for frame in frames(stream(events(call("now", {"a": 1}), size=99)))]
    assert names == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
    ]  # fmt: skip


def test_arguments_leave_as_they_are_sampled() -> None:
    encoder = WIRE.stream(REQUEST, ABOUT)
    encoder.event(CallStart("now", "call_1"))
    (delta,) = frames(encoder.event(CallDelta('{"a"')))
    assert delta["delta"] == {"type": "input_json_delta", "partial_json": '{"a"'}
    closing = frames(encoder.event(Call("now", {"a": 1}, '{"a":1}', "call_1")))
    assert [frame.get("delta", {}).get("partial_json") for frame in closing] == [":1}", None]


def test_blocks_are_numbered_from_nought_without_gaps() -> None:
    done = (Think("Hm."), *(call("now", {"n": n}, n) for n in range(3)))
    starts = [frame for frame in frames(stream(events(*done))) if frame["type"] == "content_block_start"]
    assert [frame["index"] for frame in starts] == [0, 1, 2, 3]
    assert [frame["content_block"].get("id") for frame in starts] == [None, "toolu_0000", "toolu_0001", "toolu_0002"]


@pytest.mark.parametrize(
    ("done", "more", "reason", "stop"),
    [
        (Say("a"), {}, "end_turn", None),
        (Say("a", complete=False), {}, "max_tokens", None),
        (Say("a"), {"stop": "END"}, "stop_sequence", "END"),
        (Say("a", complete=False), {"stop": "END"}, "stop_sequence", "END"),
        (call("now", {}), {}, "tool_use", None),
        (Truncated("{", "now"), {}, "max_tokens", None),
    ],
)
def test_why_it_ended(done: Completion, more: dict[str, Any], reason: str, stop: str | None) -> None:
    body = whole(done, **more)
    assert (body["stop_reason"], body["stop_sequence"]) == (reason, stop)


def test_a_call_cut_off_is_no_call() -> None:
    assert whole(Truncated('{"tool":"now","arguments":{"a', "now"))["content"] == []
    given = [CallStart("now", "call_1"), CallDelta('{"a'), Truncated("", "now"), result(Truncated("", "now"))]
    names = [frame["type"] for frame in frames(stream(given))]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert accumulated(stream(given))["stop_reason"] == "max_tokens"


def test_tokens_read_anew_and_tokens_known_sum_to_the_prompt() -> None:
    assert whole(Say("a"))["usage"] == {
        "input_tokens": 20,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 0,
        "output_tokens": 7,
    }


def test_a_sign_of_life_is_a_ping_behind_the_start_and_the_client_passes_over_it() -> None:
    raw = stream([Beat(), Beat(), SayDelta("a"), Beat(), Say("a"), result(Say("a"))])
    assert [frame["type"] for frame in frames(raw)][:4] == ["message_start", "ping", "ping", "content_block_start"]
    assert accumulated(raw)["content"][0]["text"] == "a"


@pytest.mark.parametrize("begun", [False, True])
def test_a_fault_in_mid_stream_is_the_clients_own_error(begun: bool) -> None:
    encoder = WIRE.stream(REQUEST, ABOUT)
    raw = (encoder.event(SayDelta("a")) if begun else b"") + encoder.fault(fault_of(EngineDied("The engine ended.")))
    with pytest.raises(anthropic.APIStatusError, match="The engine ended"):
        accumulated(raw)
    assert encoder.fault(fault(429, "No.")) == encoder.event(Beat()) == b""
    (last,) = frames(WIRE.stream(REQUEST, ABOUT).fault(fault(429, "No.")))
    error = {"type": "rate_limit_error", "message": "No.", "details": {"error_code": "busy"}}
    assert last == {"type": "error", "error": error}


def test_thoughts_that_are_not_wanted_are_not_shown() -> None:
    request = ChatRequest(None, (), stream=True, extra={"hide_thinking": True})
    raw = stream(events(Think("Secret"), Say("a")), request)
    assert b"Secret" not in raw
    assert plain(accumulated(raw)) == plain(whole(Think("Secret"), Say("a"), request=request))


def test_a_thought_is_signed_before_its_block_ends() -> None:
    given = frames(stream([ThinkDelta("Hm"), Think("Hm."), Say(""), result(Think("Hm."), Say(""))]))
    assert [frame["delta"]["type"] for frame in given if frame["type"] == "content_block_delta"] == [
        "thinking_delta", "thinking_delta", "signature_delta",
    ]  # fmt: skip


def test_calls_that_failed_are_marked_under_the_ids_that_the_client_sees() -> None:
    done, more = TURNS["a call that failed"]
    mark = {"invalid": {"toolu_0001": ["arguments.city is no text"]}}
    assert whole(*done, **more)["tacid"] == mark
    assert frames(stream(events(*done, **more)))[-2]["tacid"] == mark
    assert "tacid" not in whole(Say("a"))


def test_a_reply_goes_back_into_a_request_as_it_came() -> None:
    body = whole(Think("Hm."), call("now", {"n": 1}, 1), call("now", {"n": 2}, 2))
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": str(block["input"])}
        for block in body["content"]
        if block["type"] == "tool_use"
    ]
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": body["content"]},
        {"role": "user", "content": results},
    ]
    request = parse_messages(ask(messages=turns), Limits())
    said, *answers = request.messages[1:]
    assert [one.id for one in said.calls] == [answer.call_id for answer in answers]
    assert [one.arguments for one in said.calls] == [{"n": 1}, {"n": 2}]


def test_a_count() -> None:
    assert types.MessageTokensCount.model_validate(counted(12), strict=True).input_tokens == 12
