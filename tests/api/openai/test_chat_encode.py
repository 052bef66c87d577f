"""Replies of Chat Completions: the lines of the contract with clients, whole and streamed, each a test."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.faults import fault
from tacid.api.openai import CHAT
from tacid.api.openai.chat_encode import ChatStream, arguments_text, chat_body
from tacid.api.request import Beat
from tacid.chat import Call, CallDelta, CallStart, Completion, Say, SayDelta, Think, Truncated
from tests.api.openai.events import ABOUT, chat, chunks, events, frames, joined, played, result

OSLO = Call("weather", {"city": "Oslo"}, '{"city": "Oslo"}', "call_1")
ADD = Call("add", {"a": 1, "b": 2}, '{"a":1,"b":2}', "call_2")
CUT = Truncated('{"city": "Os', "weather")
HELD = Say("It rains.")
REPLIES: list[tuple[Completion, ...]] = [
    (HELD,),
    (Say(""),),
    (Say("It ra", complete=False),),
    (OSLO,),
    (OSLO, ADD),
    (Think("Weather is wanted."), OSLO),
    (Think("Hm"), HELD),
    (Think("Hm", complete=False), Say("")),
    (CUT,),
    (Truncated("{"),),
]


def whole(*completions: Completion, **fields: Any) -> dict[str, Any]:
    body = chat_body(chat(), ABOUT, result(*completions, **fields))
    assert json.loads(json.dumps(body)) == body
    return body


def streamed(*completions: Completion, request: Any = None, **fields: Any) -> list[dict[str, Any]]:
    return chunks(played(ChatStream(request or chat(), ABOUT), events(*completions, **fields)))


def deltas(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in found for choice in chunk["choices"]]


# Whole


@pytest.mark.parametrize("reply", REPLIES)
def test_whole_1_the_frame_has_its_types(reply: tuple[Completion, ...]) -> None:
    body = whole(*reply)
    assert body["id"] == "chatcmpl-abc123"
    assert body["object"] == "chat.completion"
    assert type(body["created"]) is int
    assert body["model"] == "smollm2"
    assert [type(choice["index"]) for choice in body["choices"]] == [int]
    assert body["choices"][0]["message"]["role"] == "assistant"


def test_whole_2_a_call_has_id_type_name_and_arguments_as_a_json_string() -> None:
    message = whole(OSLO, ADD)["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}},
    ]


def test_whole_2_calls_without_ids_get_distinct_ones() -> None:
    calls = whole(Call("f", {}), Call("f", {}))["choices"][0]["message"]["tool_calls"]
    assert len({call["id"] for call in calls}) == 2
    assert all(call["id"] for call in calls)
    found = joined(streamed(Call("f", {}), Call("f", {})))["tool_calls"]
    assert [call["id"] for call in found] == [call["id"] for call in calls]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (Call("f", {"a": "ä"}, ' {"a":  "\\u00e4"}'), ' {"a":  "\\u00e4"}'),
        (Call("f", {"a": 1}), '{"a":1}'),
        (Call("f", {"a": 1}, "f(a=1)"), '{"a":1}'),
        (Call("f", {"a": 1}, '{"a":2}'), '{"a":1}'),
        (Call("f", {}, "[]"), "{}"),
    ],
)
def test_whole_2_arguments_are_as_written_where_that_is_their_json(call: Call, text: str) -> None:
    assert arguments_text(call) == text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ((HELD,), "stop"),
        ((Say("It ra", complete=False),), "length"),
        ((OSLO,), "tool_calls"),
        ((OSLO, ADD), "tool_calls"),
        ((Think("Hm", complete=False), OSLO), "tool_calls"),
        ((Think("Hm", complete=False), HELD), "stop"),
        ((CUT,), "length"),
        ((OSLO, CUT), "tool_calls"),
    ],
)
def test_whole_3_and_streaming_2_the_finish_reason(reply: tuple[Completion, ...], reason: str) -> None:
    assert whole(*reply)["choices"][0]["finish_reason"] == reason
    reasons = [choice["finish_reason"] for chunk in streamed(*reply) for choice in chunk["choices"]]
    assert reasons == [None] * (len(reasons) - 1) + [reason]


def test_whole_3_a_cut_off_call_is_no_call() -> None:
    body = whole(CUT)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": ""}
    assert body["tacid"] == {"truncated": "weather"}


def test_whole_4_usage_with_details() -> None:
    assert whole(HELD)["usage"] == {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def test_fields_of_ours_stand_in_the_whole_body_and_in_the_last_chunk() -> None:
    told = {
        "timings": {"prompt_ms": 1.5},
        "tacid": {
            "invalid": {"call_1": ["/city: no city"]},
            "stop": "END",
            "forced_tokens": 5,
            "retries": 1,
            "hops": 2,
        },
    }
    fields: dict[str, Any] = {
        "timings": {"prompt_ms": 1.5},
        "invalid": {"call_1": ("/city: no city",)},
        "stop": "END",
        "forced_tokens": 5,
        "retries": 1,
        "hops": 2,
    }
    assert {k: v for k, v in whole(OSLO, **fields).items() if k in ("timings", "tacid")} == told
    for request in (chat(), chat(include_usage=True)):
        found = streamed(OSLO, request=request, **fields)
        assert {k: v for k, v in found[-1].items() if k in ("timings", "tacid")} == told
        assert not any("tacid" in chunk or "timings" in chunk for chunk in found[:-1])
    assert not {"timings", "tacid"} & set(whole(OSLO))


def test_a_thought_is_handed_over_apart() -> None:
    message = whole(Think("Weather is wanted."), OSLO)["choices"][0]["message"]
    assert message["reasoning_content"] == "Weather is wanted."
    assert message["content"] is None
    assert "reasoning_content" not in whole(HELD)["choices"][0]["message"]


# Streamed


@pytest.mark.parametrize("reply", REPLIES)
def test_streaming_1_one_role_and_first(reply: tuple[Completion, ...]) -> None:
    found = deltas(streamed(*reply, beats=True))
    assert found[0] == {"role": "assistant", "content": ""}
    assert not any("role" in delta for delta in found[1:])


@pytest.mark.parametrize("reply", REPLIES)
def test_streaming_1_tool_deltas_have_an_index_no_nulls_and_their_id_once(reply: tuple[Completion, ...]) -> None:
    parts = [part for delta in deltas(streamed(*reply)) for part in delta.get("tool_calls", ())]
    seen = set()
    for part in parts:
        assert type(part["index"]) is int
        assert None not in (*part.values(), *part["function"].values())
        first = part["index"] not in seen
        assert ("id" in part, "type" in part, "name" in part["function"]) == (first, first, first)
        assert "arguments" in part["function"]
        seen.add(part["index"])
    assert seen == set(range(len(seen)))
    assert len(seen) == sum(isinstance(done, Call) or done is CUT for done in reply)


def test_streaming_1_arguments_leave_as_they_are_sampled() -> None:
    encoder = ChatStream(chat(), ABOUT)
    played(encoder, [CallStart("weather", "call_1")])
    assert joined([json.loads(frames(encoder.event(CallDelta('{"ci')))[0])])["tool_calls"] == [
        {"function": {"arguments": '{"ci'}}
    ]


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("include_usage", [True, False])
def test_streaming_2_finish_then_usage_where_asked_for_then_done(
    reply: tuple[Completion, ...], include_usage: bool
) -> None:
    found = streamed(*reply, request=chat(include_usage=include_usage))
    ending = found[-2:] if include_usage else found[-1:]
    assert ending[0]["choices"][0]["finish_reason"] is not None
    assert ending[0]["choices"][0]["delta"] == {}
    assert [chunk.get("usage") for chunk in found[: len(found) - include_usage]] == [None] * (
        len(found) - include_usage
    )
    if include_usage:
        assert ending[1]["choices"] == []
        assert ending[1]["usage"] == whole(*reply)["usage"]


@pytest.mark.parametrize("reply", REPLIES)
def test_every_chunk_has_the_same_frame(reply: tuple[Completion, ...]) -> None:
    for chunk in streamed(*reply, request=chat(include_usage=True)):
        assert (chunk["id"], chunk["object"]) == ("chatcmpl-abc123", "chat.completion.chunk")
        assert (chunk["created"], chunk["model"]) == (1_700_000_000, "smollm2")
        assert type(chunk["created"]) is int


@pytest.mark.parametrize("seen", [[], [SayDelta("It ")], [CallStart("weather", "call_1"), CallDelta("{")]])
def test_streaming_3_an_error_is_an_event_and_the_last(seen: list[Any]) -> None:
    encoder = ChatStream(chat(), ABOUT)
    played(encoder, seen)
    last = frames(encoder.fault(fault(503, "The engine ended.", retry_after=3)))
    assert [json.loads(frame) for frame in last] == [
        {"error": {"message": "The engine ended.", "type": "server_error", "param": None, "code": None}}
    ]
    assert encoder.event(result(HELD)) == b""
    assert encoder.fault(fault(500, "Again.")) == b""


def test_streaming_4_a_beat_is_a_comment_and_changes_nothing() -> None:
    assert ChatStream(chat(), ABOUT).event(Beat()).startswith(b": ")
    assert streamed(OSLO, ADD, beats=True) == streamed(OSLO, ADD)


@settings(deadline=None)
@given(st.text(), st.integers(1, 5))
def test_streaming_5_words_arrive_as_they_were(text: str, size: int) -> None:
    encoder = ChatStream(chat(), ABOUT)
    happened = [SayDelta(text[place : place + size]) for place in range(0, len(text), size)]
    found = chunks(played(encoder, [*happened, Say(text), result(Say(text))]))
    assert joined(found)["content"] == text
    assert len(found) == len(happened) + 2


# Both

NAMES = st.text(min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(
    st.text(max_size=6), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=2)
)
CALLS = st.lists(
    st.builds(
        lambda name, arguments, spaced: Call(name, arguments, json.dumps(arguments) if spaced else ""),
        NAMES,
        ARGUMENTS,
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
).map(lambda calls: [Call(c.name, c.arguments, c.text, f"call_{i}") for i, c in enumerate(calls)])
TURNS = st.tuples(
    st.lists(st.builds(Think, st.text(), st.booleans()), max_size=1),
    CALLS | st.builds(Say, st.text(), st.booleans()).map(lambda said: [said]),
).map(lambda parts: (*parts[0], *parts[1]))


@settings(deadline=None)
@given(TURNS, st.booleans(), st.booleans(), st.booleans())
def test_the_deltas_make_up_the_whole(
    reply: tuple[Completion, ...], beats: bool, include_usage: bool, legacy: bool
) -> None:
    request = chat(include_usage=include_usage, legacy=legacy)
    body = chat_body(request, ABOUT, result(*reply))
    happened = events(*reply, beats=beats)
    if legacy:
        # One call is all that the older form has room for.
        reply = tuple(done for done in reply if not isinstance(done, Call) or done.id == "call_0")
        happened = events(*reply, beats=beats)
    found = chunks(played(ChatStream(request, ABOUT), happened))
    message = body["choices"][0]["message"]
    assert joined(found) == {**message, "content": message["content"] or ""}
    finish = found[-2 if include_usage else -1]["choices"][0]["finish_reason"]
    assert finish == body["choices"][0]["finish_reason"]


@settings(deadline=None)
@given(TURNS)
def test_completions_alone_make_up_the_whole_too(reply: tuple[Completion, ...]) -> None:
    found = chunks(played(ChatStream(chat(), ABOUT), [*reply, result(*reply)]))
    message = chat_body(chat(), ABOUT, result(*reply))["choices"][0]["message"]
    assert joined(found) == {**message, "content": message["content"] or ""}


def test_the_older_form_of_a_call() -> None:
    body = chat_body(chat(legacy=True), ABOUT, result(OSLO))
    assert body["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "weather", "arguments": '{"city": "Oslo"}'},
    }
    assert body["choices"][0]["finish_reason"] == "function_call"
    found = streamed(OSLO, request=chat(legacy=True))
    assert found[-1]["choices"][0]["finish_reason"] == "function_call"
    named = [delta for delta in deltas(found) if "name" in delta.get("function_call", {})]
    assert named == [{"function_call": {"name": "weather", "arguments": ""}}]


def test_half_a_surrogate_pair_that_a_model_wrote_breaks_no_stream() -> None:
    call = Call("f", {"a": "\ud800"}, '{"a":"\\ud800"}', "call_1")
    assert joined(streamed(call))["tool_calls"][0]["function"]["arguments"] == call.text
    assert joined(streamed(Say("\ud800")))["content"] == "\ud800"


def test_the_wire_is_the_parser_and_these_encoders() -> None:
    assert CHAT.media_type == "text/event-stream"
    assert CHAT.whole(chat(), ABOUT, result(HELD)) == whole(HELD)
    assert chunks(played(CHAT.stream(chat(), ABOUT), events(HELD))) == streamed(HELD)
