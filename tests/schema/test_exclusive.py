"""Which branches exclude each other plainly, and which only may."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.schema.exclusive import disjoint, exclusive

TEXT, WHOLE, THING = {"type": "string"}, {"type": "integer"}, {"type": "object"}


def tagged(value: Any, **further: Any) -> dict[str, Any]:
    return {"type": "object", "required": ["kind"], "properties": {"kind": value}, **further}


APART: list[tuple[Any, Any]] = [
    (TEXT, WHOLE),
    (TEXT, {"type": ["null", "array"]}),
    ({"const": 1}, {"const": "a"}),
    ({"const": 1}, {"const": 2}),
    ({"const": 1}, TEXT),
    ({"enum": ["a", None]}, {"type": ["number", "boolean"]}),
    ({"enum": [1, 2]}, {"enum": [3]}),
    ({"enum": [1, 2]}, {"const": 3}),
    ({"enum": [1, "a"], "const": 1}, TEXT),
    (tagged({"const": "a"}), tagged({"const": "b"})),
    (tagged({"enum": ["a", "b"]}), tagged({"const": "c"})),
    ({**THING, "required": ["a"]}, {**THING, "properties": {"a": False}}),
    ({**THING, "required": ["a"]}, {**THING, "properties": {"b": {}}, "additionalProperties": False}),
    ({**THING, "required": ["b", "a"]}, {**THING, "additionalProperties": False, "patternProperties": {}}),
    ({"type": "number", "minimum": 3}, {"type": "integer", "maximum": 2}),
    ({"type": "number", "minimum": 3}, {"type": "number", "exclusiveMaximum": 3}),
    ({"type": "number", "exclusiveMinimum": 3}, {"type": "number", "maximum": 3}),
    ({"type": "number", "exclusiveMinimum": 3}, {"type": "number", "exclusiveMaximum": 3}),
    ({"type": "number", "exclusiveMinimum": 4}, {"type": "number", "exclusiveMaximum": 3}),
    ({"type": "string", "minLength": 3}, {"type": "string", "maxLength": 2}),
    ({"type": "array", "minItems": 3}, {"type": "array", "maxItems": 2}),
    ({"type": "object", "minProperties": 3}, {"type": "object", "maxProperties": 2}),
]
TOGETHER: list[tuple[Any, Any]] = [
    (TEXT, {"minLength": 1}),
    (WHOLE, {"type": "number"}),
    (WHOLE, {"const": 1.5}),
    ({"type": ["string", "null"]}, {"type": ["null", "number"]}),
    ({"const": 1}, {"const": 1.0}),
    ({"const": 1}, WHOLE),
    ({"enum": [1, 2]}, {"enum": [2, 3]}),
    ({"enum": "x"}, TEXT),
    ({"type": "string", "minLength": 2}, {"type": "string", "maxLength": 2}),
    ({"type": "number", "minimum": 3}, {"type": "number", "maximum": 3}),
    ({"type": "number", "exclusiveMinimum": 3}, {"type": "number", "exclusiveMaximum": 4}),
    ({"type": "number", "minimum": "3"}, {"type": "number", "maximum": 2}),
    ({"type": "number", "minimum": 3}, {"type": "number", "maximum": "2"}),
    ({"type": ["number", "string"], "minimum": 3}, {"type": ["number", "string"], "maximum": 2}),
    ({"type": "string", "minimum": 3}, {"type": "string", "maximum": 2}),
    ({"type": "boolean", "minimum": 3}, {"type": "boolean", "maximum": 2}),
    ({"required": ["a"]}, {"properties": {"a": False}}),
    ({**THING, "required": ["a"]}, {**THING, "properties": {"a": True}}),
    ({**THING, "required": ["a"]}, {**THING, "properties": {"a": True}, "additionalProperties": False}),
    ({**THING, "required": ["a"]}, {**THING, "patternProperties": {"^a": {}}, "additionalProperties": False}),
    ({**THING, "required": ["a"]}, {**THING, "additionalProperties": {}}),
    ({**THING, "required": "a"}, {**THING, "additionalProperties": False}),
    ({**THING, "required": [1]}, {**THING, "additionalProperties": False}),
    (tagged({"const": "a"}), tagged({"enum": ["a", "b"]})),
    (tagged({"const": "a"}), {**tagged({"const": "b"}), "required": []}),
    ({**tagged({"const": "a"}), "required": ["other"]}, tagged({"const": "b"})),
    (tagged({"const": "a"}), tagged(TEXT)),
    (tagged(TEXT), tagged({"const": "a"})),
    (tagged(True), tagged({"const": "a"})),
    (tagged({"const": "a"}), {**tagged({}), "properties": 1}),
    ({**tagged({}), "properties": 1}, tagged({"const": "a"})),
    (tagged({"const": "a"}), {"type": "object", "required": ["kind"]}),
    ({**tagged({"const": "a"}), "type": ["object", "null"]}, {**tagged({"const": "b"}), "type": ["object", "null"]}),
]


@pytest.mark.parametrize(("one", "other"), APART, ids=str)
def test_what_no_instance_fits_twice(one: Any, other: Any) -> None:
    assert disjoint(one, other)
    assert disjoint(other, one)
    assert exclusive([one, other])
    assert exclusive([one, False, other])
    assert not exclusive([one, other, {"title": "anything"}])


@pytest.mark.parametrize(("one", "other"), TOGETHER, ids=str)
def test_what_an_instance_may_fit_twice(one: Any, other: Any) -> None:
    assert not disjoint(one, other)
    assert not disjoint(other, one)
    assert not exclusive([one, other])
    assert not exclusive([{"type": "null", "const": None}, one, {"type": "array"}, other])


def test_what_anything_fits_excludes_what_stands_beside() -> None:
    assert exclusive([True])
    assert not exclusive([True, TEXT])
    assert not exclusive([TEXT, True])
    assert exclusive([])
    assert exclusive([TEXT])
    assert exclusive([False, False])


def test_very_many_branches_are_told_apart_by_one_tag_or_not_at_all() -> None:
    many = [tagged({"const": index}) for index in range(70)]
    assert exclusive(many)
    assert exclusive([{**branch, "required": ["other", "kind"]} for branch in many])
    assert exclusive([*many[:60], *(tagged({"enum": [index, -index]}) for index in range(60, 70))])
    for odd in (
        tagged({"const": 3}),
        tagged({"enum": [3, 99]}),
        tagged(TEXT),
        tagged(True),
        {**tagged({}), "properties": 1},
        {**tagged({"const": 99}), "required": []},
        {**tagged({"const": 99}), "required": "kind"},
        {**tagged({"const": 99}), "type": ["object", "null"]},
        TEXT,
    ):
        assert not exclusive([*many, odd])
        assert not exclusive([odd, *many])
    # Up to 64, any two are looked at.
    small = [{"const": index} for index in range(64)]
    assert exclusive(small)
    assert not exclusive([*small, {"const": 64}])
    two = [{**tagged({"const": index}), "required": ["free", "kind"]} for index in range(70)]
    for branch in two:
        branch["properties"]["free"] = TEXT
    assert exclusive(two)
