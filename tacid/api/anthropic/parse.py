"""Bodies of ``/v1/messages`` and ``/v1/messages/count_tokens`` as requests. Source: Anthropic API reference, Messages.

Where the protocol lets several tools be called at once unless told otherwise, small models are held to one call; a
request that says ``"disable_parallel_tool_use": false`` itself gets several.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    unoffered,
    want_bool,
    want_int,
    want_number,
    want_object,
    want_str,
    want_texts,
)
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import AUTO, Catalogue, Choice, Schema
from tacid.chat import Call, Message, Sampling
from tacid.errors import RequestError
from tacid.turn.request import MAX_CALLS

#: Stop texts that a request may have.
MAX_STOPS = 64

_MODES: Mapping[str, Choice] = {"auto": AUTO, "any": Choice("required"), "none": Choice("none")}
#: What to think; one that may think does as the model is by itself.
_THINKING: Mapping[str, bool | None] = {"enabled": True, "adaptive": None, "between_tools": None, "disabled": False}
#: Fields that ask for what isn't here; ignored, the reply would be another than was asked for.
_REFUSED = ("container", "mcp_servers")
#: A part that holds no text, in the place of one that is read elsewhere: the others keep their index.
_ELSEWHERE = {"type": "thinking"}
#: What a search for tools on Anthropic's servers left in the conversation; ours leaves nothing.
_SEARCHED = ("server_tool_use", "tool_search_tool_result")


def parse_messages(body: Mapping[str, Any], limits: Limits) -> ChatRequest:
    """The request of a body of ``/v1/messages``.

    ``extra`` has ``thinking_budget`` (tokens) where the client gave one, and ``hide_thinking`` where it wants no
    thoughts shown. Raises ``RequestError`` that names the field.
    """
    most = want_int(body, "max_tokens", low=1)
    if most is None:
        raise RequestError("max_tokens is missing; say how many tokens the reply may have.", param="max_tokens")
    return _request(body, limits, most)


def parse_count(body: Mapping[str, Any], limits: Limits) -> ChatRequest:
    """The request whose prompt a body of ``/v1/messages/count_tokens`` asks about. Raises ``RequestError``."""
    return _request(body, limits, None)


def _request(body: Mapping[str, Any], limits: Limits, most: int | None) -> ChatRequest:
    for name in _REFUSED:
        if body.get(name):
            raise RequestError(f"{name} can't be honoured here; leave it out.", param=name, code="unsupported")
    if body.get("thread"):
        # By this code the client's own loop over tools knows that it must send the whole conversation.
        raise RequestError(
            "thread can't be honoured: no conversation is kept here; leave it out and send all messages.",
            param="thread",
            code="thread_unsupported_request",
        )
    messages = _messages(body, limits)
    tools = _tools(body.get("tools"), limits)
    choice, calls = _choice(body, tools, limits.own)
    answer = _answer(body, limits)
    think, extra = _thinking(body)
    check_tokens(most, limits, "max_tokens")
    return ChatRequest(
        model=want_str(body, "model"),
        messages=messages,
        tools=tools,
        choice=choice,
        max_calls=calls,
        answer=answer,
        sampling=Sampling(
            temperature=want_number(body, "temperature", low=0, high=2),
            top_p=want_number(body, "top_p", low=0, high=1),
            top_k=want_int(body, "top_k", low=0, high=2**31 - 1),
            stop=want_texts(body, "stop_sequences", most=MAX_STOPS),
        ),
        max_tokens=most,
        think=think,
        stream=bool(want_bool(body, "stream")),
        include_usage=True,
        extra=extra,
    )


def _messages(body: Mapping[str, Any], limits: Limits) -> tuple[Message, ...]:
    entries = messages_of(body, limits)
    found: list[Message] = []
    if system := text_of(body.get("system"), "system"):
        found.append(Message("system", system))
    for index, entry in enumerate(entries):
        at = f"messages[{index}]"
        role = entry.get("role")
        if role == "user":
            found += _user(entry.get("content"), f"{at}.content")
        elif role == "assistant":
            found += _assistant(entry.get("content"), f"{at}.content")
        elif role == "system":
            found.append(Message("system", text_of(entry.get("content"), f"{at}.content")))
        else:
            raise RequestError(f"{at}.role is {brief(role)}; it may be user, assistant or system.", param=f"{at}.role")
    if not entries:
        raise RequestError("messages is empty; send at least one message.", param="messages")
    if entries[-1].get("role") == "assistant":
        raise RequestError(
            "The last message is the assistant's; a reply can't be continued from given words here, so end with a "
            "user's message.",
            param=f"messages[{len(entries) - 1}]",
            code="unsupported",
        )
    return tuple(found)


def _user(content: Any, param: str) -> list[Message]:
    """Results first, as the calls that they answer stand right before; then the user's own words."""
    results, rest = _split(content, "tool_result")
    found = [_result(block, f"{param}[{index}]") for index, block in results]
    text = text_of(rest, param)
    if text or not results:
        found.append(Message("user", text))
    return found


def _assistant(content: Any, param: str) -> list[Message]:
    """One message, or none where nothing but thoughts was in it."""
    uses, rest = _split(content, "tool_use")
    for kind in _SEARCHED:
        rest = _split(rest, kind)[1]
    calls = tuple(_call(block) for _, block in uses)
    text = text_of(rest, param)
    return [Message("assistant", text, calls=calls)] if text or calls else []


def _split(content: Any, kind: str) -> tuple[list[tuple[int, Mapping[str, Any]]], Any]:
    """The blocks of one type with their index, and the content without them."""
    if not isinstance(content, list):
        return [], content
    picked = [
        (index, block)
        for index, block in enumerate(content)
        if isinstance(block, Mapping) and block.get("type") == kind
    ]
    indices = {index for index, _ in picked}
    return picked, [_ELSEWHERE if index in indices else block for index, block in enumerate(content)]


def _call(block: Mapping[str, Any]) -> Call:
    return history_call(block.get("name"), block.get("input"), block.get("id"))


def _result(block: Mapping[str, Any], param: str) -> Message:
    answers = block.get("tool_use_id")
    text = text_of(block.get("content"), f"{param}.content")
    if want_bool(block, "is_error", param):
        text = f"Error: {text}" if text else "Error."
    return Message("tool", text, call_id=answers if isinstance(answers, str) and answers else None)


def _tools(entries: Any, limits: Limits) -> Catalogue:
    """The client's own tools. Those of Anthropic's servers are left out, but for the search, which we have too."""
    if isinstance(entries, list):
        entries = [entry for entry in entries if not _searches(entry)]
    return tools_of(entries, limits, read=_tool)


def _searches(entry: Any) -> bool:
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    return isinstance(kind, str) and kind.startswith("tool_search_tool_")


def _tool(entry: Any, param: str) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    kind = entry.get("type")
    if kind not in (None, "custom"):
        raise RequestError(
            f"{param} has the type {brief(kind)}, which only Anthropic's own servers have; give a tool with an "
            "input_schema.",
            param=f"{param}.type",
            code="unsupported_tool",
        )
    return {key: entry[key] for key in ("name", "description", "input_schema", "defer_loading") if key in entry}


def _choice(body: Mapping[str, Any], tools: Catalogue, own: frozenset[str]) -> tuple[Choice, int]:
    choice = want_object(body, "tool_choice")
    if choice is None:
        return AUTO, 1
    calls = MAX_CALLS if want_bool(choice, "disable_parallel_tool_use", "tool_choice") is False else 1
    kind = want_str(choice, "type", "tool_choice") or ""
    if kind == "tool":
        name = want_str(choice, "name", "tool_choice")
        if not name:
            raise RequestError("tool_choice.name is missing; name the tool.", param="tool_choice.name")
        if name not in tools and name not in own:
            raise unoffered("tool_choice.name", name, tools)
        return Choice("named", name), calls
    if kind == "any" and not tools and not own:
        raise RequestError("tool_choice requires a call, but no tool is offered; offer one.", param="tool_choice")
    if kind not in _MODES:
        raise RequestError(
            f"tool_choice.type is {brief(kind)}; it may be auto, any, tool or none.", param="tool_choice.type"
        )
    return _MODES[kind], calls


def _answer(body: Mapping[str, Any], limits: Limits) -> Schema | None:
    """The schema that an answer is held to: ``output_config.format``, or its older place ``output_format``."""
    param = "output_config.format"
    form = want_object(want_object(body, "output_config") or {}, "format", "output_config")
    if form is None:
        param = "output_format"
        form = want_object(body, param)
    if form is None:
        return None
    if form.get("type") != "json_schema":
        raise RequestError(f"{param}.type is {brief(form.get('type'))}; it may be json_schema.", param=f"{param}.type")
    schema = form.get("schema")
    if not isinstance(schema, Mapping):
        raise RequestError(f"{param}.schema is {kind_of(schema)}; give a JSON Schema.", param=f"{param}.schema")
    check_schema(schema, limits, f"{param}.schema")
    return schema


def _thinking(body: Mapping[str, Any]) -> tuple[bool | None, dict[str, Any]]:
    thinking = want_object(body, "thinking")
    if thinking is None:
        return None, {}
    kind = want_str(thinking, "type", "thinking") or ""
    if kind not in _THINKING:
        raise RequestError(
            f"thinking.type is {brief(kind)}; it may be enabled, adaptive or disabled.", param="thinking.type"
        )
    extra: dict[str, Any] = {}
    if (budget := want_int(thinking, "budget_tokens", "thinking", low=0)) is not None:
        extra["thinking_budget"] = budget
    if want_str(thinking, "display", "thinking") == "omitted":
        extra["hide_thinking"] = True
    return _THINKING[kind], extra
