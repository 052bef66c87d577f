"""The older completions: a text continued, raw; what this route can't do is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.faults import fault
from tacid.api.openai.completions import CompletionStream, completion_body, parse_completion
from tacid.api.request import Beat, CompletionRequest, Limits
from tacid.chat import Sampling, Say, SayDelta
from tacid.errors import InputError, RequestError
from tests.api.openai.events import ABOUT, chunks, events, frames, played, result
from tests.api.openai.test_chat_parse import JSON, NEAR


def parse(**body: Any) -> CompletionRequest:
    return parse_completion({"prompt": "Once", **body}, Limits())


def text_of(found: list[dict[str, Any]]) -> str:
    return "".join(choice["text"] for chunk in found for choice in chunk["choices"])


@pytest.mark.parametrize(
    ("prompt", "read"),
    [("Once", "Once"), (["Once"], "Once"), ([1, 2], (1, 2)), ([[1, 2]], (1, 2))],
)
def test_a_prompt_is_one_text_or_its_tokens(prompt: Any, read: Any) -> None:
    assert parse(prompt=prompt) == CompletionRequest(None, read)


def test_options_are_read() -> None:
    asked = parse(
        model="m", temperature=0.5, seed=3, stop="\n", max_tokens=9, stream=True, n=1, best_of=1, suffix=None,
        logprobs=None, stream_options={"include_usage": True}, grammar='root ::= "a"', echo=True, user="u",
    )  # fmt: skip
    sampling = Sampling(temperature=0.5, seed=3, stop=("\n",))
    assert asked == CompletionRequest("m", "Once", sampling, 9, True, True, 'root ::= "a"', True)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"prompt": [[1], [2]]}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt[1]"),
        ({"prompt": [-1]}, "prompt[0]"),
        ({"prompt": [True]}, "prompt[0]"),
        ({"prompt": {}}, "prompt"),
        ({"prompt": "\ud800"}, "prompt"),
        ({"prompt": [1], "echo": True}, "echo"),
        ({"suffix": "x"}, "suffix"),
        ({"best_of": 2}, "best_of"),
        ({"n": 2}, "n"),
        ({"logprobs": 0}, "logprobs"),
        ({"logprobs": 5}, "logprobs"),
        ({"tools": [{"name": "x"}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"json_schema": {"type": "object"}}, "json_schema"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": 1}, "stop"),
    ],
)
def test_what_can_not_be_honoured_is_said_with_its_field(body: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(**body)
    assert caught.value.param == param


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["prompt", "echo", "logprobs", "stop", "best_of", "suffix"]), JSON | NEAR))
def test_no_body_raises_anything_else(body: dict[str, Any]) -> None:
    try:
        assert parse_completion(body, Limits()).prompt
    except InputError as error:
        assert isinstance(error, RequestError)
        assert error.param


def test_the_whole_body() -> None:
    body = completion_body(parse(), ABOUT, result(Say("upon", complete=False), timings={"prompt_ms": 2.0}))
    assert json.loads(json.dumps(body)) == {
        "id": "cmpl-abc123",
        "object": "text_completion",
        "created": 1_700_000_000,
        "model": "smollm2",
        "choices": [{"index": 0, "text": "upon", "logprobs": None, "finish_reason": "length"}],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "timings": {"prompt_ms": 2.0},
    }


@settings(deadline=None)
@given(st.text(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_streamed_and_whole_are_the_same(
    text: str, complete: bool, echo: bool, include_usage: bool, beats: bool
) -> None:
    asked = parse(echo=echo, stream_options={"include_usage": include_usage})
    said = Say(text, complete)
    body = completion_body(asked, ABOUT, result(said))
    found = chunks(played(CompletionStream(asked, ABOUT), events(said, beats=beats)))
    assert text_of(found) == body["choices"][0]["text"] == ("Once" if echo else "") + text
    reasons = [choice["finish_reason"] for chunk in found for choice in chunk["choices"]]
    assert reasons == [None] * (len(reasons) - 1) + [body["choices"][0]["finish_reason"]]
    assert (found[-1].get("usage") == body["usage"]) is include_usage


def test_an_answer_without_deltas_is_sent_too() -> None:
    found = chunks(played(CompletionStream(parse(), ABOUT), [Say("upon"), result(Say("upon"))]))
    assert text_of(found) == "upon"


def test_an_error_is_the_last_event_and_a_beat_a_comment() -> None:
    encoder = CompletionStream(parse(), ABOUT)
    assert encoder.event(Beat()).startswith(b": ")
    assert encoder.event(SayDelta("up"))
    assert "error" in json.loads(frames(encoder.fault(fault(503, "Gone.")))[0])
    assert encoder.event(result(Say("up"))) == b""
