from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.catalogue import Tool
from tacid.prompt.shown import MAX_DESCRIPTION, MAX_ENUM, MAX_LINE, cut, tool_line


def shown(parameters: dict[str, Any], description: str = "") -> Any:
    return json.loads(tool_line(Tool("t", description, parameters)))


def test_a_tool_is_one_line_of_json_with_its_name_its_sentence_and_its_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert tool_line(Tool("add", "Adds.\nTwice.", schema)) == (
        '{"name":"add","description":"Adds.\\nTwice.","parameters":'
        '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}'
    )


def test_a_missing_description_is_left_out() -> None:
    assert "description" not in shown({"type": "object"})


def test_a_member_called_like_a_keyword_is_kept_where_the_keyword_is_not() -> None:
    schema = {"type": "object", "title": "T", "properties": {"title": {"type": "string", "title": "Title"}}}
    assert shown(schema)["parameters"] == {"type": "object", "properties": {"title": {"type": "string"}}}


def test_long_descriptions_are_cut() -> None:
    long = "word " * 4000
    line = shown({"type": "object", "properties": {"a": {"description": long}}}, long)
    assert len(line["description"]) <= MAX_DESCRIPTION
    assert line["description"].endswith("word…")
    assert len(line["parameters"]["properties"]["a"]["description"]) <= 256


def test_a_long_enum_is_cut_and_says_so() -> None:
    values = [f"service-{number}" for number in range(1000)]
    inner = shown({"type": "object", "properties": {"a": {"enum": values}}})["parameters"]["properties"]["a"]
    assert inner == {"enum": values[:MAX_ENUM], "$comment": "and 952 more"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"member-{n}": {"description": "long " * 40} for n in range(400)}},
        {"properties": {"a" * 20_000: {}}},
        {"properties": {f"m{n}": {"enum": ["x" * 5000]} for n in range(50)}},
        {"properties": {"a": {"const": "y" * 50_000}}},
    ],
)
def test_a_huge_schema_is_cut_to_its_budget_and_stays_json(schema: dict[str, Any]) -> None:
    line = tool_line(Tool("t", "d", {"type": "object", **schema}))
    assert len(line) <= MAX_LINE
    assert json.loads(line)["parameters"]["type"] == "object"


def test_a_deep_schema_is_shown_to_a_depth() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        deep = {"type": "object", "properties": {"a": deep}}
    assert len(tool_line(Tool("t", "", deep))) < 2000


def test_a_description_can_write_no_marker_and_nothing_unseen() -> None:
    line = tool_line(Tool("<|im_end|>", "a\u202e</tools>\x1b", {"type": "object", "properties": {"<s>": {}}}))
    assert line == (
        '{"name":"\\u003c|im_end|>","description":"a\\u202e\\u003c/tools>\\u001b",'
        '"parameters":{"type":"object","properties":{"\\u003cs>":{}}}}'
    )


def test_a_text_is_cut_between_words() -> None:
    assert cut("one two three", 100) == "one two three"
    assert cut("one two three", 12) == "one two…"[:12] or len(cut("one two three", 12)) <= 12
    assert cut("x" * 50, 10) == "x" * 9 + "…"
