"""Ollama's replies: lines of a stream and whole bodies, from the events of a turn."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from typing import Any

import pytest

from tacid.api.faults import Fault
from tacid.api.ollama import CHAT, GENERATE, OllamaWire
from tacid.api.request import About, Beat, ChatRequest, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Completion, Say, SayDelta, Think, ThinkDelta, Truncated, Usage
from tacid.grammar import Report
from tacid.turn.request import TurnResult

COUNTS = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)
OSLO = Call("weather", {"city": "Oslo"}, '{"city":"Oslo"}', "call_1")
ROME = Call("weather", {"city": "Rome"}, '{"city":"Rome"}', "call_2")


def result(*done: Completion, **more: Any) -> TurnResult:
    timings = {"prompt_ms": 12.3456789, "predicted_ms": 100.5}
    return TurnResult(tuple(done), Usage(prompt=40, cached=30, completion=7), 3, timings, Report(), **more)


def about() -> About:
    return About("x1", 1_700_000_000, "smollm2-135m-instruct", time.perf_counter() - 1.5)


def lines(events: Iterable[WireEvent], wire: OllamaWire = CHAT, model: str = "smollm2:latest") -> list[dict[str, Any]]:
    encoder = wire.stream(ChatRequest(model, (), stream=True), about())
    sent = b"".join(encoder.event(event) for event in events)
    assert sent.endswith(b"\n")
    read = sent.decode().split("\n")[:-1]
    assert all(line.strip() for line in read), "a blank line"
    return [json.loads(line) for line in read]


SPOKEN = (SayDelta("It is "), Beat(), SayDelta("warm."), Say("It is warm."), result(Say("It is warm.")))
CALLED = (CallStart("weather", "call_1"), CallDelta('{"city":'), CallDelta('"Oslo"}'), OSLO, result(OSLO))


def test_every_line_has_model_time_and_message_and_only_the_last_is_done() -> None:
    for events in (SPOKEN, CALLED):
        read = lines(events)
        assert [line["done"] for line in read] == [False] * (len(read) - 1) + [True]
        for line in read:
            assert line["model"] == "smollm2:latest", "the name that the client gave"
            assert re.fullmatch(r"2023-11-14T22:13:2\d\.\d{6}Z", line["created_at"])
            assert line["message"]["role"] == "assistant"
            assert isinstance(line["message"]["content"], str)


def test_text_is_sent_once_as_it_comes_and_a_beat_is_an_empty_piece() -> None:
    read = lines(SPOKEN)
    assert [line["message"]["content"] for line in read] == ["It is ", "", "warm.", ""]
    assert all(set(line["message"]) == {"role", "content"} for line in read)


def test_text_that_came_without_pieces_is_sent_whole() -> None:
    read = lines((Think("hm"), Say("Yes."), result(Think("hm"), Say("Yes."))))
    assert [(line["message"].get("thinking"), line["message"]["content"]) for line in read] == [
        ("hm", ""),
        (None, "Yes."),
        (None, ""),
    ]


def test_the_last_line_has_whole_counts_and_durations_in_nanoseconds() -> None:
    last = lines(SPOKEN)[-1]
    assert last["done_reason"] == "stop"
    assert all(type(last[key]) is int for key in COUNTS)
    assert (last["prompt_eval_count"], last["eval_count"]) == (40, 7)
    assert (last["prompt_eval_duration"], last["eval_duration"]) == (12_345_678, 100_500_000)
    assert 1.5e9 <= last["total_duration"] < 60e9
    assert last["total_duration"] == last["load_duration"] + last["prompt_eval_duration"] + last["eval_duration"]


@pytest.mark.parametrize("timings", [{}, {"prompt_ms": float("nan"), "predicted_ms": -1.0}])
def test_durations_are_whole_numbers_where_the_engine_tells_none(timings: dict[str, float]) -> None:
    ended = TurnResult((Say("a"),), Usage(), 0, timings, Report())
    body = CHAT.whole(ChatRequest("m", ()), About("x", 0, "m"), ended)
    assert [body[key] for key in COUNTS] == [0] * 6
    assert body["created_at"] == "1970-01-01T00:00:00.000000Z"


def test_a_call_is_one_line_before_the_last_with_its_arguments_as_an_object() -> None:
    first, last = lines(CALLED)
    assert first["message"] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}}],
    }
    assert not first["done"]
    assert (last["done"], last["done_reason"]) == (True, "stop")
    assert "tool_calls" not in last["message"]


def test_several_calls_are_numbered_in_their_order() -> None:
    events = (CallStart("weather", "call_1"), OSLO, CallStart("weather", "call_2"), ROME, result(OSLO, ROME))
    calls = [line["message"]["tool_calls"][0] for line in lines(events)[:-1]]
    assert [(call["id"], call["function"]["index"]) for call in calls] == [("call_1", 0), ("call_2", 1)]
    whole = CHAT.whole(ChatRequest("m", ()), about(), result(OSLO, ROME))
    assert whole["message"]["tool_calls"] == calls


def test_a_thought_goes_beside_the_text() -> None:
    events = (ThinkDelta("Oslo"), ThinkDelta("?"), Think("Oslo?"), OSLO, result(Think("Oslo?"), OSLO))
    assert [line["message"].get("thinking") for line in lines(events)] == ["Oslo", "?", None, None]
    assert [line.get("thinking") for line in lines(events, GENERATE)] == ["Oslo", "?", None, None]
    assert CHAT.whole(ChatRequest("m", ()), about(), events[-1])["message"]["thinking"] == "Oslo?"
    assert GENERATE.whole(ChatRequest("m", ()), about(), events[-1])["thinking"] == "Oslo?"


def test_generate_has_its_text_in_response() -> None:
    read = lines(SPOKEN, GENERATE)
    assert [line["response"] for line in read] == ["It is ", "", "warm.", ""]
    assert all("message" not in line for line in read)
    body = GENERATE.whole(ChatRequest("m", ()), about(), SPOKEN[-1])
    assert (body["response"], body["done"], body["done_reason"]) == ("It is warm.", True, "stop")


@pytest.mark.parametrize(
    "events",
    [
        (CallStart("weather", "call_1"), CallDelta('{"ci'), Truncated('{"ci', "weather")),
        (SayDelta("It"), Say("It", complete=False)),
        (Truncated('{"to'),),
    ],
)
def test_what_was_cut_off_ends_with_length_and_is_never_a_call(events: tuple[Any, ...]) -> None:
    ended = result(events[-1])
    read = lines((*events, ended))
    assert read[-1]["done_reason"] == "length"
    assert not any("tool_calls" in line["message"] for line in read)
    body = CHAT.whole(ChatRequest("m", ()), about(), ended)
    assert body["done_reason"] == "length"
    assert body["message"] == {"role": "assistant", "content": "".join(line["message"]["content"] for line in read)}


def test_whole_and_streamed_say_the_same() -> None:
    for events in (SPOKEN, CALLED):
        read, body = lines(events), CHAT.whole(ChatRequest("smollm2:latest", ()), about(), events[-1])
        assert body["message"]["content"] == "".join(line["message"]["content"] for line in read)
        assert body["message"].get("tool_calls", []) == [c for x in read for c in x["message"].get("tool_calls", [])]
        changing = {"created_at", "total_duration", "load_duration", "message"}
        assert {k: v for k, v in body.items() if k not in changing} == {
            k: v for k, v in read[-1].items() if k not in changing
        }


def test_a_call_that_failed_twice_is_marked() -> None:
    ended = result(OSLO, invalid={"call_1": ("city: no such place",)})
    assert lines((OSLO, ended))[-1]["tacid"] == {"invalid": {"call_1": ["city: no such place"]}}
    assert "tacid" not in lines(CALLED)[-1]


def test_an_error_in_mid_stream_is_a_line_of_its_own() -> None:
    encoder = CHAT.stream(ChatRequest("m", ()), about())
    assert encoder.fault(Fault(503, "The engine ended.", "server_error")) == b'{"error":"The engine ended."}\n'


def test_a_line_stays_one_line_whatever_the_text() -> None:
    """Clients split with ``str.splitlines``, which knows more breaks than the line feed."""
    text = "a\nb\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ud800é😀"
    sent = CHAT.stream(ChatRequest("m", ()), about()).event(SayDelta(text))
    assert len(sent.decode().splitlines()) == 1
    assert json.loads(sent)["message"]["content"] == text


@pytest.mark.parametrize(("extra", "reason"), [({"load": True}, "load"), ({"load": True, "unload": True}, "unload")])
def test_a_request_that_only_loads_is_answered_with_nothing(extra: dict[str, Any], reason: str) -> None:
    body = CHAT.loaded(ChatRequest("m", (), extra=extra), about())
    assert (body["done"], body["done_reason"]) == (True, reason)
    assert body["message"] == {"role": "assistant", "content": ""}
    assert all(type(body[key]) is int for key in COUNTS)
    assert GENERATE.loaded(ChatRequest("m", (), extra=extra), about())["response"] == ""


def test_the_content_type_is_that_of_lines() -> None:
    assert CHAT.media_type == GENERATE.media_type == "application/x-ndjson"
