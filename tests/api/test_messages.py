"""What every wire reads alike: texts, past calls, tools, typed fields; each error names its field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.messages import (
    MAX_BROKEN,
    NAMELESS,
    check_schema,
    check_tokens,
    history_call,
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
from tacid.api.request import Limits
from tacid.catalogue import MAX_NAME
from tacid.chat import Call
from tacid.errors import RequestError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def refused(run: Callable[[], Any]) -> RequestError:
    with pytest.raises(RequestError) as caught:
        run()
    return caught.value


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ("a", "a"),
        ([], ""),
        (["a", {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}, {"text": "c"}], "a\nb\nc"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}], "b"),
    ],
)
def test_content_is_text_or_nothing_or_parts(content: Any, text: str) -> None:
    assert text_of(content, "messages[0].content") == text


@pytest.mark.parametrize("kind", ["image_url", "input_image", "image", "input_audio", "file", "document", "video", 7])
def test_what_is_no_text_is_refused_by_its_type_and_index(kind: Any) -> None:
    error = refused(lambda: text_of([{"type": "text", "text": "a"}, {"type": kind}], "messages[3].content"))
    assert str(kind) in str(error)
    assert error.param == "messages[3].content[1]"


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (3, "m"),
        ({"type": "text"}, "m"),
        ([{"type": "text"}], "m[0].text"),
        ([{"type": "text", "text": 3}], "m[0].text"),
        ([None], "m[0]"),
        ("a\ud83d", "m"),
        (["a", "\udc00"], "m[1]"),
    ],
)
def test_content_of_a_wrong_type_names_its_place(content: Any, param: str) -> None:
    assert refused(lambda: text_of(content, "m")).param == param


@pytest.mark.parametrize(
    ("arguments", "read", "text"),
    [
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ({"a": [1, None]}, {"a": [1, None]}, '{"a":[1,null]}'),
        ('"{\\"a\\":1}"', {"a": 1}, '{"a":1}'),
        (None, {}, ""),
        ("", {}, ""),
        ('{"a": ', {}, '{"a": '),
        ("[1]", {}, "[1]"),
        ("NaN", {}, "NaN"),
        ([1], {}, "[1]"),
        (7, {}, "7"),
    ],
)
def test_arguments_of_the_past_as_they_are_found(arguments: Any, read: dict[str, Any], text: str) -> None:
    assert history_call("f", arguments, "c1") == Call("f", read, text, "c1")


def test_broken_arguments_are_kept_only_in_part() -> None:
    assert history_call("f", '{"a": "' + "x" * 10**6).text == '{"a": "' + "x" * (MAX_BROKEN - 7)
    assert len(history_call("f", ["x" * 10**6]).text) == MAX_BROKEN
    assert history_call("f", "[" * 100_000).arguments == {}


@settings(deadline=None)
@given(JSON, JSON | st.text(), JSON)
def test_a_past_call_is_never_an_error(name: Any, arguments: Any, identity: Any) -> None:
    call = history_call(name, arguments, identity)
    assert 0 < len(call.name) <= MAX_NAME
    assert isinstance(call.arguments, dict)
    assert call.id != ""


def test_a_call_without_a_name_has_one() -> None:
    assert history_call(None, None).name == history_call("", {}).name == NAMELESS


def test_tools_are_read_in_every_form_and_named_where_they_can_not() -> None:
    tools = [{"type": "function", "function": {"name": "a"}}, {"name": "b", "input_schema": {"type": "object"}}]
    assert [tool.name for tool in tools_of(tools, Limits())] == ["a", "b"]
    assert len(tools_of(None, Limits())) == len(tools_of([], Limits())) == 0
    assert refused(lambda: tools_of("x", Limits())).param == "tools"
    assert refused(lambda: tools_of([tools[0], tools[0]], Limits())).param == "tools"
    assert refused(lambda: tools_of([*tools, {"name": ""}], Limits(strict=True))).param == "tools[2]"
    error = refused(lambda: tools_of([{"type": "web_search"}], Limits()))
    assert (error.param, "web_search" in str(error)) == ("tools[0].type", True)


def test_an_entry_that_is_no_tool_harms_only_itself() -> None:
    odd = [{"type": "web_search"}, {"name": ""}, "x", None, {"name": "bad", "parameters": {"type": "array"}}]
    found = tools_of([*odd, {"name": "good"}, *odd], Limits())
    assert [tool.name for tool in found] == ["good"]
    assert len(found.left_out) == 2 * len(odd)
    named = {tool.tool: tool.reason for tool in found.left_out}
    assert "array" in named["bad"]
    assert "web_search" in named["tools[0]"]
    for entry in odd:
        with pytest.raises(RequestError):
            tools_of([entry], Limits())
        with pytest.raises(RequestError):
            tools_of([{"name": "good"}, entry], Limits(strict=True))


def test_each_limit_is_named() -> None:
    small = Limits(messages=1, tools=1, schema_bytes=100, nesting=4, tokens=10)
    many = [{"name": "a"}, {"name": "b"}]
    assert "limit is 1." in str(refused(lambda: tools_of(many, small)))
    assert "limit is 1." in str(refused(lambda: messages_of({"messages": [{}, {}]}, small)))
    wide = {"type": "object", "properties": {"a": {"description": "ä" * 30}}}
    assert "limit is 100" in str(refused(lambda: check_schema(wide, small, "x")))
    deep = {"a": {"a": {"a": {"a": {}}}}}
    assert "4 levels" in str(refused(lambda: check_schema(deep, small, "x")))
    error = refused(lambda: tools_of([{"name": "a", "parameters": wide}], small))
    assert error.param == "tools[0]"
    assert "limit is 10 tokens" in str(refused(lambda: check_tokens(11, small, "max_tokens")))
    check_tokens(10, small, "max_tokens")
    check_schema({"a": {"a": {"a": {}}}}, small, "x")


@pytest.mark.parametrize("body", [{}, {"messages": None}, {"messages": "x"}, {"messages": {}}])
def test_messages_are_a_list(body: dict[str, Any]) -> None:
    assert refused(lambda: messages_of(body, Limits())).param == "messages"


def test_a_message_is_an_object() -> None:
    assert refused(lambda: messages_of({"messages": [{}, "x"]}, Limits())).param == "messages[1]"


@pytest.mark.parametrize(
    ("want", "good", "bad"),
    [
        (want_str, ["", "a"], [1, True, [], {}, "\ud800"]),
        (want_bool, [True, False], [0, 1, "true", []]),
        (want_int, [0, -5, 3.0, 10**30], [1.5, True, "1", [], float("inf")]),
        (want_number, [0, 1.5, -3], [True, "1", [], float("nan"), float("inf"), 10**400]),
        (want_object, [{}, {"a": 1}], [[], "x", 1, True]),
        (want_texts, ["a", ["a", "b"], []], [1, {}, [1], ["a"] * 17, ["\ud800"]]),
    ],
)
def test_a_field_has_its_type_or_is_an_error_that_names_it(want: Any, good: list[Any], bad: list[Any]) -> None:
    for absent in ({}, {"x": None}):
        assert not want(absent, "x")
    for value in good:
        found = want({"x": value}, "x")
        assert found == value or want is want_texts
    for value in bad:
        assert (refused(lambda value=value: want({"x": value}, "x", "at[1]")).param or "").startswith("at[1].x")


def test_ranges_include_their_ends() -> None:
    assert want_number({"x": 2}, "x", low=0, high=2) == 2
    assert want_int({"x": 0}, "x", low=0, high=2) == 0
    assert "the most is 2" in str(refused(lambda: want_number({"x": 2.01}, "x", low=0, high=2)))
    assert "the least is 1" in str(refused(lambda: want_int({"x": 0}, "x", low=1)))
    assert str(refused(lambda: want_int({"x": 10**4000}, "x", high=2))).startswith("x is a number of about")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b"]), JSON))
def test_getters_raise_nothing_else(body: dict[str, Any]) -> None:
    for want in (want_str, want_bool, want_int, want_number, want_object, want_texts):
        try:
            json.dumps(want(body, "a"))
        except RequestError as error:
            assert (error.param or "").startswith("a")
