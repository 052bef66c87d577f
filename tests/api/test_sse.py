"""Frames that every client reads as what was meant, however it splits lines."""

from __future__ import annotations

import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.sse import BEAT, DONE, comment, data, event, json_line

#: Every character, of half surrogate pairs only first halves, which two of don't make a whole.
ANY_TEXT = st.text(
    alphabet=st.characters(exclude_categories=("Cs",)) | st.sampled_from("\x7f\x85\u2028\u2029\r\n\x0b\x1c\ud800")
)


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_line_of_json_is_one_line_to_everybody(text: str) -> None:
    line = json_line({"text": text})
    assert len(line.splitlines()) == len(line.decode().splitlines()) == 1
    assert json.loads(line) == {"text": text}


@settings(deadline=None)
@given(ANY_TEXT)
def test_an_event_is_read_back(text: str) -> None:
    lines = list(httpx.Response(200, content=event("ping", text) + comment(text) + DONE).iter_lines())
    assert lines[0] == "event: ping"
    assert json.loads(lines[1].removeprefix("data: ")) == text
    assert lines[2] == ""
    assert lines[3].startswith(":")
    assert lines[4:] == ["", "data: [DONE]", ""]


def test_frames_as_bytes() -> None:
    assert data({"a": "ä😀"}) == 'data: {"a":"ä😀"}\n\n'.encode()
    assert BEAT.startswith(b":")
    assert BEAT.endswith(b"\n\n")


def test_what_json_can_not_hold_is_no_frame() -> None:
    with pytest.raises(ValueError, match="JSON"):
        data(float("nan"))
