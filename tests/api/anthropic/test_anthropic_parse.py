"""Bodies of ``/v1/messages`` as people's clients send them, and what is refused by name."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given

from tacid.api.anthropic import parse_count, parse_messages
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import AUTO, Choice
from tacid.chat import Message
from tacid.errors import InputError, RequestError
from tacid.turn.request import MAX_CALLS
from tests.api.replies import JSON, bodies
from tests.case_files import FOLDER

TOOL = {
    "name": "weather",
    "description": "d",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages) or [{"role": "user", "content": "hi"}], **more}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def parse(*messages: Any, **more: Any) -> ChatRequest:
    return parse_messages(body(*messages, **more), Limits())


def refused(*messages: Any, **more: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse(*messages, **more)
    return caught.value


def test_the_plain_request() -> None:
    request = parse(
        temperature=0.5, top_p=0.9, top_k=40, stop_sequences=["END"], stream=True, metadata={"user_id": "u"}
    )
    assert (request.model, request.max_tokens, request.stream) == ("m", 9, True)
    assert request.messages == (Message("user", "hi"),)
    assert (request.sampling.temperature, request.sampling.top_p, request.sampling.top_k) == (0.5, 0.9, 40)
    assert request.sampling.stop == ("END",)
    assert (request.choice, request.max_calls, request.think) == (AUTO, 1, None)


@pytest.mark.parametrize(
    "system", ["Be brief.", [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]]
)
def test_the_system_prompt_comes_first(system: Any) -> None:
    assert parse(system=system).messages[0] == Message("system", "Be brief.")


def test_a_conversation_with_a_call() -> None:
    messages = parse(
        user({"type": "text", "text": "Rain in Oslo?"}),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
            ],
        },
        user(
            {"type": "text", "text": "And tomorrow?"},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "rain"}]},
        ),
    ).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1].content == "I look."
    assert messages[1].calls[0].arguments == {"city": "Oslo"}
    assert messages[2] == Message("tool", "rain", call_id="toolu_1")
    assert messages[3].content == "And tomorrow?"


@pytest.mark.parametrize(
    ("content", "told"), [("no such city", "Error: no such city"), (None, "Error."), ([], "Error.")]
)
def test_a_result_that_is_an_error_says_so(content: Any, told: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    assert parse(user(result)).messages == (Message("tool", told, call_id="t"),)


def test_a_message_of_thoughts_alone_is_no_message() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]}
    assert [m.role for m in parse(user(), thought, user({"type": "text", "text": "?"})).messages] == ["user", "user"]


@pytest.mark.parametrize(
    ("input", "arguments"), [({"a": 1}, {"a": 1}), ('{"a":1}', {"a": 1}), ('{"a":', {}), (None, {}), ([1], {}), (7, {})]
)
def test_a_broken_call_of_the_past_poisons_nothing(input: Any, arguments: Any) -> None:  # noqa: A002
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": None, "input": input}]}
    (one,) = parse(user(), use, user()).messages[1].calls
    assert one.arguments == arguments


def test_tools_keep_their_schema_and_their_order() -> None:
    catalogue = parse(tools=[TOOL, {"type": "custom", "name": "now", "input_schema": {"type": "object"}}]).tools
    assert [tool.name for tool in catalogue] == ["weather", "now"]
    assert catalogue["weather"].parameters == TOOL["input_schema"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "auto"}, AUTO),
        ({"type": "any"}, Choice("required")),
        ({"type": "none"}, Choice("none")),
        ({"type": "tool", "name": "weather"}, Choice("named", "weather")),
        (None, AUTO),
    ],
)
def test_tool_choice(choice: Any, expected: Choice) -> None:
    assert parse(tools=[TOOL], tool_choice=choice).choice == expected


@pytest.mark.parametrize(("disable", "calls"), [(False, MAX_CALLS), (True, 1), (None, 1)])
def test_several_calls_only_where_the_client_says_so_itself(disable: bool | None, calls: int) -> None:
    assert parse(tools=[TOOL], tool_choice={"type": "any", "disable_parallel_tool_use": disable}).max_calls == calls
    assert parse(tools=[TOOL]).max_calls == 1


@pytest.mark.parametrize(
    ("thinking", "think", "extra"),
    [
        ({"type": "enabled", "budget_tokens": 2048}, True, {"thinking_budget": 2048}),
        ({"type": "adaptive", "display": "omitted"}, None, {"hide_thinking": True}),
        ({"type": "disabled"}, False, {}),
        (None, None, {}),
    ],
)
def test_thinking(thinking: Any, think: bool | None, extra: dict[str, Any]) -> None:
    request = parse(thinking=thinking)
    assert (request.think, request.extra) == (think, extra)


@pytest.mark.parametrize(
    "more",
    [
        {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "array"}}}},
        {"output_format": {"type": "json_schema", "schema": {"type": "array"}}},
    ],
)
def test_a_schema_for_the_answer(more: dict[str, Any]) -> None:
    assert parse(**more).answer == {"type": "array"}


@pytest.mark.parametrize(
    ("content", "param"),
    [
        ([{"type": "text", "text": "see"}, IMAGE], "messages[0].content[1]"),
        ([{"type": "document", "source": {}}], "messages[0].content[0]"),
        ([{"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}], "messages[0].content[0].content[0]"),
        ([{"type": "tool_result", "tool_use_id": "t"}, IMAGE], "messages[0].content[1]"),
        (7, "messages[0].content"),
        (["a\ud800"], "messages[0].content[0]"),
    ],
)
def test_content_that_can_not_be_read_is_named_by_its_place(content: Any, param: str) -> None:
    error = refused({"role": "user", "content": content})
    assert error.param == param
    assert param in str(error)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 10**9}, "max_tokens"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [7]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]}, "messages[1]"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type"),
        ({"tools": [TOOL, TOOL]}, "tools"),
        ({"tools": {}}, "tools"),
        ({"tool_choice": {"type": "sometimes"}}, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "now"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"thinking": {"type": "hard"}}, "thinking.type"),
        ({"thinking": {"type": "enabled", "budget_tokens": -1}}, "thinking.budget_tokens"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        ({"output_format": {"type": "json_schema"}}, "output_format.schema"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop_sequences": [1]}, "stop_sequences[0]"),
        ({"mcp_servers": [{"type": "url"}]}, "mcp_servers"),
        ({"container": "c"}, "container"),
        ({"thread": {"type": "create"}}, "thread"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_what_can_not_be_honoured_is_refused_by_name(more: dict[str, Any], param: str) -> None:
    error = refused(**more)
    assert error.param == param
    assert param.partition("[")[0].partition(".")[0].removesuffix("s") in str(error).lower()


def test_limits_are_named() -> None:
    with pytest.raises(RequestError, match="messages holds 3 entries; the limit is 2"):
        parse_messages(body(*[{"role": "user", "content": "x"}] * 3), Limits(messages=2))
    deep: Any = {}
    for _ in range(9):
        deep = {"properties": {"a": deep}}
    with pytest.raises(RequestError, match=r"tools\[0\] nests"):
        parse_messages(body(tools=[{"name": "a", "input_schema": deep}]), Limits(nesting=8))


def test_a_count_needs_no_max_tokens() -> None:
    request = parse_count({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}, Limits())
    assert (len(request.tools), request.max_tokens) == (1, None)


def test_a_named_tool_of_the_corpus_is_that_tool() -> None:
    case = json.loads((FOLDER / "anthropic-tool-choice.json").read_text(encoding="utf-8"))
    request = parse_messages(case["input"]["request"]["body"], Limits())
    assert request.choice == Choice("named", "add")
    assert [tool.name for tool in request.tools] == ["weather", "add"]


SHAPE: dict[str, list[Any]] = {
    "max_tokens": [1, 9],
    "messages": [
        body()["messages"],
        [user({"type": "tool_result", "tool_use_id": "t", "content": "x"})],
        [user(), {"role": "assistant", "content": [{"type": "tool_use", "name": 1, "input": "{"}]}, user()],
        [user(7)],
    ],
    "system": ["s", [{"type": "text", "text": "s"}]],
    "tools": [[TOOL], [{"type": "bash_20250124", "name": "bash"}], [None], [{"name": "a", "input_schema": []}]],
    "tool_choice": [{"type": "any"}, {"type": {}}, {"type": "tool", "name": 1}],
    "thinking": [{"type": "enabled", "budget_tokens": 1.5}, {"type": []}],
    "output_config": [{"format": {"type": "json_schema", "schema": {}}}, {"format": 1}],
    "temperature": [0, 1e400],
    "top_k": [1, 10**400],
    "stop_sequences": ["x", ["a"]],
    "stream": [True],
    "model": ["m"],
}


@given(bodies(SHAPE))
def test_any_body_is_read_or_refused(given: dict[str, Any]) -> None:
    for parser in (parse_messages, parse_count):
        with contextlib.suppress(InputError):
            assert isinstance(parser(given, Limits()), ChatRequest)


@given(JSON)
def test_any_message_is_read_or_refused(content: Any) -> None:
    for role in ("user", "assistant"):
        for entry in (content, {"role": role, "content": content}, {"role": role, "content": [content]}):
            with contextlib.suppress(InputError):
                parse(entry, user())


USER = {"role": "user", "content": "x"}


def test_tools_that_are_searched_for_are_marked_and_the_search_is_no_tool() -> None:
    search = {"type": "tool_search_tool_regex_20251119", "name": "s"}
    chat = parse_messages(
        {"max_tokens": 9, "messages": [USER], "tools": [search, TOOL, {**TOOL, "name": "b", "defer_loading": True}]},
        Limits(),
    )
    assert [tool.deferred for tool in chat.tools] == [False, True]
    assert not chat.tools.left_out
    searched = [
        {"type": "server_tool_use", "id": "x", "name": "s", "input": {}},
        {"type": "tool_search_tool_result", "tool_use_id": "x", "content": {}},
        {"type": "text", "text": "Here."},
    ]
    messages = [USER, {"role": "assistant", "content": searched}, USER]
    assert parse_messages({"max_tokens": 9, "messages": messages}, Limits()).messages[1].content == "Here."
