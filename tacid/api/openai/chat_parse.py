"""A body of ``/v1/chat/completions`` as a `ChatRequest`. Source: OpenAI API reference, Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacid.api.messages import (
    brief,
    check_schema,
    history_call,
    kind_of,
    messages_of,
    text_of,
    want_object,
    want_str,
)
from tacid.api.openai.choice import offered
from tacid.api.openai.options import one_only, refuse, sampling_of, streaming_of, think_of, tokens_of
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import Schema
from tacid.chat import Call, Message, Role
from tacid.errors import RequestError

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

_REFUSED: Mapping[str, str] = {
    "logprobs": "probabilities of tokens aren't told; leave it out.",
    "top_logprobs": "probabilities of tokens aren't told; leave it out.",
    "audio": "replies are text; leave it out.",
    "web_search_options": "nothing is searched; offer a tool that does.",
}


def parse_chat(body: Mapping[str, Any], limits: Limits) -> ChatRequest:
    """The request of a parsed JSON body. Fields that nobody knows are ignored.

    Raises ``RequestError`` that names the field for what has a wrong type, is beyond a limit, or can't be honoured.
    """
    refuse(body, _REFUSED)
    _text_only(body.get("modalities"))
    one_only(body, "n")
    stream, include_usage = streaming_of(body)
    messages = _messages(body, limits)
    offer = offered(body, limits)
    answer = _answer(body, limits)
    grammar = want_str(body, "grammar") or None
    for key, given in (("grammar", grammar), ("json_schema", body.get("json_schema"))):
        if given is not None and len(offer.tools):
            raise RequestError(
                f"{key} can't be held beside tools, whose calls have a grammar of their own; "
                "leave one out, or use response_format.",
                param=key,
            )
    if grammar is not None and answer is not None:
        raise RequestError("grammar and a schema can't both hold the answer; leave one out.", param="grammar")
    return ChatRequest(
        model=want_str(body, "model"),
        messages=messages,
        tools=offer.tools,
        choice=offer.choice,
        max_calls=offer.max_calls,
        answer=answer,
        sampling=sampling_of(body),
        max_tokens=tokens_of(body, limits),
        think=think_of(body),
        stream=stream,
        include_usage=include_usage,
        grammar=grammar,
        legacy=offer.legacy,
        extra={} if offer.allowed is None else {"allowed_tools": offer.allowed},
    )


def _messages(body: Mapping[str, Any], limits: Limits) -> tuple[Message, ...]:
    entries = messages_of(body, limits)
    if not entries:
        raise RequestError("messages is empty; send at least one message.", param="messages")
    return tuple(_message(entry, f"messages[{index}]") for index, entry in enumerate(entries))


def _message(entry: Mapping[str, Any], at: str) -> Message:
    named = entry.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        what = "no role" if named is None else f"the role {brief(named)}"
        raise RequestError(f"{at} has {what}; give one of {', '.join(_ROLES)}.", param=f"{at}.role")
    content = text_of(entry.get("content"), f"{at}.content")
    if role == "assistant":
        return Message(role, content, calls=tuple(_calls(entry)))
    if role == "tool":
        name, call_id = entry.get("name"), entry.get("tool_call_id")
        return Message(
            role,
            content,
            name=name if isinstance(name, str) and name else None,
            call_id=call_id if isinstance(call_id, str) and call_id else None,
        )
    return Message(role, content)


def _calls(entry: Mapping[str, Any]) -> Iterator[Call]:
    """The calls of a past message, however they are broken."""
    listed = entry.get("tool_calls")
    for made in listed if isinstance(listed, list) else ():
        if isinstance(made, Mapping):
            # A custom tool's call has "input" where a function's has "arguments".
            inner = next((made[k] for k in ("function", "custom") if isinstance(made.get(k), Mapping)), made)
            yield history_call(inner.get("name"), inner.get("arguments", inner.get("input")), made.get("id"))
    older = entry.get("function_call")
    if isinstance(older, Mapping):
        yield history_call(older.get("name"), older.get("arguments"))


def _answer(body: Mapping[str, Any], limits: Limits) -> Schema | None:
    """The schema for the answer: of ``response_format``, or llama.cpp's ``json_schema``."""
    schema, param = _format(want_object(body, "response_format"))
    own = body.get("json_schema")
    if own is not None:
        if schema is not None:
            raise RequestError("json_schema stands beside response_format; leave one out.", param="json_schema")
        schema, param = _schema(own, "json_schema"), "json_schema"
    if schema is not None:
        check_schema(schema, limits, param)
    return schema


def _format(wanted: Mapping[str, Any] | None) -> tuple[Schema | None, str]:
    param = "response_format"
    if wanted is None:
        return None, param
    kind = wanted.get("type", "text")
    if kind == "text":
        return None, param
    if kind == "json_object":
        # With a schema beside it llama.cpp holds the object to that.
        schema = wanted.get("schema")
        return ({"type": "object"} if schema is None else _schema(schema, f"{param}.schema")), f"{param}.schema"
    if kind != "json_schema":
        raise RequestError(
            f'{param} has the type {brief(kind)}; give "text", "json_object" or "json_schema".', param=f"{param}.type"
        )
    inner = want_object(wanted, "json_schema", param)
    holder, at = (wanted, param) if inner is None else (inner, f"{param}.json_schema")
    if holder.get("schema") is None:
        at = f"{param}.json_schema"
        raise RequestError(f"{at} has no schema; the answer can't be held to it.", param=f"{at}.schema")
    return _schema(holder["schema"], f"{at}.schema"), f"{at}.schema"


def _schema(value: Any, param: str) -> Schema:
    if not isinstance(value, (Mapping, bool)):
        raise RequestError(f"{param} is {kind_of(value)}; give a JSON Schema.", param=param)
    return value


def _text_only(modalities: Any) -> None:
    if isinstance(modalities, list) and any(kind != "text" for kind in modalities):
        other = next(kind for kind in modalities if kind != "text")
        raise RequestError(
            f"modalities asks for {brief(other)}; replies are text, so leave it out.",
            param="modalities",
            code="unsupported_parameter",
        )


__all__ = ["parse_chat"]
