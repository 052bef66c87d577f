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
        (
            {"type": "object", "properties": {"a": {}}, "if": {"required": ["a"]}, "then": {"properties": {"z": {}}}},
            True,
        ),
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


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("minProperties", 1), ("maxProperties", 1), ("propertyNames", {"maxLength": 3}), ("patternProperties", {"^x": INT}),
     ("dependentRequired", {"a": ["b"]}), ("dependentSchemas", {"a": {}}), ("dependencies", {"a": ["b"]})],
)  # fmt: skip
def test_what_is_not_held_is_recorded(keyword: str, value: Any) -> None:
    (widening,) = compile_schema({"type": "object", keyword: value}).report.widenings
    assert (widening.tool, widening.pointer, widening.keyword) == (None, "", keyword)


@pytest.mark.parametrize("schema", [{"properties": [1]}, {"required": "a"}, {"required": [1]}])
def test_malformed_keywords_widen_and_are_recorded(schema: dict[str, Any]) -> None:
    grammar = compile_schema({"type": "object", **schema})
    assert [widening.keyword for widening in grammar.report.widenings] == list(schema)
    assert accepts(grammar.rules, '{"z":1}')
