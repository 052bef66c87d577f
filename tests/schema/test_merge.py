"""Two schemas as one: what both admit, never less; and when branches exclude each other plainly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacid.schema.exclusive import exclusive
from tacid.schema.keywords import PRESENCE, plain, same_key, type_list
from tacid.schema.merge import merge, settled
from tests.grammar.strategies import parts, values
from tests.grammar.test_compile_random import fits, validator


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (True, {"type": "string"}, {"type": "string"}),
        (False, {"type": "string"}, False),
        (True, False, False),
        ({"description": "x"}, {"type": "string", "title": "y"}, {"type": "string"}),
        ({"type": ["string", "integer"]}, {"type": ["number", "null"]}, {"type": "integer"}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": "string"}, {"type": "null"}, False),
        ({"type": "string", "nullable": True}, {"type": ["null", "integer"]}, {"type": "null"}),
        ({"enum": [1, "a", True]}, {"enum": ["a", 1.0, False]}, {"enum": [1, "a"]}),
        ({"const": 1}, {"const": True}, False),
        ({"const": 1}, {"enum": [1, 2]}, {"enum": [1]}),
        ({"minLength": 2, "maxLength": 9}, {"minLength": 3, "maxLength": 5}, {"minLength": 3, "maxLength": 5}),
        ({"required": ["a", "b"]}, {"required": ["b", "c"]}, {"required": ["a", "b", "c"]}),
        ({"multipleOf": 4}, {"multipleOf": 6}, {"multipleOf": 12}),
        ({"multipleOf": 0.1}, {"multipleOf": 6}, {"multipleOf": 6}),
        ({"multipleOf": 0.4}, {"multipleOf": 0.6}, {"multipleOf": 1.2}),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "^(?=[\\s\\S]*(?:a))(?=[\\s\\S]*(?:b))"}),
        ({"format": "date"}, {"format": "time"}, None),
        ({"pattern": "a"}, {"pattern": "a"}, {"pattern": "a"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"minimum": 2}, {"exclusiveMinimum": 1, "minimum": 2}),
        ({"minimum": 1}, {"minimum": 2, "exclusiveMinimum": True}, {"exclusiveMinimum": 2, "minimum": 1}),
        ({"maximum": 2, "exclusiveMaximum": True}, {"maximum": 3}, {"exclusiveMaximum": 2, "maximum": 3}),
        ({"type": 5, "minimum": 1}, {"type": "string"}, {"type": "string", "minimum": 1}),
        ({"type": "string", "minimum": 1}, {"type": 5}, {"type": "string", "minimum": 1}),
        ({"not": {"const": 1}}, {"not": {"const": 2}}, {"not": {"anyOf": [{"const": 1}, {"const": 2}]}}),
        ({"if": {}, "then": False}, {"if": {}, "then": True}, None),
        ({"contains": {}, "minContains": 2}, {"contains": {"const": 1}}, None),
        ({"contains": {}, "minContains": 2}, {"contains": {}, "maxContains": 5}, {"contains": {}, "minContains": 2, "maxContains": 5}),
        ({"items": {"type": "string"}}, {"items": {"minLength": 1}}, {"items": {"type": "string", "minLength": 1}}),
        ({"items": [True]}, {"items": True}, {"items": [True], "additionalItems": True}),
        ({"prefixItems": [True]}, {"items": False}, {"prefixItems": [False], "items": False}),
        ({"items": [{"type": "string"}], "additionalItems": False}, {"items": {"minLength": 1}}, {"items": [{"type": "string", "minLength": 1}], "additionalItems": False}),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
            {"properties": {"a": {"minLength": 1}, "b": True}},
            {"properties": {"a": {"type": "string", "minLength": 1}, "b": False}, "additionalProperties": False},
        ),
        (
            {"additionalProperties": {"type": "string"}},
            {"properties": {"b": True}, "additionalProperties": {"minLength": 1}},
            {"properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string", "minLength": 1}},
        ),
        ({"unevaluatedProperties": False}, {"properties": {"a": True}}, {"properties": {"a": True}, "unevaluatedProperties": False}),
        ({"properties": {"a": True}}, {"unevaluatedProperties": False}, None),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"minLength": 1}, True]},
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "string"},
                    {"type": "null", "minLength": 1},
                    {"type": "null"},
                ]
            },
        ),
    ],
)  # fmt: skip
def test_keywords_meet(one: Any, other: Any, merged: Any) -> None:
    assert merge(one, other) == merged


@given(parts, parts, st.lists(values, min_size=1, max_size=8))
def test_a_merge_admits_what_both_admit(one: Any, other: Any, samples: list[Any]) -> None:
    assume(all("$ref" not in str(schema) for schema in (one, other)))
    merged = merge(one, other)
    if merged is None:
        return
    left, right, both = validator(one), validator(other), validator(merged)
    assume(left is not None and right is not None)
    assert left is not None
    assert right is not None
    assert both is not None
    for value in samples:
        wanted = fits(left, value), fits(right, value)
        if None not in wanted:
            assert fits(both, value) == all(wanted)


@given(st.lists(parts, min_size=2, max_size=3), st.lists(values, min_size=1, max_size=8))
def test_branches_that_exclude_each_other_share_no_value(branches: list[Any], samples: list[Any]) -> None:
    assume(all("$ref" not in str(branch) and "allOf" not in str(branch) for branch in branches))
    if not exclusive(branches):
        return
    oracles = [validator(branch) for branch in branches]
    for value in samples:
        assert sum(oracle is not None and fits(oracle, value) is True for oracle in oracles) <= 1


@pytest.mark.parametrize(
    ("schema", "types"),
    [({}, None), ({"type": "string"}, ("string",)), ({"type": ["null", "x", "null"]}, ("null",)), ({"type": "x"}, None),
     ({"type": 3}, None), ({"type": []}, ()), ({"type": "string", "nullable": True}, ("string", "null"))],
)  # fmt: skip
def test_types_as_they_are_written(schema: Any, types: tuple[str, ...] | None) -> None:
    assert type_list(schema) == types


def test_values_that_json_schema_calls_equal() -> None:
    assert same_key({"a": [1.0], "b": 2}) == same_key({"b": 2.0, "a": [1]})
    assert len({same_key(value) for value in (1, True, "1", None, "null", [1], 1.5)}) == 7
    assert plain([2.0, {"a": 1e20}, 2.5, True]) == [2, {"a": 10**20}, 2.5, True]


@pytest.mark.parametrize("required", [[], ["a"]])
def test_what_no_object_can_meet_is_seen_whatever_is_required(required: list[str]) -> None:
    left = settled({"type": ["object", "null"], "required": required, PRESENCE: ["and", ["key", "b"], False]})
    assert left == {"type": ["null"]}
    assert settled({"type": "object", "required": required, PRESENCE: False}) is False
