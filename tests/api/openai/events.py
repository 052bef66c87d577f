"""Turns made by hand, and streams read as a client reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tacid.api.request import About, Beat, ChatRequest, StreamEncoder, WireEvent
from tacid.chat import (
    Call,
    CallDelta,
    CallStart,
    Completion,
    Message,
    Say,
    SayDelta,
    Think,
    ThinkDelta,
    Truncated,
    Usage,
)
from tacid.grammar.report import Report
from tacid.turn.request import TurnResult

ABOUT = About("abc123", 1_700_000_000, "smollm2")
HELLO = (Message("user", "hi"),)


def chat(**fields: Any) -> ChatRequest:
    return ChatRequest(None, HELLO, **fields)


def result(*completions: Completion, **fields: Any) -> TurnResult:
    given: dict[str, Any] = {"usage": Usage(11, 3, 7), "forced_tokens": 0, "timings": {}, "report": Report()}
    return TurnResult(completions, **(given | fields))


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


def events(*completions: Completion, beats: bool = False, **fields: Any) -> list[WireEvent]:
    """The events of a turn with these completions, in the order that a turn gives them."""
    made: list[WireEvent] = []
    for done in completions:
        match done:
            case Think(text):
                made += [ThinkDelta(piece) for piece in pieces(text)]
            case Say(text):
                made += [SayDelta(piece) for piece in pieces(text)]
            case Call(name, _, text, identity):
                made += [CallStart(name, identity), *(CallDelta(piece) for piece in pieces(text))]
            case Truncated(raw, name) if name is not None:
                made += [CallStart(name, "call_cut"), *(CallDelta(piece) for piece in pieces(raw))]
        made.append(done)
    made.append(result(*completions, **fields))
    return [event for one in made for event in ((Beat(), one) if beats else (one,))]


def played(encoder: StreamEncoder, happened: Iterable[WireEvent]) -> bytes:
    return b"".join(encoder.event(event) for event in happened)


def frames(stream: bytes) -> list[str]:
    """The data of each event; comments are passed over, all else is a fault."""
    text = stream.decode()
    assert text.endswith("\n\n") or not text
    found = []
    for frame in text.split("\n\n")[:-1]:
        assert "\n" not in frame
        if not frame.startswith(":"):
            assert frame.startswith("data: ")
            found.append(frame.removeprefix("data: "))
    return found


def chunks(stream: bytes) -> list[dict[str, Any]]:
    """The chunks of a stream that ended well."""
    found = frames(stream)
    assert found[-1] == "[DONE]"
    assert "[DONE]" not in found[:-1]
    return [json.loads(frame) for frame in found[:-1]]


def joined(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that the deltas make up, as clients join them: texts are joined, everything else is set once."""
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in found:
        for choice in chunk["choices"]:
            for key, value in choice["delta"].items():
                if key == "tool_calls":
                    for part in value:
                        _join(calls.setdefault(part["index"], {}), {k: v for k, v in part.items() if k != "index"})
                else:
                    _join(message, {key: value})
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


def _join(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _join(into.setdefault(key, {}), value)
        elif isinstance(value, str):
            into[key] = into.get(key, "") + value
        else:
            raise AssertionError(f"{key} is {value!r}")
