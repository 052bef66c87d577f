"""``$ref``: rules of their own, recursion that ends, references that lead nowhere or in a circle."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.catalogue import Tool
from tacid.errors import GrammarError
from tacid.grammar import compile_catalogue, compile_schema
from tacid.grammar.walk import accepts


def admits(schema: Any, *values: str) -> list[str]:
    rules = compile_schema(schema).rules
    return [value for value in values if accepts(rules, value)]


def widened(schema: Any) -> list[tuple[str, str]]:
    return [(widening.pointer, widening.keyword) for widening in compile_schema(schema).report.widenings]


NIX = {
    "$ref": "#/$defs/NixValue",
    "$defs": {
        "NixValue": {
            "anyOf": [
                {"type": ["null", "boolean", "integer", "string"]},
                {"type": "array", "items": {"$ref": "#/$defs/NixValue"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/NixValue"}},
            ]
        }
    },
}


def test_a_type_that_holds_itself_is_a_rule_that_refers_to_itself() -> None:
    given = ["null", "[]", '[[1,{"a":["x"]}]]', '{"a":{"b":{}}}', "1.5", '{"a":1.5}']
    assert admits(NIX, *given) == given[:-2]
    assert widened(NIX) == []


def test_lists_of_the_same_kind_of_list() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"]}
    given = ['{"v":1}', '{"v":1,"next":{"v":2,"next":{"v":3}}}', '{"v":1,"next":{}}']
    assert admits(schema, *given) == given[:2]


def test_two_types_that_hold_each_other() -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {"type": "array", "items": {"$ref": "#/$defs/B"}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        },
    }
    assert admits(schema, "[]", '[{"a":[{}]}]', "[[]]") == ["[]", '[{"a":[{}]}]']


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_a_union_that_begins_with_itself_is_what_is_left_of_it(word: str) -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {word: [{"$ref": "#/$defs/B"}, {"type": "string"}]},
            "B": {word: [{"$ref": "#/$defs/A"}, {"type": "integer"}]},
        },
    }
    assert admits(schema, '""', "1", "null") == ['""', "1"]


def test_members_that_would_never_end_are_dropped() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "endless": {"$ref": "#/$defs/Endless"}},
        "$defs": {"Endless": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Endless"}}, "required": ["x"]}},
    }
    assert admits(schema, "{}", '{"a":1}', '{"endless":{}}') == ["{}", '{"a":1}']


def test_a_value_that_must_hold_itself_without_end_fits_nothing() -> None:
    with pytest.raises(GrammarError, match="without end"):
        compile_schema({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]})


@pytest.mark.parametrize(
    "ref", ["#/$defs/Gone", "other.json", "https://schemas.invalid/x", "#gone", "#/required/0", 7, None]
)
def test_a_reference_that_leads_nowhere_admits_any_json_and_is_recorded(ref: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": ref}}, "required": ["a"]}
    assert widened(schema) == [("/properties/a", "$ref")]
    assert admits(schema, '{"a":1}', '{"a":[{}]}', "{}") == ['{"a":1}', '{"a":[{}]}']


def test_references_that_lead_only_to_each_other_admit_any_json_inside() -> None:
    defs = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": defs}
    assert widened(schema) == [("/properties/a", "$ref")]
    assert admits(schema, '{"a":[1]}') == ['{"a":[1]}']
    with pytest.raises(GrammarError, match="only to each other"):
        compile_schema({"$ref": "#/$defs/A", "$defs": defs})


@pytest.mark.parametrize("more", [[], [{}], [{"required": ["a"]}]])
def test_arguments_stay_an_object_where_references_go_round_too_deep(more: list[Any]) -> None:
    parameters = {"type": "object", "anyOf": [{"allOf": [{"$ref": "#"}]}, *more]}
    rules = compile_catalogue([Tool("a", "", parameters)]).rules
    assert accepts(rules, '{"tool":"a","arguments":{"a":1}}')
    for other in ("1", '""', "[]", "null"):
        assert not accepts(rules, f'{{"tool":"a","arguments":{other}}}')


def test_what_stands_beside_a_reference_is_merged_into_its_target() -> None:
    schema = {
        "type": "array",
        "items": {"$ref": "#/$defs/A", "required": ["b"], "description": "x"},
        "$defs": {"A": {"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}}},
    }
    assert admits(schema, '[{"b":1}]', '[{"a":1}]', '[{"b":""}]') == ['[{"b":1}]']
    assert widened(schema) == []


def test_in_old_drafts_nothing_beside_a_reference_counts() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/A", "minLength": 3}
    assert admits({**schema, "definitions": {"A": {"type": "string"}}}, '"a"') == ['"a"']


def test_what_cannot_be_merged_beside_a_reference_is_recorded() -> None:
    defs = {"A": {"type": "string", "format": "date", "maxLength": 10}}
    schema = {"$ref": "#/$defs/A", "format": "time", "$defs": defs}
    assert ("", "format") in widened(schema)
    # One of the two is held, with the length.
    kept = admits(schema, '"2020-02-02"', '"10:20:30Z"', '"10:20:30.123Z"', '"12020-02-02"')
    assert kept in (['"2020-02-02"'], ['"10:20:30Z"'])


def test_a_target_is_one_rule_however_often_it_is_used() -> None:
    target = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(30)}}

    def size(users: int) -> int:
        properties = {f"u{index}": {"$ref": "#/$defs/T"} for index in range(users)}
        return len(compile_schema({"type": "object", "properties": properties, "$defs": {"T": target}}).text)

    assert size(20) - size(10) < 1500


def test_a_recursive_schema_with_something_beside_its_reference_ends() -> None:
    schema = {
        "type": "object",
        "properties": {"child": {"$ref": "#", "required": ["v"]}, "v": {"type": "integer"}},
    }
    assert admits(schema, "{}", '{"child":{"v":1}}', '{"child":{}}', '{"child":{"child":{"v":1},"v":2}}') == [
        "{}",
        '{"child":{"v":1}}',
        '{"child":{"child":{"v":1},"v":2}}',
    ]
