from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.chat import Call, Say, Truncated
from tacid.reply.lenient import read_message, read_remote, read_text

NAMES = ("weather", "light")
OSLO = {"city": "Oslo"}


def tool_call(name: Any, arguments: Any, identity: Any = "c1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("arguments", ['{"city": "Oslo"}', OSLO])
def test_typed_calls_come_first(arguments: Any) -> None:
    message = {"content": '{"tool":"light","arguments":{}}', "tool_calls": [tool_call("weather", arguments)]}
    for read in (read_message(message, NAMES), read_remote(message)):
        assert isinstance(read, Call)
        assert (read.name, read.arguments, read.id) == ("weather", OSLO, "c1")
        assert json.loads(read.text) == OSLO


def test_the_older_function_call_is_read() -> None:
    message = {"content": None, "function_call": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    assert read_message(message, NAMES) == Call("weather", OSLO, '{"city":"Oslo"}')


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    read = read_message({"tool_calls": [tool_call("light", arguments, None)]}, NAMES)
    assert read == Call("light", {}, "{}")


def test_the_first_typed_call_of_the_catalogue_counts() -> None:
    message = {"tool_calls": [None, {}, tool_call(7, {}), tool_call("rm", {}), tool_call("light", {}, "c2")]}
    assert read_message(message, NAMES) == Call("light", {}, "{}", "c2")


@pytest.mark.parametrize("arguments", ['{"city":"Os', "[1]", "[]", 7, [OSLO]])
def test_a_typed_call_with_broken_arguments_is_never_half_a_call(arguments: Any) -> None:
    message = {"content": "Looking.", "tool_calls": [tool_call("weather", arguments)]}
    for read in (read_message(message, NAMES), read_remote(message)):
        assert isinstance(read, Truncated)
        assert read.name == "weather"


@pytest.mark.parametrize(
    "content",
    [
        '{"tool":"weather","arguments":{"city":"Oslo"}}',
        '{"arguments": {"city": "Oslo"}, "tool": "weather"}',
        '```json\n{"name": "weather", "arguments": {"city": "Oslo"}}\n```',
        'Sure! {"name": "weather", "parameters": {"city": "Oslo"}} There.',
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        '{"tool_call": {"name": "weather", "arguments": {"city": "Oslo"}}}',
        '{"tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}]}',
        '{"function": "weather", "args": {"city": "Oslo"}}',
        '{"function_call": {"name": "weather", "arguments": {"city": "Oslo"}}}',
        '{"action": "weather", "action_input": {"city": "Oslo"}}',
        '[{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "light", "arguments": {}}]',
        'I {think} so: {"a": 1} {"tool": "weather", "arguments": {"city": "Oslo"}}',
        '<think>Use {"tool":"light","arguments":{}}?</think>\n{"tool":"weather","arguments":{"city":"Oslo"}}',
        '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}}]',
    ],
)
def test_a_call_in_the_content_is_heard_of_a_local_engine_and_text_of_a_remote(content: str) -> None:
    read = read_message({"content": content}, NAMES)
    assert isinstance(read, Call)
    assert (read.name, read.arguments) == ("weather", OSLO)
    assert read_remote({"content": content}) == Say(content)


@pytest.mark.parametrize(
    "content",
    [
        "It rains.",
        '{"tool":"rm","arguments":{}}',
        '{"name":"weather"}',
        '{"name":"weather","arguments":[1]}',
        '{"name":"weather","arguments":"Oslo"}',
        '{"city":"Oslo"}',
        '{"tool":"weather","arguments":{"city":"Os',
        '{"a":{"tool":"weather","arguments":{}}}',
        '{"name":["weather"],"arguments":{}}',
        "weather",
        "",
    ],
)
def test_what_is_no_call_of_the_catalogue_is_said(content: str) -> None:
    assert read_message({"content": content}, NAMES) == Say(content)


def test_an_answer_in_an_envelope_is_unwrapped() -> None:
    assert read_text('```json\n{"say": "It rains."}\n```', NAMES) == Say("It rains.")
    assert read_text('{"say": "\\ud800"}', NAMES) == Say("\ufffd")


def test_a_thought_is_neither_call_nor_answer() -> None:
    assert read_text('<think>{"tool":"light","arguments":{}}</think>It rains.', NAMES) == Say("It rains.")
    assert read_text('<think>{"tool":"light","arguments":{}}', NAMES) == Say("")


def test_a_bare_tool_is_a_call_without_arguments() -> None:
    assert read_text('{"tool":"light"}', NAMES) == Call("light", {}, "{}")


@pytest.mark.parametrize("content", [None, [], 7, {}, [{"type": "image_url"}, None, {"type": "text", "text": None}]])
def test_content_of_any_kind_is_tolerated(content: Any) -> None:
    assert read_message({"content": content}, NAMES) == Say("")
    assert read_message({}, NAMES) == Say("")
    assert read_remote({"content": content, "tool_calls": content}) == Say("")


def test_content_in_parts_is_joined() -> None:
    assert read_remote({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}) == Say("ab")


@pytest.mark.parametrize(
    "unit", ["{", "[{", '{"a":', "[" * 50, '{"name":"weather","arguments":', "<think>", '{"a":1} ', "[ "]
)
def test_hostile_content_is_bounded(unit: str) -> None:
    content = unit * (400_000 // len(unit))
    assert isinstance(
        read_message({"content": content, "tool_calls": [tool_call("weather", content)]}, NAMES), Truncated
    )
    assert isinstance(read_text(content, NAMES), Say)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["weather", "{}", "\ud800"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "tool_calls", "function_call", "function", "name", "arguments", "id", "tool", "say", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["content", "tool_calls", "function_call"]), _JSON))
def test_no_message_makes_it_fail(message: dict[str, Any]) -> None:
    for read in (read_message(message, NAMES), read_remote(message)):
        assert isinstance(read, (Say, Call, Truncated))
        if isinstance(read, Say):
            read.text.encode("utf-8")
        if isinstance(read, Call):
            assert isinstance(read.arguments, dict)
    assert not isinstance(read_message(message, ()), Call)
