"""Replies of ``/api/chat`` and ``/api/generate``: one JSON object a line, or one object. Source: docs/api.md.

Durations are whole nanoseconds. A call is one line with its arguments as an object, so its deltas are not sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from tacid.api.faults import Fault, body_of
from tacid.api.left_out import listed
from tacid.api.modes import usage_extras
from tacid.api.request import About, Beat, ChatRequest, CompletionRequest, WireEvent
from tacid.api.sse import json_line
from tacid.chat import Call, CallDelta, CallStart, Completion, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.turn.request import TurnResult


class Form(Protocol):
    """Where a route puts what the model wrote."""

    def __call__(
        self, content: str = "", thinking: str = "", calls: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, Any]: ...


def chat_form(content: str = "", thinking: str = "", calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """``/api/chat``: in ``message``, which is always there."""
    return {"message": {"role": "assistant", "content": content, **_more(thinking, calls)}}


def generate_form(content: str = "", thinking: str = "", calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """``/api/generate``: beside each other, the text in ``response``."""
    return {"response": content, **_more(thinking, calls)}


def _more(thinking: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {**({"thinking": thinking} if thinking else {}), **({"tool_calls": list(calls)} if calls else {})}


class LineEncoder:
    """One streamed reply (`tacid.api.request.StreamEncoder`)."""

    def __init__(self, form: Form, request: ChatRequest | CompletionRequest, about: About) -> None:
        self._form = form
        self._request = request
        self._about = about
        self._said = 0
        self._thought = 0
        self._calls = 0

    def event(self, event: WireEvent) -> bytes:
        """The line of one event, or nothing."""
        match event:
            case SayDelta(text=text):
                self._said += len(text)
                return self._line(content=text)
            case ThinkDelta(text=text):
                self._thought += len(text)
                return self._line(thinking=text)
            case Say(text=text):
                rest, self._said = text[self._said :], 0
                return self._line(content=rest)
            case Think(text=text):
                rest, self._thought = text[self._thought :], 0
                return self._line(thinking=rest)
            case Call():
                self._calls += 1
                return _encoded(self._open(self._form(calls=[call_of(event, self._calls - 1)])))
            case Beat():
                return _encoded(self._open(self._form()))
            case TurnResult():
                return _encoded({**_head(self._request, self._about), **self._form(), **_tail(event, self._about)})
            case CallStart() | CallDelta() | Truncated():
                return b""

    def fault(self, fault: Fault) -> bytes:
        """The line of an error, the last one."""
        return _encoded(body_of(fault, "/api/"))

    def _line(self, content: str = "", thinking: str = "") -> bytes:
        return _encoded(self._open(self._form(content, thinking))) if content or thinking else b""

    def _open(self, said: dict[str, Any]) -> dict[str, Any]:
        return {**_head(self._request, self._about), **said, "done": False}


def whole_body(
    form: Form, request: ChatRequest | CompletionRequest, about: About, result: TurnResult
) -> dict[str, Any]:
    """The body of a whole reply."""
    done = result.completions
    said = form(
        "".join(one.text for one in done if isinstance(one, Say)),
        "".join(one.text for one in done if isinstance(one, Think)),
        [call_of(one, index) for index, one in enumerate(one for one in done if isinstance(one, Call))],
    )
    return {**_head(request, about), **said, **_tail(result, about)}


def loaded_body(form: Form, request: ChatRequest, about: About) -> dict[str, Any]:
    """The reply to a request that asks for nothing but that the model be ready, or be let go; never a stream."""
    reason = "unload" if request.extra.get("unload") else "load"
    total = _elapsed(about)
    return {
        **_head(request, about),
        **form(),
        "done": True,
        "done_reason": reason,
        "total_duration": total,
        "load_duration": total,
        "prompt_eval_count": 0,
        "prompt_eval_duration": 0,
        "eval_count": 0,
        "eval_duration": 0,
    }


def call_of(call: Call, index: int) -> dict[str, Any]:
    """A call as Ollama has it: its arguments an object, its place among the reply's calls an ``index``."""
    function = {"index": index, "name": call.name, "arguments": dict(call.arguments)}
    return {**({"id": call.id} if call.id else {}), "function": function}


def stamp(moment: datetime) -> str:
    """A time as RFC 3339 with microseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _head(request: ChatRequest | CompletionRequest, about: About) -> dict[str, Any]:
    """The model by the name that the client gave it, and when this was written."""
    moment = datetime.fromtimestamp(about.created + _elapsed(about) / 1e9, UTC)
    return {"model": request.model or about.model, "created_at": stamp(moment)}


def _tail(result: TurnResult, about: About) -> dict[str, Any]:
    """Why it ended, and what it took.

    What the engine neither read nor wrote in counts as ``load_duration``, as in Ollama: the wait for a place, the
    grammar, hidden work.
    """
    read, written = _ns(result.timings.get("prompt_ms")), _ns(result.timings.get("predicted_ms"))
    total = max(_elapsed(about), read + written)
    return {
        "done": True,
        "done_reason": "length" if any(_cut_off(one) for one in result.completions) else "stop",
        "total_duration": total,
        "load_duration": total - read - written,
        "prompt_eval_count": result.usage.prompt,
        "prompt_eval_duration": read,
        "eval_count": result.usage.completion,
        **usage_extras(result),
        "eval_duration": written,
        **_marks(result),
    }


def _marks(result: TurnResult) -> dict[str, Any]:
    """An extra field for calls that failed their check twice, and for tools that could not be offered."""
    told: dict[str, Any] = {}
    if result.invalid:
        told["invalid"] = {key: list(why) for key, why in result.invalid.items()}
    if result.report.left_out:
        told["left_out"] = listed(result.report.left_out)
    return {"tacid": told} if told else {}


def _cut_off(done: Completion) -> bool:
    return isinstance(done, Truncated) or (isinstance(done, Say) and not done.complete)


def _elapsed(about: About) -> int:
    """Nanoseconds since the request arrived; none where that isn't known."""
    return max(0, int((time.perf_counter() - about.started) * 1e9)) if about.started else 0


def _ns(milliseconds: float | None) -> int:
    if milliseconds is None or not math.isfinite(milliseconds):
        return 0
    return max(0, int(milliseconds * 1e6))


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json_line(line) + b"\n"
