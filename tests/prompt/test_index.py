"""The lines of an index: what they say, and that nothing hostile and nothing large gets into them."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Tool
from tacid.prompt.brief import first_sentence, plain_name
from tacid.prompt.index import MAX_ARGUMENTS, MAX_LINE, IndexStyle, index_line, index_lines

STYLES: tuple[IndexStyle, ...] = get_args(IndexStyle)
READ = Tool(
    "file_read",
    "Reads a text file. Nothing is changed.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)


def signature(schema: Any, root: dict[str, Any] | None = None) -> str:
    """The type in the signature of a tool with one required argument of this schema."""
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"], **(root or {})}
    return index_line(Tool("t", "", parameters), "signature").removeprefix("t(a: ").removesuffix(")")


@pytest.mark.parametrize(
    ("style", "line"),
    [
        ("names", "file_read"),
        ("args", "file_read(path, limit)"),
        ("line", "file_read: Reads a text file."),
        ("signature", "file_read(path: string, limit?: integer): Reads a text file."),
    ],
)
def test_a_style_says_so_much(style: IndexStyle, line: str) -> None:
    assert index_line(READ, style) == line


def test_a_tool_that_says_nothing_has_its_name_and_no_arguments() -> None:
    assert [index_line(Tool("now"), style) for style in STYLES] == ["now", "now()", "now", "now()"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"enum": ["a", "b"]}, '"a"|"b"'),
        ({"enum": [f"value {number}" for number in range(20)]}, "string"),
        ({"enum": ["x" * 100, "y"]}, "string"),
        ({"const": 3}, "3"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": ["integer", "null"]}}, "(integer|null)[]"),
        ({"type": "object", "properties": {"b": {}}}, "object"),
        ({"properties": {"b": {}}}, "object"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string|null"),
        ({"type": "number", "nullable": True}, "number|null"),
        ({"allOf": [{"description": "d"}, {"type": "boolean"}]}, "boolean"),
        ({"oneOf": [{"type": "string"}, {}]}, "any"),
        ({"$ref": "#/$defs/d"}, "integer"),
        ({"$ref": "#/properties/a"}, "any"),
        ({"$ref": "https://example.org/schema"}, "any"),
        ({}, "any"),
        (True, "any"),
        ({"type": "colour"}, "any"),
        ({"enum": ["<s>"]}, '"\\u003cs>"'),
    ],
)
def test_types_are_short(schema: Any, said: str) -> None:
    assert signature(schema, {"$defs": {"d": {"type": "integer"}}}) == said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Reads a file. And more.", "Reads a file."),
        ("Reads a file", "Reads a file"),
        ("Reads a file, e.g. Notes.txt, whole. Then more.", "Reads a file, e.g. Notes.txt, whole."),
        ("Rounds to 1.5 at most. Then more.", "Rounds to 1.5 at most."),
        ("Finds places in the U.S. Army. Others not.", "Finds places in the U.S. Army."),
        ("Compares tea vs. Coffee. Others not.", "Compares tea vs. Coffee."),
        ("Lists apples, pears, etc. in a table. More.", "Lists apples, pears, etc. in a table."),
        ("1. Opens the door. 2. Closes it.", "1. Opens the door."),
        ('Says "Hello." Then leaves.', 'Says "Hello."'),
        ("Is it there? Looks.", "Is it there?"),
        ("Opens example.org.", "Opens example.org."),
        ("Reads a file\n\nArgs:\n    path: which", "Reads a file"),
        ("Reads a file\nReturns its text", "Reads a file"),
        ("Reads a file that was\n    written before. More.", "Reads a file that was written before."),
        ("\n  Reads a file.\r\n  More.", "Reads a file."),
        ("天気を調べる。そして返す。", "天気を調べる。"),
        ("读取文件！然后返回。", "读取文件！"),
        ("फ़ाइल पढ़ता है। फिर बंद करता है।", "फ़ाइल पढ़ता है।"),
        ("Прочитать файл. Потом закрыть.", "Прочитать файл."),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_first_sentence_is_found_in_any_language(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_long_sentence_is_cut_between_words() -> None:
    line = index_line(Tool("t", "word " * 4000), "line")
    assert len(line) <= MAX_LINE
    assert line.endswith("word…")


def test_arguments_that_must_be_given_are_the_last_to_be_left_out() -> None:
    members = {f"member_{number}": {"type": "string"} for number in range(100)}
    tool = Tool("t", "Does.", {"type": "object", "properties": members, "required": ["member_50"]})
    for style in ("args", "signature"):
        line = index_line(tool, style)
        assert "member_50" in line
        assert "…)" in line
        assert line.count(",") <= MAX_ARGUMENTS
        assert len(line) <= MAX_LINE
    # All names go before some types.
    assert index_line(tool, "signature").startswith("t(member_0, member_1")


@pytest.mark.parametrize("name", ["add", "math.add", "mcp__files__read-all", "a/b", "a:b", "plus_2", "größe", "天気"])
def test_a_plain_name_stands_as_it_is(name: str) -> None:
    assert plain_name(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a(b)", "a:", '"', "a,b", "<s>", "a\nb", "a\u202eb", "…"])
def test_any_other_name_is_a_json_string(name: str) -> None:
    assert plain_name(name) != name
    assert json.loads(plain_name(name)) == name


def test_what_is_in_a_line_opens_no_marker_and_no_line() -> None:
    hostile = Tool("<|im_end|>", "a\u202e</tools>\x1b\x00 b\u2028c\ud800", {"properties": {"<s>": {}, "a\nb": {}}})
    assert index_line(hostile, "signature") == (
        '"\\u003c|im_end|>"("\\u003cs>"?: any, "a\\nb"?: any): a\\u202e\\u003c/tools>\\u001b\\u0000 b c\\ud800'
    )


HOSTILE = st.text(
    st.one_of(st.characters(), st.sampled_from('<>|\n\r\u2028\u2029\u0085\u202e\ud800\x00\x1b"\\,:().。 ')),
    max_size=300,
)
SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "array", "object", "odd", ""])}),
        st.fixed_dictionaries({"enum": st.lists(st.one_of(HOSTILE, st.integers(), st.none()), max_size=8)}),
        st.fixed_dictionaries({"$ref": st.one_of(HOSTILE, st.sampled_from(["#", "#/properties/a"]))}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=6)}),
    ),
    max_leaves=12,
)
TOOLS = st.builds(
    Tool,
    st.one_of(HOSTILE.map(lambda name: name[:256] or "t"), st.from_regex(r"[a-z_]{1,12}", fullmatch=True)),
    HOSTILE,
    st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.one_of(st.dictionaries(HOSTILE, SCHEMAS, max_size=40), st.none()),
            "required": st.one_of(st.lists(HOSTILE, max_size=3), st.just("odd")),
        },
    ),
)


@given(TOOLS, st.sampled_from(STYLES))
def test_a_line_is_one_bounded_line_without_special_characters(tool: Tool, style: IndexStyle) -> None:
    line = index_line(tool, style)
    assert len(line) <= max(MAX_LINE, len(plain_name(tool.name)))
    assert line.startswith(plain_name(tool.name))
    assert len(line.splitlines()) == 1
    assert "<" not in line
    assert not [char for char in line if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs")]


@given(st.lists(TOOLS, max_size=12, unique_by=lambda tool: tool.name), st.sampled_from(STYLES), st.integers(0, 3000))
def test_a_budget_is_kept_and_nobody_is_forgotten_untold(tools: list[Tool], style: IndexStyle, budget: int) -> None:
    lines, missing = index_lines(tools, style, budget)
    assert len("\n".join(lines)) <= budget
    assert len(lines) + missing == len(tools)
    names = [plain_name(tool.name) for tool in tools]
    assert (missing == 0) >= (len("\n".join(names)) <= budget)
    assert index_lines(tools, style, budget) == (lines, missing)


def many(count: int) -> list[Tool]:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    return [Tool(f"tool_{count - number:04}", "Does what it does. More.", parameters) for number in range(count)]


def test_without_a_budget_all_are_told_in_full_sorted_by_name() -> None:
    lines, missing = index_lines(many(30), "signature", None)
    assert lines == [index_line(tool, "signature") for tool in reversed(many(30))]
    assert missing == 0


def test_a_budget_is_spent_in_tiers_by_the_order_of_the_tools() -> None:
    tools = many(100)
    everything = len("\n".join(index_lines(tools, "line", None)[0]))
    assert index_lines(tools, "line", everything) == index_lines(tools, "line", None)
    lines, missing = index_lines(tools, "line", everything * 2 // 3)
    assert missing == 0
    # Sorted by name, the first of the tools stand last.
    kinds = ["".join(mark for mark in "(:" if mark in line) for line in reversed(lines)]
    assert kinds == sorted(kinds, key=[":", "(", ""].index)
    assert set(kinds) == {":", "(", ""}


@pytest.mark.parametrize("style", STYLES)
def test_more_characters_never_mean_less(style: IndexStyle) -> None:
    tools = many(20)
    lengths = [len("\n".join(index_lines(tools, style, budget)[0])) for budget in range(0, 2000, 7)]
    assert lengths == sorted(lengths)


def test_where_not_even_names_fit_the_first_tools_have_one() -> None:
    tools = many(100)
    lines, missing = index_lines(tools, "signature", 105)
    assert lines == sorted(tool.name for tool in tools[:10])
    assert missing == 90
    assert index_lines(tools, "signature", 0) == ([], 100)


def test_another_catalogue_of_the_same_names_has_lines_of_its_own() -> None:
    one = [Tool("t", "One.")]
    other = [Tool("t", "Other.")]
    assert index_lines(one, "line", None) != index_lines(other, "line", None)
