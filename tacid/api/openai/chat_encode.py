"""Replies of ``/v1/chat/completions``, whole and streamed. Source: OpenAI API reference, Chat Completions.

Fields of ours beside OpenAI's: ``timings`` (the engine's own, milliseconds), and ``tacid`` with what else there is to
know of the turn. In a stream they stand in the last chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.api import sse
from tacid.api.faults import Fault, body_of
from tacid.api.left_out import listed
from tacid.api.modes import usage_extras
from tacid.api.request import About, Beat, ChatRequest, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.errors import InputError
from tacid.jsontext import dumps, loads
from tacid.turn.request import TurnResult

PATH = "/v1/chat/completions"


def chat_body(request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
    """The body of a whole reply. A cut-off call is no call: the content is empty, the finish ``length``."""
    calls = [done for done in result.completions if isinstance(done, Call)]
    said = [done.text for done in result.completions if isinstance(done, Say)]
    thought = "".join(done.text for done in result.completions if isinstance(done, Think))
    message: dict[str, Any] = {"role": "assistant", "content": "".join(said) if said or not calls else None}
    if thought:
        message["reasoning_content"] = thought
    if calls and request.legacy:
        message["function_call"] = {"name": calls[0].name, "arguments": arguments_text(calls[0])}
    elif calls:
        message["tool_calls"] = [
            {
                "id": call_id(call.id, about, index),
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call)},
            }
            for index, call in enumerate(calls)
        ]
    return {
        "id": f"chatcmpl-{about.id}",
        "object": "chat.completion",
        "created": int(about.created),
        "model": about.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_of(result, legacy=request.legacy)}],
        "usage": usage_body(result),
        **extras(result),
    }


class ChatStream:
    """The chunks of one streamed reply.

    The role comes once and first, a call's id and name in its first delta alone. What an event completes and no
    delta has told is sent with it, so that the deltas always make up the whole.
    """

    def __init__(self, request: ChatRequest, about: About) -> None:
        self._legacy = request.legacy
        self._include_usage = request.include_usage
        self._about = about
        self._head = {
            "id": f"chatcmpl-{about.id}",
            "object": "chat.completion.chunk",
            "created": int(about.created),
            "model": about.model,
        }
        self._begun = False
        self._ended = False
        #: Calls begun so far, whether the last of them is open, and the texts sent: of it, the answer, the thought.
        self._calls = 0
        self._open = False
        self._arguments = ""
        self._said = ""
        self._thought = ""

    def event(self, event: WireEvent) -> bytes:
        """The bytes of one event."""
        if self._ended:
            return b""
        match event:
            case Beat():
                return sse.BEAT
            case ThinkDelta(text):
                return self._think(text)
            case Think(text):
                return self._think(_rest(text, self._thought))
            case SayDelta(text):
                return self._say(text)
            case Say(text):
                return self._say(_rest(text, self._said))
            case CallStart(name, identity):
                return self._start(name, identity)
            case CallDelta(text):
                return self._more(text)
            case Call():
                return self._call(event)
            case Truncated():
                return b""
            case TurnResult():
                return self._finish(event)

    def fault(self, fault: Fault) -> bytes:
        """The error as an event of its own, the last one.

        No ``[DONE]`` follows: a client that doesn't know the event must not take what came before it for a whole
        reply. (OpenAI's own client raises at the event and reads no further.)
        """
        if self._ended:
            return b""
        self._ended = True
        return sse.data(body_of(fault, PATH))

    def _think(self, text: str) -> bytes:
        self._thought += text
        return self._delta({"reasoning_content": text}) if text else b""

    def _say(self, text: str) -> bytes:
        self._said += text
        return self._delta({"content": text}) if text else b""

    def _start(self, name: str, identity: str | None) -> bytes:
        index, self._calls = self._calls, self._calls + 1
        self._open, self._arguments = True, ""
        function = {"name": name, "arguments": ""}
        if self._legacy:
            return self._delta({"function_call": function})
        call = {"index": index, "id": call_id(identity, self._about, index), "type": "function", "function": function}
        return self._delta({"tool_calls": [call]})

    def _more(self, text: str) -> bytes:
        if not text:
            return b""
        self._arguments += text
        function = {"arguments": text}
        if self._legacy:
            return self._delta({"function_call": function})
        return self._delta({"tool_calls": [{"index": max(0, self._calls - 1), "function": function}]})

    def _call(self, call: Call) -> bytes:
        start = b"" if self._open else self._start(call.name, call.id)
        self._open = False
        return start + self._more(_rest(arguments_text(call), self._arguments))

    def _finish(self, result: TurnResult) -> bytes:
        self._ended = True
        last = extras(result)
        finish = finish_of(result, legacy=self._legacy)
        if not self._include_usage:
            return self._chunk({}, finish, last) + sse.DONE
        usage = sse.data({**self._head, "choices": [], "usage": usage_body(result), **last})
        return self._chunk({}, finish, {}) + usage + sse.DONE

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return self._chunk(delta, None, {})

    def _chunk(self, delta: Mapping[str, Any], finish: str | None, more: Mapping[str, Any]) -> bytes:
        role = b""
        if not self._begun:
            self._begun = True
            role = self._chunk({"role": "assistant", "content": ""}, None, {})
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return role + sse.data({**self._head, "choices": [choice], **more})


def finish_of(result: TurnResult, *, legacy: bool = False) -> str:
    """Why a reply ended. Never ``length`` beside a complete call."""
    if any(isinstance(done, Call) for done in result.completions):
        return "function_call" if legacy else "tool_calls"
    cut = any(
        isinstance(done, Truncated) or (isinstance(done, Say) and not done.complete) for done in result.completions
    )
    return "length" if cut else "stop"


def call_id(identity: str | None, about: About, index: int) -> str:
    """The id of a call; one made of the reply's where the turn gave none."""
    return identity or f"call_{about.id}{index}"


def arguments_text(call: Call) -> str:
    """The arguments as JSON text: as the model wrote them where that is the JSON of the arguments."""
    if call.text:
        try:
            if loads(call.text, "The call") == call.arguments:
                return call.text
        except InputError:
            pass
    return dumps(dict(call.arguments))


def usage_body(result: TurnResult) -> dict[str, Any]:
    """Tokens as OpenAI counts them, summed over hops. Those of a thought aren't counted apart."""
    usage = result.usage
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
        **usage_extras(result),
    }


def extras(result: TurnResult) -> dict[str, Any]:
    """The fields of ours beside OpenAI's; each only where there is something to tell.

    ``tacid``: ``invalid`` (calls that failed their check, by id, each with what is wrong; "" is the answer),
    ``truncated`` (the tool whose call was cut off), ``stop`` (the stop text that ended the answer), ``widened`` (the
    called tools whose calls were held to less than their schema and so checked afterwards, each with where and what),
    ``left_out`` (tools that could not be offered, each with the field and why),
    and how many ``forced_tokens``, ``retries`` and ``hops`` there were.
    """
    called = {done.name for done in result.completions if isinstance(done, Call)}
    widened: dict[str, list[str]] = {}
    for widening in result.report.widenings:
        if widening.tool in called and widening.tool is not None:
            widened.setdefault(widening.tool, []).append(f"{widening.pointer}: {widening.keyword}")
    cut = next((done for done in result.completions if isinstance(done, Truncated)), None)
    told: dict[str, Any] = {
        "invalid": {identity: list(why) for identity, why in result.invalid.items()},
        "truncated": cut.name if cut else None,
        "stop": result.stop,
        "widened": widened,
        "forced_tokens": result.forced_tokens,
        "retries": result.retries,
        "hops": result.hops,
        "left_out": listed(result.report.left_out),
    }
    told = {key: value for key, value in told.items() if value}
    return {
        **({"timings": dict(result.timings)} if result.timings else {}),
        **({"tacid": told} if told else {}),
    }


def _rest(whole: str, sent: str) -> str:
    """What of a text has not been sent; nothing where something else was, which can't be recalled."""
    return whole[len(sent) :] if whole.startswith(sent) else ""


__all__ = ["ChatStream", "arguments_text", "call_id", "chat_body", "extras", "finish_of", "usage_body"]
