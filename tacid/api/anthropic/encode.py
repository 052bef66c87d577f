"""Replies of ``/v1/messages``, whole and as events. Source: Anthropic API reference, Messages and Streaming messages.

``input_tokens`` counts what the engine read anew, ``cache_read_input_tokens`` what it still knew; the sum is the
prompt. What it was is known only at the end, so the numbers stand in ``message_delta``, those of ``message_start``
are nil.
"""

from __future__ import annotations

from typing import Any

from tacid.api import sse
from tacid.api.faults import Fault, body_of
from tacid.api.left_out import listed
from tacid.api.modes import usage_extras
from tacid.api.openai.chat_encode import arguments_text
from tacid.api.request import About, Beat, ChatRequest, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Say, SayDelta, Think, ThinkDelta, Truncated, Usage
from tacid.turn.request import TurnResult

#: What stands where Anthropic signs a thought. It signs nothing, and is never read again.
SIGNATURE = "dGFjaWQ="

_PATH = "/v1/messages"
_OURS, _THEIRS = "call_", "toolu_"


def whole(request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
    """The body of a whole reply.

    A call that was cut off is not in it: what it holds can be run as it stands, and ``stop_reason`` says the rest.
    """
    return {
        **_message(about),
        "content": _content(request, about, result),
        **_end(result),
        "usage": {**_usage(result.usage), **usage_extras(result)},
        **_marks(result),
    }


def counted(tokens: int) -> dict[str, Any]:
    """The body of a count."""
    return {"input_tokens": tokens}


class MessageStream:
    """The events of one streamed reply, as bytes; see `StreamEncoder`.

    A call that was cut off has begun in a stream: its block ends where it was cut, and ``stop_reason`` is
    ``max_tokens``.
    """

    def __init__(self, request: ChatRequest, about: About) -> None:
        self._about = about
        self._thoughts = not request.extra.get("hide_thinking")
        self._begun = False
        self._ended = False
        self._index = 0
        self._open = False
        #: What has been sent of the block that is open.
        self._sent = ""
        self._calls = 0

    def event(self, event: WireEvent) -> bytes:
        """The bytes of one event; before those of the first one, the beginning of the message."""
        if self._ended:
            return b""
        return (b"" if self._begun else self._begin()) + self._event(event)

    def fault(self, fault: Fault) -> bytes:
        """``event: error``, the last one."""
        if self._ended:
            return b""
        self._ended = True
        return sse.event("error", body_of(fault, _PATH))

    def _begin(self) -> bytes:
        self._begun = True
        start = {**_message(self._about), "content": [], "stop_reason": None, "stop_sequence": None}
        return _send("message_start", message={**start, "usage": _usage(Usage())})

    def _event(self, event: WireEvent) -> bytes:
        match event:
            case Beat():
                return _send("ping")
            case ThinkDelta(text):
                return self._more(_thinking(""), "thinking_delta", "thinking", text) if self._thoughts else b""
            case Think(text):
                return self._thought(text)
            case SayDelta(text):
                return self._more(_text(""), "text_delta", "text", text)
            case Say(text):
                rest = self._rest(text)
                return self._start(_text("")) + self._delta("text_delta", "text", rest) + self._stop()
            case CallStart(name, identity):
                return self._start(self._use(name, identity))
            case CallDelta(text):
                return self._delta("input_json_delta", "partial_json", text)
            case Call():
                rest = self._rest(arguments_text(event))
                start = self._start(self._use(event.name, event.id))
                return start + self._delta("input_json_delta", "partial_json", rest) + self._stop()
            case Truncated():
                return self._stop()
            case TurnResult():
                self._ended = True
                delta = _send(
                    "message_delta",
                    delta=_end(event),
                    usage={**_usage(event.usage), **usage_extras(event)},
                    **_marks(event),
                )
                return self._stop() + delta + _send("message_stop")

    def _thought(self, text: str) -> bytes:
        if not self._thoughts or not (text or self._open):
            return b""
        rest = self._more(_thinking(""), "thinking_delta", "thinking", self._rest(text))
        return rest + self._delta("signature_delta", "signature", SIGNATURE) + self._stop()

    def _more(self, block: dict[str, Any], kind: str, key: str, text: str) -> bytes:
        """More of a block, which begins with the first of it."""
        return self._start(block) + self._delta(kind, key, text) if text else b""

    def _use(self, name: str, identity: str | None) -> dict[str, Any]:
        return _tool_use(name, {}, _identity(identity, self._about, self._calls))

    def _start(self, block: dict[str, Any]) -> bytes:
        if self._open:
            return b""
        self._open = True
        self._sent = ""
        self._calls += block["type"] == "tool_use"
        return _send("content_block_start", index=self._index, content_block=block)

    def _delta(self, kind: str, key: str, text: str) -> bytes:
        if not text:
            return b""
        self._sent += text
        return _send("content_block_delta", index=self._index, delta={"type": kind, key: text})

    def _rest(self, text: str) -> str:
        """What of a finished block hasn't been sent."""
        if not self._open:
            return text
        return text.removeprefix(self._sent) if text.startswith(self._sent) else ""

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        self._index += 1
        return _send("content_block_stop", index=self._index - 1)


def _send(name: str, **fields: Any) -> bytes:
    return sse.event(name, {"type": name, **fields})


def _message(about: About) -> dict[str, Any]:
    return {"id": f"msg_{about.id}", "type": "message", "role": "assistant", "model": about.model}


def _content(request: ChatRequest, about: About, result: TurnResult) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    calls = 0
    for done in result.completions:
        match done:
            case Think(text) if text and not request.extra.get("hide_thinking"):
                blocks.append({**_thinking(text), "signature": SIGNATURE})
            case Say(text):
                blocks.append(_text(text))
            case Call(name, arguments):
                blocks.append(_tool_use(name, dict(arguments), _identity(done.id, about, calls)))
                calls += 1
    return blocks


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": ""}


def _tool_use(name: str, arguments: dict[str, Any], identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def _identity(identity: str | None, about: About, index: int) -> str:
    """The id as Anthropic spells it; in a later request it comes back as it is, in the call and in its result."""
    return _THEIRS + (f"{about.id}_{index}" if identity is None else identity.removeprefix(_OURS))


def _end(result: TurnResult) -> dict[str, Any]:
    """Why the reply ended."""
    last = result.completions[-1] if result.completions else None
    reason, stop = "end_turn", None
    match last:
        case Call():
            reason = "tool_use"
        case Say() if result.stop is not None:
            reason, stop = "stop_sequence", result.stop
        case Truncated() | Say(complete=False) | Think(complete=False):
            reason = "max_tokens"
    return {"stop_reason": reason, "stop_sequence": stop}


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": max(0, usage.prompt - usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
    }


def _marks(result: TurnResult) -> dict[str, Any]:
    """An extra field for calls that failed their check twice, and for tools that could not be offered."""
    told: dict[str, Any] = {}
    if result.invalid:
        told["invalid"] = {_marked(key): list(why) for key, why in result.invalid.items()}
    if result.report.left_out:
        told["left_out"] = listed(result.report.left_out)
    return {"tacid": told} if told else {}


def _marked(key: str) -> str:
    return _THEIRS + key.removeprefix(_OURS) if key else key


__all__ = ["SIGNATURE", "MessageStream", "counted", "whole"]
