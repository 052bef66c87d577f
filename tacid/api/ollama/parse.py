"""Requests of ``/api/chat`` and ``/api/generate``. Source: Ollama's API documentation, docs/api.md.

What only this protocol has goes into ``ChatRequest.extra``:

- ``load``: nothing is asked, the model is only to be made ready (no messages, or no prompt). ``unload``: it may go.
- ``num_ctx``: tokens of context that the client wants; whoever knows what is served says whether it can be had.
- ``keep_alive``: seconds that the model stays after this request, infinite for always.
- ``effort``: how long to think (``low``, ``medium``, ``high``, ``max``), beside ``ChatRequest.think``.

Fields that aren't named here are ignored, as Ollama does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacid.api.messages import (
    brief,
    check_schema,
    check_tokens,
    history_call,
    kind_of,
    messages_of,
    text_of,
    tools_of,
    want_bool,
    want_int,
    want_number,
    want_object,
    want_str,
    want_texts,
)
from tacid.api.request import ChatRequest, CompletionRequest, Limits
from tacid.catalogue import Schema
from tacid.chat import Call, Message, Role, Sampling
from tacid.errors import RequestError

#: What ``format: "json"`` stands for: Ollama's own grammar of it takes objects only.
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
EFFORTS = ("low", "medium", "high", "max")

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
#: Fields of ``/api/generate`` that can't be honoured, each with the reason and the remedy.
_REFUSED: Mapping[str, str] = {
    "template": "prompts are rendered here for the model at hand; leave it out",
    "suffix": "no model here fills gaps in a text; leave it out",
    "context": "no reply from here has one; send the conversation as messages to /api/chat",
    "images": "only text can be read here; leave them out",
}
#: What a prompt that is taken as it is can't be joined with.
_NOT_RAW: Mapping[str, str] = {
    "system": "a raw prompt is taken as it is; write it into the prompt",
    "format": "a raw prompt is only continued, no schema is held; leave raw out",
}
#: Seconds of the units of Go's durations (package time, ParseDuration).
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_STEP = re.compile(rf"({_NUMBER})(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([-+]?)((?:{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+|{_NUMBER})")


@dataclass(frozen=True, slots=True)
class _Common:
    model: str
    answer: Schema | None
    sampling: Sampling
    max_tokens: int | None
    think: bool | None
    stream: bool
    extra: dict[str, Any]


def parse_chat(body: Mapping[str, Any], limits: Limits) -> ChatRequest:
    """The request in a body of ``/api/chat``. Raises ``RequestError``."""
    common = _common(body, limits)
    entries = [] if body.get("messages") is None else messages_of(body, limits)
    messages = tuple(_message(entry, f"messages[{index}]") for index, entry in enumerate(entries))
    tools = tools_of(body.get("tools"), limits)
    return ChatRequest(
        model=common.model,
        messages=messages,
        tools=tools,
        answer=common.answer,
        sampling=common.sampling,
        max_tokens=common.max_tokens,
        think=common.think,
        stream=common.stream,
        extra=_with_load(common.extra, empty=not messages),
    )


def parse_generate(body: Mapping[str, Any], limits: Limits) -> ChatRequest:
    """The request in a body of ``/api/generate``: one prompt, after a system message or none.

    A prompt that is to be taken as it is (`is_raw`) is another kind of request: `parse_raw`. Raises ``RequestError``,
    also for what can't be had here (``template``, ``suffix``, ``context``, ``images``).
    """
    common = _common(body, limits)
    _refuse(body, _REFUSED)
    if is_raw(body):
        raise RequestError("raw can't be honoured here: the text is no conversation; leave it out.", param="raw")
    prompt, system = want_str(body, "prompt"), want_str(body, "system")
    messages = (*((Message("system", system),) if system else ()), *((Message("user", prompt),) if prompt else ()))
    return ChatRequest(
        model=common.model,
        messages=messages,
        answer=common.answer,
        sampling=common.sampling,
        max_tokens=common.max_tokens,
        think=common.think,
        stream=common.stream,
        extra=_with_load(common.extra, empty=not prompt),
    )


def keep_alive_of(body: Mapping[str, Any]) -> float | None:
    """How many seconds the model shall stay after a request, infinite for always. Raises ``RequestError``."""
    return _keep_alive(body.get("keep_alive"))


def is_raw(body: Mapping[str, Any]) -> bool:
    """Whether a body of ``/api/generate`` has a prompt that is to be continued as it is. Raises ``RequestError``."""
    return bool(want_bool(body, "raw") and want_str(body, "prompt"))


def parse_raw(body: Mapping[str, Any], limits: Limits) -> CompletionRequest:
    """The request in a body of ``/api/generate`` that `is_raw`. Raises ``RequestError``."""
    common = _common(body, limits)
    _refuse(body, {**_REFUSED, **_NOT_RAW})
    return CompletionRequest(
        model=common.model,
        prompt=want_str(body, "prompt") or "",
        sampling=common.sampling,
        max_tokens=common.max_tokens,
        stream=common.stream,
    )


def _refuse(body: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    for key, reason in reasons.items():
        if body.get(key):
            raise RequestError(f"{key} can't be honoured: {reason}.", param=key, code="unsupported")


def _common(body: Mapping[str, Any], limits: Limits) -> _Common:
    model = (want_str(body, "model") or "").strip()
    if not model:
        raise RequestError("model is missing; name the model (GET /api/tags lists them).", param="model")
    if body.get("logprobs") or body.get("top_logprobs"):
        raise RequestError(
            "logprobs can't be honoured: a held reply has none of the model's own; leave it out.",
            param="logprobs",
            code="unsupported",
        )
    options = want_object(body, "options") or {}
    max_tokens = want_int(options, "num_predict", "options")
    if max_tokens is not None and max_tokens <= 0:
        max_tokens = None  # -1 is no limit, -2 as much as the context holds
    check_tokens(max_tokens, limits, "options.num_predict")
    think, effort = _think(body.get("think"))
    extra = {
        "num_ctx": want_int(options, "num_ctx", "options", low=0) or None,
        "keep_alive": _keep_alive(body.get("keep_alive")),
        "effort": effort,
    }
    stream = want_bool(body, "stream")
    return _Common(
        model=model,
        answer=_format(body.get("format"), limits),
        sampling=_sampling(options),
        max_tokens=max_tokens,
        think=think,
        stream=stream is None or stream,
        extra={key: value for key, value in extra.items() if value is not None},
    )


def _sampling(options: Mapping[str, Any]) -> Sampling:
    at = "options"
    return Sampling(
        temperature=want_number(options, "temperature", at, low=0),
        top_p=want_number(options, "top_p", at, low=0, high=1),
        top_k=want_int(options, "top_k", at),
        min_p=want_number(options, "min_p", at, low=0, high=1),
        presence_penalty=want_number(options, "presence_penalty", at),
        frequency_penalty=want_number(options, "frequency_penalty", at),
        repeat_penalty=want_number(options, "repeat_penalty", at, low=0.01, high=100),
        seed=want_int(options, "seed", at),
        stop=want_texts(options, "stop", at),
    )


def _format(value: Any, limits: Limits) -> Schema | None:
    if value is None or value == "":
        return None
    if value == "json":
        return ANY_OBJECT
    if not isinstance(value, Mapping):
        raise RequestError(
            f'format is {brief(value) if isinstance(value, str) else kind_of(value)}; give "json" or a JSON Schema.',
            param="format",
        )
    check_schema(value, limits, "format")
    return value


def _think(value: Any) -> tuple[bool | None, str | None]:
    if value is None or value == "":
        return None, None
    if isinstance(value, bool):
        return value, None
    if isinstance(value, str) and value in EFFORTS:
        return True, value
    raise RequestError(
        f"think is {brief(value) if isinstance(value, str) else kind_of(value)}; give true, false, or one of "
        f"{', '.join(EFFORTS)}.",
        param="think",
    )


def _keep_alive(value: Any) -> float | None:
    """Seconds; below nothing means always, as in Ollama."""
    seconds: float | None = None
    if value is None or value == "":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = math.inf
    elif isinstance(value, str) and len(value) <= 64 and (found := _DURATION.fullmatch(value.strip())):
        sign, text = found.groups()
        steps = _STEP.findall(text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in steps) if steps else float(text)
        seconds = -seconds if sign == "-" else seconds
    if seconds is None or math.isnan(seconds):
        raise RequestError(
            f"keep_alive is {brief(value) if isinstance(value, str) else kind_of(value)}; give seconds, or a duration "
            'like "5m".',
            param="keep_alive",
        )
    return math.inf if seconds < 0 else seconds


def _with_load(extra: dict[str, Any], *, empty: bool) -> dict[str, Any]:
    if not empty:
        return extra
    return {**extra, "load": True, **({"unload": True} if extra.get("keep_alive") == 0 else {})}


def _message(entry: Mapping[str, Any], at: str) -> Message:
    named = entry.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        what = "is missing" if named is None else f"is {brief(named)}"
        raise RequestError(f"{at}.role {what}; it is one of {', '.join(_ROLES)}.", param=f"{at}.role")
    if entry.get("images"):
        raise RequestError(
            f"{at}.images holds images; only text can be read here, so leave them out.",
            param=f"{at}.images",
            code="unsupported_content",
        )
    content = text_of(entry.get("content"), f"{at}.content")
    if role == "assistant":
        return Message(role, content, calls=_calls(entry.get("tool_calls")))
    if role == "tool":
        return Message(
            role,
            content,
            name=_text(entry.get("tool_name")) or _text(entry.get("name")),
            call_id=_text(entry.get("tool_call_id")),
        )
    return Message(role, content)


def _calls(entries: Any) -> tuple[Call, ...]:
    """The past calls of a message; what is no call at all is left out, so that one can't spoil a conversation."""
    if not isinstance(entries, list):
        return ()
    calls = []
    for entry in entries:
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if isinstance(function, Mapping):
            calls.append(history_call(function.get("name"), function.get("arguments"), entry.get("id")))
    return tuple(calls)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
