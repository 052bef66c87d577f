"""Replies of ``/v1/responses``, whole and as events. Source: OpenAI API reference, Responses and Streaming.

A thought is an item of type ``reasoning`` with its text as ``reasoning_text``. A call that was cut off is no call:
it is in no response's ``output``; in a stream its item begins and is never done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacid.api import sse
from tacid.api.faults import Fault, body_of, fault
from tacid.api.modes import usage_extras
from tacid.api.openai.chat_encode import arguments_text, call_id, extras, finish_of
from tacid.api.request import About, Beat, ChatRequest, WireEvent
from tacid.chat import Call, CallDelta, CallStart, Message, Say, SayDelta, Think, ThinkDelta, Truncated, Usage
from tacid.turn.request import TurnResult

PATH = "/v1/responses"

_EMPTY_ECHO: dict[str, Any] = {
    "metadata": {},
    "parallel_tool_calls": False,
    "tool_choice": "auto",
    "tools": [],
}


def response_id(about: About) -> str:
    """The id of the response."""
    return f"resp_{about.id}"


def response_body(request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
    """The body of a whole reply."""
    return _ended(request, about, result, _output(about, result))


def response_messages(request: ChatRequest, about: About, result: TurnResult) -> tuple[Message, ...]:
    """The conversation with this reply as its last message, as the next request of it begins."""
    messages = list(request.extra.get("conversation", request.messages))
    calls = [done for done in result.completions if isinstance(done, Call)]
    if calls:
        made = (
            Call(call.name, call.arguments, arguments_text(call), call_id(call.id, about, index))
            for index, call in enumerate(calls)
        )
        messages.append(Message("assistant", calls=tuple(made)))
    messages += [Message("assistant", done.text) for done in result.completions if isinstance(done, Say) and done.text]
    return tuple(messages)


def deleted_body(identity: str) -> dict[str, Any]:
    """What ``DELETE /v1/responses/{id}`` answers."""
    return {"id": identity, "object": "response", "deleted": True}


def not_kept(identity: str) -> Fault:
    """The fault of a route that names a response which isn't kept."""
    return fault(404, f"No response with the id {identity[:80]!r} is kept here (any more).", code="response_not_found")


class ResponseStream:
    """The events of one streamed reply, numbered from nought; see `StreamEncoder`.

    ``keep`` is called with the whole body and the result before the last event leaves, so that a client may refer to
    the response as soon as it knows that it is complete.
    """

    def __init__(
        self, request: ChatRequest, about: About, keep: Callable[[dict[str, Any], TurnResult], None] | None = None
    ) -> None:
        self._request = request
        self._about = about
        self._keep = keep
        self._number = 0
        self._begun = False
        self._ended = False
        #: Items that are done, the one that is open, and what has been sent of its text.
        self._done: list[dict[str, Any]] = []
        self._item: dict[str, Any] | None = None
        self._sent = ""
        self._calls = 0

    def event(self, event: WireEvent) -> bytes:
        """The bytes of one event; before those of the first one, the beginning of the response."""
        if self._ended:
            return b""
        return self._begin() + self._event(event)

    def fault(self, fault: Fault) -> bytes:
        """``response.failed``, and an ``error`` for clients that only look for one: OpenAI's own raises at it."""
        if self._ended:
            return b""
        begin = self._begin()
        self._ended = True
        code = _ERRORS.get(fault.status, "invalid_prompt" if fault.status < 500 else "server_error")
        body = _body(self._request, self._about, "failed", self._done)
        failed = self._send("response.failed", response={**body, "error": {"code": code, "message": fault.message}})
        told = {"code": fault.code, "message": fault.message, "param": fault.param}
        return begin + failed + self._send("error", **told, **body_of(fault, PATH))

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        body = _body(self._request, self._about, "in_progress", [])
        return self._send("response.created", response=body) + self._send("response.in_progress", response=body)

    def _event(self, event: WireEvent) -> bytes:
        match event:
            case Beat():
                return sse.BEAT
            case ThinkDelta(text):
                return self._more(_thought(self._about, "", "in_progress"), text)
            case Think(text):
                return self._end(_thought(self._about, text)) if text or self._item else b""
            case SayDelta(text):
                return self._more(_message(self._about, "", "in_progress"), text)
            case Say(text, complete):
                return self._end(_message(self._about, text, _status(complete)))
            case CallStart(name, identity):
                return self._start(self._call(name, "", identity, "in_progress"))
            case CallDelta(text):
                return self._delta(text)
            case Call():
                return self._end(self._call(event.name, arguments_text(event), event.id, "completed"))
            case Truncated():
                self._item = None
                return b""
            case TurnResult():
                return self._finish(event)

    def _call(self, name: str, arguments: str, identity: str | None, status: str) -> dict[str, Any]:
        return _function_call(name, arguments, call_id(identity, self._about, self._calls), status)

    def _more(self, item: dict[str, Any], text: str) -> bytes:
        """More of an item, which begins with the first of it."""
        return self._start(item) + self._delta(text) if text else b""

    def _start(self, item: dict[str, Any]) -> bytes:
        if self._item is not None:
            return b""
        self._item, self._sent = item, ""
        if item["type"] == "function_call":
            return self._send("response.output_item.added", output_index=len(self._done), item=item)
        added = self._send("response.output_item.added", output_index=len(self._done), item={**item, "content": []})
        return added + self._at("response.content_part.added", content_index=0, part=item["content"][0])

    def _delta(self, text: str) -> bytes:
        if self._item is None or not text:
            return b""
        self._sent += text
        return self._at(f"response.{_STEPS[self._item['type']][0]}.delta", delta=text, **self._place())

    def _end(self, item: dict[str, Any]) -> bytes:
        """The rest of the item, and its end. What isn't sent yet follows first."""
        begun = self._start({**item, "status": "in_progress", **_emptied(item)})
        whole = item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"]
        rest = self._delta(whole[len(self._sent) :] if whole.startswith(self._sent) else "")
        step, key = _STEPS[item["type"]]
        # Some versions of the client want the function's name here, others none; it does no harm.
        named = {"name": item["name"]} if item["type"] == "function_call" else {}
        done = self._at(f"response.{step}.done", **{key: whole}, **named, **self._place())
        if item["type"] == "function_call":
            self._calls += 1
        else:
            done += self._at("response.content_part.done", content_index=0, part=item["content"][0])
        closed = self._send("response.output_item.done", output_index=len(self._done), item=item)
        self._done.append(item)
        self._item = None
        return begun + rest + done + closed

    def _place(self) -> dict[str, Any]:
        """What an event of the open item's text says beside it."""
        kind = self._item["type"] if self._item else ""
        return _PLACES.get(kind, {})

    def _finish(self, result: TurnResult) -> bytes:
        self._ended = True
        body = _ended(self._request, self._about, result, self._done)
        if self._keep is not None:
            self._keep(body, result)
        return self._send(f"response.{body['status']}", response=body)

    def _at(self, name: str, /, **fields: Any) -> bytes:
        """An event of the open item."""
        identity = self._item["id"] if self._item else ""
        return self._send(name, item_id=identity, output_index=len(self._done), **fields)

    def _send(self, name: str, /, **fields: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return sse.event(name, {"type": name, "sequence_number": number, **fields})


#: By an item's type: the step of its text's events, and under which key the whole text stands in the last of them.
_STEPS = {
    "reasoning": ("reasoning_text", "text"),
    "message": ("output_text", "text"),
    "function_call": ("function_call_arguments", "arguments"),
}

#: By an item's type: what an event of its text says beside it. There is one part, and no probabilities are told.
_PLACES: dict[str, dict[str, Any]] = {
    "reasoning": {"content_index": 0},
    "message": {"content_index": 0, "logprobs": []},
}

#: Words of a response's error by status; the rest is told by who is at fault.
_ERRORS = {429: "rate_limit_exceeded"}


def _ended(request: ChatRequest, about: About, result: TurnResult, output: list[dict[str, Any]]) -> dict[str, Any]:
    cut = finish_of(result) == "length"
    return {
        **_body(request, about, _status(not cut), output),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": {**_usage(result.usage), **usage_extras(result)},
        **extras(result),
    }


def _body(request: ChatRequest, about: About, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": response_id(about),
        "object": "response",
        "created_at": int(about.created),
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": about.model,
        "output": list(output),
        **_EMPTY_ECHO,
        **request.extra.get("echo", {}),
        "store": request.extra.get("store", False),
        "usage": None,
    }


def _output(about: About, result: TurnResult) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    calls = 0
    for done in result.completions:
        match done:
            case Think(text) if text:
                items.append(_thought(about, text))
            case Say(text, complete):
                items.append(_message(about, text, _status(complete)))
            case Call():
                identity = call_id(done.id, about, calls)
                items.append(_function_call(done.name, arguments_text(done), identity, "completed"))
                calls += 1
    return items


def _status(complete: bool) -> str:
    return "completed" if complete else "incomplete"


def _message(about: About, text: str, status: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": f"msg_{about.id}", "role": "assistant", "status": status, "content": [part]}


def _thought(about: About, text: str, status: str = "completed") -> dict[str, Any]:
    part = {"type": "reasoning_text", "text": text}
    return {"type": "reasoning", "id": f"rs_{about.id}", "summary": [], "status": status, "content": [part]}


def _function_call(name: str, arguments: str, identity: str, status: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{identity.removeprefix('call_')}",
        "call_id": identity,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def _emptied(item: dict[str, Any]) -> dict[str, Any]:
    """The fields of an item that begins without its text."""
    if item["type"] == "function_call":
        return {"arguments": ""}
    return {"content": [{**item["content"][0], "text": ""}]}


def _usage(usage: Usage) -> dict[str, Any]:
    """Tokens as OpenAI counts them. Those of a thought aren't counted apart."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.completion,
    }


__all__ = [
    "ResponseStream",
    "deleted_body",
    "not_kept",
    "response_body",
    "response_id",
    "response_messages",
]
