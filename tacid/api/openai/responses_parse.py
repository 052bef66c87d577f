"""A body of ``/v1/responses`` as a `ChatRequest`. Source: OpenAI API reference, Responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacid.api.messages import (
    brief,
    check_count,
    check_schema,
    check_tokens,
    history_call,
    kind_of,
    text_of,
    want_bool,
    want_int,
    want_object,
    want_str,
)
from tacid.api.openai.choice import Offered, offered
from tacid.api.openai.options import refuse, sampling_of, think_of
from tacid.api.openai.responses_store import Shelf
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import Catalogue, Schema
from tacid.chat import Message, Role
from tacid.errors import RequestError

_REFUSED: Mapping[str, str] = {
    "background": "a reply is given while the client waits; leave it out.",
    "conversation": "conversations aren't kept; use previous_response_id, or send the conversation in input.",
    "prompt": "prompt templates aren't kept; send the text in instructions and input.",
    "top_logprobs": "probabilities of tokens aren't told; leave it out.",
}
_LOGPROBS = "message.output_text.logprobs"

_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

#: Metadata that a request may hold.
MAX_METADATA = 16


def parse_response(body: Mapping[str, Any], limits: Limits, shelf: Shelf) -> ChatRequest:
    """The request of a parsed JSON body. Fields that nobody knows are ignored.

    ``extra``: ``echo`` (the fields that a response repeats), ``conversation`` (its messages without the
    instructions, which hold for one response only), ``store``, and ``allowed_tools`` where the request has them.
    Raises ``RequestError`` that names the field for what has a wrong type, is beyond a limit, can't be honoured, or
    isn't on the shelf.
    """
    refuse(body, _REFUSED)
    include = body.get("include")
    if isinstance(include, list) and _LOGPROBS in include:
        raise RequestError(
            f"include asks for {_LOGPROBS}; probabilities of tokens aren't told, so leave it out.",
            param="include",
            code="unsupported_parameter",
        )
    instructions = text_of(body.get("instructions"), "instructions")
    conversation = (*_previous(body, shelf), *_input(body.get("input"), limits, shelf))
    if not conversation:
        raise RequestError("input is empty; send a text or a list of items.", param="input")
    check_count(len(conversation), limits.messages, "input (with the responses before it)")
    offer = _offered(body, limits)
    answer, form = _format(body, limits)
    most = want_int(body, "max_output_tokens", low=1)
    check_tokens(most, limits, "max_output_tokens")
    reasoning = _reasoning(body)
    sampling = sampling_of(body)
    extra: dict[str, Any] = {
        "conversation": conversation,
        "store": want_bool(body, "store") is not False,
        "echo": {
            "instructions": instructions or None,
            "metadata": _metadata(body),
            "max_output_tokens": most,
            "parallel_tool_calls": offer.max_calls > 1,
            "previous_response_id": body.get("previous_response_id"),
            "reasoning": reasoning,
            "temperature": sampling.temperature,
            "text": {"format": form},
            "tool_choice": _told_choice(offer),
            "tools": _told_tools(body.get("tools"), offer.tools),
            "top_p": sampling.top_p,
            # Nothing is left out of a conversation on the quiet.
            "truncation": "disabled",
            "user": want_str(body, "user"),
        },
    }
    if offer.allowed is not None:
        extra["allowed_tools"] = offer.allowed
    return ChatRequest(
        model=want_str(body, "model"),
        messages=(*([Message("system", instructions)] if instructions else []), *conversation),
        tools=offer.tools,
        choice=offer.choice,
        max_calls=offer.max_calls,
        answer=answer,
        sampling=sampling,
        max_tokens=most,
        think=think_of({**body, "reasoning_effort": reasoning["effort"]}),
        stream=want_bool(body, "stream") or False,
        include_usage=True,
        extra=extra,
    )


def _previous(body: Mapping[str, Any], shelf: Shelf) -> tuple[Message, ...]:
    identity = want_str(body, "previous_response_id")
    if identity is None:
        return ()
    kept = shelf.find(identity)
    if kept is None:
        raise RequestError(
            f"The response {brief(identity)} isn't kept here (any more); send the conversation in input.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    return kept.messages


def _input(value: Any, limits: Limits, shelf: Shelf) -> list[Message]:
    """The items as messages. Calls that stand side by side are one message's."""
    if value is None or isinstance(value, str):
        text = text_of(value, "input")
        return [Message("user", text)] if text else []
    if not isinstance(value, list):
        raise RequestError(f"input is {kind_of(value)}; give a text or a list of items.", param="input")
    check_count(len(value), limits.messages, "input")
    found: list[Message] = []
    for index, item in enumerate(value):
        message = _item(item, f"input[{index}]", shelf)
        if message is None:
            continue
        if message.calls and found and found[-1].calls:
            message = Message("assistant", calls=found.pop().calls + message.calls)
        found.append(message)
    return found


def _item(item: Any, at: str, shelf: Shelf) -> Message | None:
    """One item as a message, or none where it is a thought."""
    if not isinstance(item, Mapping):
        raise RequestError(f"{at} is {kind_of(item)}; an item is an object with a type.", param=at)
    kind = item.get("type")
    if kind is None:
        kind = "message" if "role" in item else "item_reference"
    if kind == "item_reference":
        item = _referred(item, at, shelf)
        kind = item["type"]
    if kind == "reasoning":
        return None
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise RequestError(
            f"{at} has the type {brief(kind)}; only messages, function calls and their outputs can be read here.",
            param=f"{at}.type",
            code="unsupported_item",
        )
    return read(item, at)


def _referred(item: Mapping[str, Any], at: str, shelf: Shelf) -> Mapping[str, Any]:
    identity = want_str(item, "id", at)
    found = shelf.item(identity) if identity else None
    if found is None:
        raise RequestError(
            f"{at} refers to the item {brief(identity or '')}, which isn't kept here (any more); send the item itself.",
            param=f"{at}.id",
            code="item_not_found",
        )
    return found


def _message(item: Mapping[str, Any], at: str) -> Message:
    named = item.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        raise RequestError(f"{at} has the role {brief(named)}; give one of {', '.join(_ROLES)}.", param=f"{at}.role")
    return Message(role, text_of(item.get("content"), f"{at}.content"))


def _call(item: Mapping[str, Any], at: str) -> Message:
    return Message("assistant", calls=(history_call(item.get("name"), item.get("arguments"), item.get("call_id")),))


def _output(item: Mapping[str, Any], at: str) -> Message:
    answers, name = item.get("call_id"), item.get("name")
    return Message(
        "tool",
        text_of(item.get("output"), f"{at}.output"),
        name=name if isinstance(name, str) and name else None,
        call_id=answers if isinstance(answers, str) and answers else None,
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Message]] = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _output,
}


def _offered(body: Mapping[str, Any], limits: Limits) -> Offered:
    return offered({key: body.get(key) for key in ("tools", "tool_choice", "parallel_tool_calls")}, limits)


def _told_choice(offer: Offered) -> Any:
    if offer.allowed is not None:
        tools = [{"type": "function", "name": name} for name in offer.allowed]
        return {"type": "allowed_tools", "mode": offer.choice.mode, "tools": tools}
    if offer.choice.mode == "named":
        return {"type": "function", "name": offer.choice.name}
    return offer.choice.mode


def _told_tools(entries: Any, tools: Catalogue) -> list[dict[str, Any]]:
    """The tools in Responses' own form, whatever form they came in."""
    inner = [entry.get("function", entry) for entry in entries or () if isinstance(entry, Mapping)]
    strict = {entry.get("name") for entry in inner if isinstance(entry, Mapping) and entry.get("strict") is True}
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description or None,
            "parameters": dict(tool.parameters),
            "strict": tool.name in strict,
        }
        for tool in tools
    ]


def _format(body: Mapping[str, Any], limits: Limits) -> tuple[Schema | None, dict[str, Any]]:
    """The schema for the answer, and the format as a response tells it."""
    param = "text.format"
    wanted = want_object(want_object(body, "text") or {}, "format", "text")
    kind = "text" if wanted is None else wanted.get("type", "text")
    if wanted is None or kind == "text":
        return None, {"type": "text"}
    if kind == "json_object":
        return {"type": "object"}, {"type": "json_object"}
    if kind != "json_schema":
        raise RequestError(
            f'{param} has the type {brief(kind)}; give "text", "json_object" or "json_schema".', param=f"{param}.type"
        )
    schema = wanted.get("schema")
    if not isinstance(schema, Mapping):
        raise RequestError(f"{param}.schema is {kind_of(schema)}; give a JSON Schema.", param=f"{param}.schema")
    check_schema(schema, limits, f"{param}.schema")
    told = {
        "type": "json_schema",
        "name": want_str(wanted, "name", param) or "answer",
        "description": want_str(wanted, "description", param),
        "schema": dict(schema),
        "strict": want_bool(wanted, "strict", param) or False,
    }
    return schema, told


def _reasoning(body: Mapping[str, Any]) -> dict[str, Any]:
    reasoning = want_object(body, "reasoning") or {}
    effort = want_str(reasoning, "effort", "reasoning")
    if effort is not None and effort not in _EFFORTS:
        raise RequestError(
            f"reasoning.effort is {brief(effort)}; give one of {', '.join(_EFFORTS)}.", param="reasoning.effort"
        )
    return {"effort": effort, "summary": None}


def _metadata(body: Mapping[str, Any]) -> dict[str, str]:
    metadata = want_object(body, "metadata") or {}
    check_count(len(metadata), MAX_METADATA, "metadata")
    return {key: want_str(metadata, key, "metadata") or "" for key in metadata}


__all__ = ["parse_response"]
