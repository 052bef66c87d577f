"""``anyOf``, ``oneOf``, ``allOf``, lists of types, what stands beside them, and schemas about nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts


def admits(schema: Any, *values: str) -> list[str]:
    rules = compile_schema(schema).rules
    return [value for value in values if accepts(rules, value)]


def widened(schema: Any) -> list[tuple[str, str]]:
    return [(widening.pointer, widening.keyword) for widening in compile_schema(schema).report.widenings]


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_one_of_the_branches(keyword: str) -> None:
    assert admits({keyword: [STRING, INTEGER, False]}, '"a"', "1", "null", "1.5") == ['"a"', "1"]


@pytest.mark.parametrize(
    "branches",
    [
        [STRING, INTEGER],
        [STRING, {"type": ["integer", "null"]}],
        [{"const": 1}, {"enum": [2, "x"]}],
        [closed(kind={"const": "a"}), closed(kind={"const": "b"})],
        [closed(a=STRING), closed(b=STRING)],
        [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
        [INTEGER, {"type": "number"}],
        [STRING, {"minLength": 1}],
        [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}],
        [True, STRING],
        [closed(kind={"const": i}) for i in range(100)],
    ],
)
def test_branches_that_can_be_told_apart_are_not_recorded(branches: list[Any]) -> None:
    schema = {"oneOf": branches, "$defs": {"A": closed(kind={"const": "a"}), "B": closed(kind={"const": "b"})}}
    assert widened(schema) == []


@pytest.mark.parametrize(
    "branches",
    [
        [{"type": "string", "format": "date"}, {"type": "string", "format": "time"}],
        [{"uniqueItems": True}, {"type": "array", "maxItems": 3}],
    ],
)
def test_branches_that_cannot_be_told_apart_are_recorded(branches: list[Any]) -> None:
    assert ("", "oneOf") in widened({"oneOf": branches})


def test_one_of_admits_what_fits_one_branch_and_no_other() -> None:
    schema = {"oneOf": [INTEGER, {"type": ["number", "string"]}]}
    assert admits(schema, "1", "-3", "3.5", "-0.25", '""', "null") == ["3.5", "-0.25", '""']
    strings = {"oneOf": [{"type": "string", "pattern": "a"}, {"type": "string", "maxLength": 2}]}
    assert admits(strings, '"a"', '"b"', '"aaa"', '"bbb"') == ['"b"', '"aaa"']
    same = {"oneOf": [STRING, STRING, INTEGER]}
    assert admits(same, '""', "1") == ["1"]


def test_what_stands_beside_a_union_holds_in_each_branch() -> None:
    schema = {
        "type": "object",
        "properties": {"a": STRING, "b": STRING, "c": INTEGER},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    given = ['{"a":""}', '{"b":""}', '{"a":"","b":"","c":1}', "{}", '{"c":1}', '{"a":1}']
    assert admits(schema, *given) == given[:3]
    assert widened(schema) == []


def test_a_type_beside_tagged_branches_costs_nothing() -> None:
    schema = {"type": "object", "oneOf": [closed(a=STRING), closed(b=INTEGER), STRING]}
    assert admits(schema, '{"a":""}', '{"b":1}', '{"a":"","b":1}', '""') == ['{"a":""}', '{"b":1}']


def test_two_unions_hold_together() -> None:
    schema = {"anyOf": [STRING, INTEGER], "oneOf": [{"type": "integer"}, {"type": "null"}]}
    assert admits(schema, "1", '""', "null") == ["1"]


def test_a_union_that_may_be_null() -> None:
    assert admits({"anyOf": [STRING], "nullable": True}, '""', "null", "1") == ['""', "null"]
    assert admits({"type": "string", "nullable": True}, '""', "null", "1") == ['""', "null"]


def test_parts_of_all_are_merged() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": STRING}, "required": ["b"]}],
        "properties": {"c": INTEGER},
        "$defs": {"A": {"type": "object", "properties": {"a": INTEGER, "c": {"minimum": 3}}}},
    }
    given = ['{"c":3,"a":1,"b":""}', '{"b":""}', '{"c":2,"b":""}', "{}", '{"b":"","z":1}']
    assert admits(schema, *given) == given[:2]
    assert widened(schema) == []


def test_parts_that_contradict_fit_nothing() -> None:
    with pytest.raises(GrammarError):
        compile_schema({"allOf": [STRING, INTEGER]})


def test_a_part_that_leads_nowhere_is_recorded_and_leaves_the_object_open() -> None:
    schema = {
        "type": "object",
        "properties": {"a": INTEGER},
        "allOf": [{"$ref": "#/$defs/Gone"}, {"required": ["a"]}],
    }
    assert widened(schema) == [("", "$ref")]
    assert admits(schema, '{"a":1}', '{"a":1,"z":2}', "{}", '{"a":""}') == ['{"a":1}', '{"a":1,"z":2}']


def test_all_of_that_holds_itself_ends() -> None:
    schema = {"type": "object", "allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}}
    assert admits(schema, '{"a":{}}') == ['{"a":{}}']


@pytest.mark.parametrize("keyword", ["$dynamicRef", "$ref"])
def test_what_is_not_held_admits_any_json_and_is_recorded(keyword: str) -> None:
    schema = {"type": "object", "properties": {"a": {keyword: "#x"}}}
    ((pointer, _),) = widened(schema)
    assert pointer == "/properties/a"
    assert admits(schema, '{"a":[{"x":null}]}') == ['{"a":[{"x":null}]}']


def test_a_condition_is_two_alternatives_each_with_what_it_declares() -> None:
    schema = {
        "type": "object",
        "properties": {"a": INTEGER},
        "if": {"required": ["a"]},
        "then": {"properties": {"b": STRING}},
        "else": {"required": ["c"]},
    }
    assert widened(schema) == []
    given = ['{"a":1,"b":""}', '{"a":""}', '{"a":1,"b":1}', "{}", '{"c":1}', '{"a":1}']
    assert admits(schema, *given) == ['{"a":1,"b":""}', '{"c":1}', '{"a":1}']


def test_conditions_on_a_tag_hold_together() -> None:
    kinds = {"a": INTEGER, "b": STRING, "c": {"type": "null"}}
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": [*kinds]}, "value": {}},
        "required": ["kind", "value"],
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"value": value}}}
            for kind, value in kinds.items()
        ],
    }
    assert widened(schema) == []
    given = [f'{{"kind":"{kind}","value":{value}}}' for kind in kinds for value in ("1", '""', "null")]
    assert admits(schema, *given) == [given[0], given[4], given[8]]


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"not": {"type": "string"}}, ["1", "1.5", "null", "true", "[]", "{}"]),
        ({"not": {"type": ["number", "object"]}}, ['"a"', "null", "true", "[]"]),
        ({"not": {"type": "integer"}}, ['"a"', "1.5", "null", "true", "[]", "{}"]),
        ({"not": {}}, []),
        ({"not": {"not": {"type": "string"}}}, ['"a"']),
        ({"not": {"enum": ["a", 1, None, True, []]}}, ["1.5", "{}"]),
        ({"type": ["string", "integer"], "not": {"const": "b"}}, ['"a"', "1"]),
        ({"not": {"anyOf": [{"type": ["string", "null"]}, {"type": "number"}]}}, ["true", "[]", "{}"]),
        ({"not": {"required": ["a"]}}, ["{}"]),
        ({"type": "object", "not": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}, ["{}"]),
        ({"type": ["number", "string"], "not": {"minimum": 1.5}}, ["1"]),
        ({"not": {"pattern": "a"}, "type": "string"}, []),
        ({"not": {"minItems": 1}}, ["[]"]),
    ],
)
def test_what_is_negated(schema: Any, fits: list[str]) -> None:
    given = ['"a"', "1", "1.5", "null", "true", "[]", "{}"]
    if not fits:
        with pytest.raises(GrammarError):
            compile_schema({"enum": ["a"], **schema})
        return
    assert admits(schema, *given) == fits
    assert widened(schema) == []


@pytest.mark.parametrize("schema", [True, {}, {"description": "any"}, {"title": "x", "default": 1, "x-order": 3}])
def test_a_schema_that_says_nothing_admits_any_json(schema: Any) -> None:
    given = ["1", '"x"', "null", "true", "[]", '{"a":[{}]}', "-1.5e3"]
    assert admits(schema, *given, "tru", "{a:1}", "[1,]") == given
    assert widened(schema) == []


def test_any_json_at_any_depth() -> None:
    assert accepts(compile_schema(True).rules, "[" * 300 + "]" * 300)


def test_nothing_fits_false() -> None:
    with pytest.raises(GrammarError, match="false"):
        compile_schema(False)


@pytest.mark.parametrize("kind", ["any", "str", 7, ["string", "any"], [["string"]]])
def test_types_that_nobody_knows_admit_any_json_and_are_recorded(kind: Any) -> None:
    assert widened({"type": kind}) == [("", "type")]
    assert admits({"type": kind}, "1", '{"a":[]}') == ["1", '{"a":[]}']


def test_keywords_without_a_type_concern_their_type_alone() -> None:
    given = ['"ab"', "1", "null", "[]", "{}", '"a"']
    assert admits({"minLength": 2}, *given) == given[:-1]
    assert admits({"required": ["a"]}, *given, '{"a":1}') == ['"ab"', "1", "null", "[]", '"a"', '{"a":1}']


@pytest.mark.parametrize("schema", [{"anyOf": []}, {"anyOf": {}}, {"allOf": {}}, {"oneOf": "x"}])
def test_malformed_unions_widen_and_are_recorded(schema: Any) -> None:
    assert [keyword for _, keyword in widened({"type": "string", **schema})] == list(schema)
    assert admits({"type": "string", **schema}, '""', "1") == ['""']


@pytest.mark.parametrize("inner", ["string", 5, None, ["x"]])
def test_what_is_no_schema_admits_any_json_and_is_recorded(inner: Any) -> None:
    schema = {"type": "object", "properties": {"a": inner}}
    assert widened(schema) == [("/properties/a", "")]
    assert admits(schema, '{"a":[1]}') == ['{"a":[1]}']
