"""Objects: members in declared order, required and optional, undeclared ones."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tests.grammar.draw import draw

INT = {"type": "integer"}


def admits(schema: Any, *values: str, open_objects: bool = False) -> list[str]:
    rules = compile_schema(schema, open_objects=open_objects).rules
    return [value for value in values if accepts(rules, value)]


@pytest.mark.parametrize("required", [c for size in range(5) for c in combinations("abcd", size)])
def test_any_combination_that_holds_the_required_in_declared_order(required: tuple[str, ...]) -> None:
    rules = compile_schema(
        {"type": "object", "properties": dict.fromkeys("abcd", INT), "required": list(required)}
    ).rules
    for size in range(5):
        for keys in combinations("abcd", size):
            text = json.dumps(dict.fromkeys(keys, 1), separators=(",", ":"))
            assert accepts(rules, text) == (set(required) <= set(keys)), text
    assert not accepts(rules, '{"b":1,"a":1,"c":1,"d":1}')
    assert not accepts(rules, '{"a":1,"a":1,"b":1,"c":1,"d":1}')


def test_size_is_linear_in_optional_members() -> None:
    def size(count: int) -> int:
        return len(compile_schema({"type": "object", "properties": {f"p{i:03}": INT for i in range(count)}}).text)

    assert size(200) < 2.2 * size(100)


def test_required_but_undeclared_comes_after_the_declared_with_any_value() -> None:
    schema = {"type": "object", "properties": {"a": INT}, "required": ["ghost"]}
    given = ['{"ghost":null}', '{"a":1,"ghost":[{}]}', "{}", '{"a":1}', '{"ghost":1,"x":2}']
    assert admits(schema, *given) == given[:2]
    assert not compile_schema(schema).report.widenings


def test_required_but_undeclared_has_the_schema_of_additional_members() -> None:
    schema = {"type": "object", "required": ["a"], "additionalProperties": INT}
    assert admits(schema, '{"a":1}', '{"a":1,"b":2}', '{"a":"x"}', '{"b":1}') == ['{"a":1}', '{"a":1,"b":2}']


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": False}, False),
        (
            {"type": "object", "properties": {"a": {}}, "patternProperties": {"^z": {}}, "additionalProperties": False},
            True,
        ),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": {}}, True),
        ({"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"z": {}}, "required": ["z"]}}}, False),
        ({"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"b": {}}}}, True),
    ],
)
def test_what_is_silent_about_undeclared_members_is_closed_if_it_declares_any(schema: Any, is_open: bool) -> None:
    assert bool(admits(schema, '{"z":1}')) == is_open


def test_open_objects_are_open_where_the_schema_is_silent() -> None:
    schema = {"type": "object", "properties": {"a": INT}}
    assert admits(schema, '{"a":1,"z":null}', '{"a":"x"}', open_objects=True) == ['{"a":1,"z":null}']
    closed = {**schema, "additionalProperties": False}
    assert admits(closed, '{"a":1,"z":null}', open_objects=True) == []


NAMES = ("a", "ab", "abc", "b", "é", '"', "\n", "<x", "\\", "", "\u202e")


@pytest.mark.parametrize(
    "key", ["a", "b", "é", '"', "\n", "<x", "", "z", "abcd", "ac", "<", "\\\\", "\t", "\x01", "日", "éa", "\U0001f4c1"]
)
def test_undeclared_keys_are_any_but_the_declared(key: str) -> None:
    schema = {"type": "object", "properties": dict.fromkeys(NAMES, INT), "additionalProperties": {"const": "other"}}
    rules = compile_schema(schema).rules
    text = "{" + json.dumps(key, ensure_ascii=False) + ':"other"}'
    assert accepts(rules, text) == (key not in NAMES)
    spelled = "".join(f"\\u{ord(char):04x}" for char in key)
    if key in NAMES:
        assert not accepts(rules, '{"' + spelled + '":"other"}')


def test_no_undeclared_key_drawn_spells_a_declared_one() -> None:
    schema = {"type": "object", "properties": dict.fromkeys(NAMES, INT), "additionalProperties": {"const": "other"}}
    rules = compile_schema(schema).rules
    for seed in range(200):
        pairs = json.loads(draw(rules, seed), object_pairs_hook=list)
        assert all((key in NAMES) == (value != "other") for key, value in pairs)


def test_too_many_names_to_tell_apart_are_recorded() -> None:
    names = [f"{index:04}" + "x" * 20 for index in range(400)]
    schema = {
        "type": "object",
        "properties": dict.fromkeys(names, INT),
        "required": names,
        "additionalProperties": True,
    }
    (widening,) = compile_schema(schema).report.widenings
    assert (widening.pointer, widening.keyword) == ("", "additionalProperties")


def test_an_optional_member_that_nothing_fits_cannot_be_given() -> None:
    schema = {"type": "object", "properties": {"a": INT, "no": False, "empty": {"enum": []}, "z": INT}}
    given = ["{}", '{"a":1,"z":1}', '{"no":1}', '{"a":1,"empty":1}']
    assert admits(schema, *given) == given[:2]
    assert not compile_schema(schema).report.widenings


def test_members_can_be_lists_of_types_at_once() -> None:
    schema = {"type": ["object", "null"], "properties": {"a": {"type": ["string", "integer"]}}, "required": ["a"]}
    assert admits(schema, "null", '{"a":1}', '{"a":"x"}', '{"a":null}', "{}") == ["null", '{"a":1}', '{"a":"x"}']


def split(schema: Any, *values: str) -> tuple[list[str], list[str]]:
    """What an open object admits and what not; nothing of it may be recorded as wider."""
    grammar = compile_schema({"type": "object", **schema}, open_objects=True)
    assert not grammar.report.widenings
    admitted = [value for value in values if accepts(grammar.rules, value)]
    return admitted, [value for value in values if value not in admitted]


@pytest.mark.parametrize(
    ("schema", "admitted", "refused"),
    [
        ({"minProperties": 1}, ['{"a":1}', '{"a":1,"b":2}'], ["{}"]),
        ({"maxProperties": 1}, ['{"a":1}', "{}"], ['{"a":1,"b":2}']),
        ({"properties": {"a": {}, "b": {}}, "minProperties": 2, "maxProperties": 3, "required": ["b"]},
         ['{"a":1,"b":2}', '{"b":1,"z":2}', '{"a":1,"b":1,"y":1}'], ['{"b":1}', '{"a":1,"z":1}', '{"a":1,"b":1,"y":1,"z":1}']),
        ({"properties": {"a": {}, "b": {}}, "maxProperties": 1, "additionalProperties": False}, ["{}", '{"b":1}'], ['{"a":1,"b":2}']),
        ({"required": ["x", "y"], "minProperties": 3}, ['{"z":1,"y":1,"x":2}', '{"x":1,"a":1,"y":2}'], ['{"x":1,"y":1}', '{"x":1,"a":1,"b":1}']),
        ({"propertyNames": {"maxLength": 3}}, ['{"abc":1}', '{"é":1}'], ['{"abcd":1}']),
        ({"propertyNames": {"pattern": "^x"}, "properties": {"a": {}}}, ['{"x1":1}', "{}"], ['{"a":1}', '{"b":1}']),
        ({"propertyNames": {"enum": ["a", "b", "c"]}}, ['{"a":1}', '{"c":1,"a":2}'], ['{"d":1}', '{"a":1,"a":2}']),
        ({"propertyNames": {"not": {"enum": ["a", "b"]}}}, ['{"c":1}', '{"ab":1}'], ['{"a":1}']),
        ({"propertyNames": False}, ["{}"], ['{"a":1}']),
        ({"patternProperties": {"^x": INT}}, ['{"x":1}', '{"xy":2,"a":"b"}'], ['{"x":"a"}', '{"a":1,"xx":null}']),
        ({"patternProperties": {"^x": INT, "y$": {"minimum": 3}}, "additionalProperties": False},
         ['{"x":1,"y":3,"xy":4}', '{"y":"a"}'], ['{"xy":1}', '{"xy":"a"}', '{"a":1}']),
        ({"patternProperties": {"^x": INT}, "properties": {"x1": {"minimum": 2}}}, ['{"x1":2}', '{"x2":1}'], ['{"x1":1}', '{"x1":2.5}']),
        ({"patternProperties": {"^(a|b)$": INT}, "additionalProperties": False}, ['{"b":1,"a":2}'], ['{"c":1}', '{"a":1,"a":1}']),
        ({"dependentRequired": {"a": ["b"]}, "properties": {"a": {}, "b": {}}}, ["{}", '{"b":1}', '{"a":1,"b":1}'], ['{"a":1}']),
        ({"dependentRequired": {"a": ["b"], "b": ["c"]}}, ['{"c":1}', '{"a":1,"c":1,"b":1}'], ['{"a":1,"b":1}', '{"b":1}']),
        ({"dependencies": {"a": ["b"], "c": {"minProperties": 3}}}, ['{"c":1,"x":1,"y":1}', '{"a":1,"b":1}'], ['{"c":1}', '{"a":1}']),
        ({"dependentSchemas": {"a": {"properties": {"b": INT}}}}, ['{"b":"x"}', '{"b":1,"a":1}'], ['{"b":"x","a":1}']),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}, ['{"a":1}', '{"b":1}', '{"a":1,"b":1}'], ["{}", '{"z":1}']),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}, ['{"a":1}', '{"b":1}'], ["{}", '{"a":1,"b":1}']),
        ({"not": {"required": ["a", "b"]}}, ['{"a":1}', '{"b":1,"c":1}'], ['{"a":1,"b":1}', '{"b":1,"c":1,"a":1}']),
        ({"oneOf": [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}, "additionalProperties": False}]},
         ['{"a":1}', '{"b":1}'], ["{}", '{"a":1,"b":1}', '{"c":1}']),
        ({"properties": {"a": INT}, "allOf": [{"properties": {"b": INT}}], "unevaluatedProperties": False}, ['{"a":1,"b":2}'], ['{"c":1}']),
        ({"anyOf": [{"properties": {"a": INT}}, {"properties": {"b": INT}, "required": ["b"]}], "unevaluatedProperties": False},
         ['{"a":1,"b":2}', '{"b":1}', "{}"], ['{"c":1}', '{"a":"x","b":2}']),
    ],
)  # fmt: skip
def test_which_members_there_may_be(schema: Any, admitted: list[str], refused: list[str]) -> None:
    assert split(schema, *admitted, *refused) == (admitted, refused)


def test_undeclared_names_that_something_demands_are_admitted_in_a_closed_object() -> None:
    schema = {"type": "object", "properties": {"a": INT}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
    given = ['{"x":1}', '{"a":1,"y":[]}', '{"a":1}', '{"z":1}']
    assert admits(schema, *given) == given[:2]


def test_unions_of_required_members_cost_no_copies() -> None:
    properties = {f"p{index}": INT for index in range(40)}
    plain = compile_schema({"type": "object", "properties": properties})
    branches = [{"required": [key]} for key in [*properties][:8]]
    held = compile_schema({"type": "object", "properties": properties, "anyOf": branches})
    assert len(held.text) < 2 * len(plain.text)


def test_bounds_that_make_too_many_states_are_recorded() -> None:
    properties = {f"p{index}": INT for index in range(300)}
    schema = {"type": "object", "properties": properties, "minProperties": 100, "maxProperties": 200}
    ((keyword, _),) = {
        (w.keyword, w.pointer) for w in compile_schema(schema).report.widenings if w.keyword != "maxProperties"
    }
    assert keyword == "minProperties"


@pytest.mark.parametrize("keyword", ["propertyNames", "patternProperties"])
def test_names_by_a_pattern_that_is_no_automaton_are_recorded(keyword: str) -> None:
    pattern = r"^(a+)\1$"
    value = {"pattern": pattern} if keyword == "propertyNames" else {pattern: INT}
    (widening,) = compile_schema({"type": "object", keyword: value}).report.widenings
    assert (widening.pointer, widening.keyword) == ("", keyword)


@pytest.mark.parametrize("schema", [{"properties": [1]}, {"required": "a"}, {"required": [1]}])
def test_malformed_keywords_widen_and_are_recorded(schema: dict[str, Any]) -> None:
    grammar = compile_schema({"type": "object", **schema})
    assert [widening.keyword for widening in grammar.report.widenings] == list(schema)
    assert accepts(grammar.rules, '{"z":1}')
