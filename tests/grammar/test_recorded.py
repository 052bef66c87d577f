"""What counts, bounds and multiples that can't be held leave in the report: where, which keyword, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.grammar import compile_schema
from tacid.grammar.numbers import MAX_DIGITS
from tacid.grammar.shapes import MAX_COUNT
from tacid.grammar.walk import accepts

COUNT, LIMIT = "no count", f"{MAX_COUNT:,}"


@pytest.mark.parametrize(
    ("schema", "keyword", "reason"),
    [
        ({"type": "array", "minItems": -1}, "minItems", COUNT),
        ({"type": "array", "maxItems": 1.5}, "maxItems", COUNT),
        ({"type": "array", "maxItems": "3"}, "maxItems", COUNT),
        ({"type": "string", "minLength": True}, "minLength", COUNT),
        ({"type": "string", "maxLength": None}, "maxLength", COUNT),
        ({"type": "string", "maxLength": MAX_COUNT + 1}, "maxLength", LIMIT),
        ({"type": "array", "maxItems": 1e12}, "maxItems", LIMIT),
        ({"type": "number", "minimum": "1"}, "minimum", "no number"),
        ({"type": "number", "exclusiveMaximum": [1]}, "exclusiveMaximum", "no number"),
        ({"type": "integer", "maximum": float("inf")}, "maximum", "no number"),
        ({"type": "integer", "maximum": float("nan")}, "maximum", "no number"),
        ({"type": "integer", "minimum": True}, "minimum", "no number"),
        ({"type": "integer", "minimum": 10**MAX_DIGITS}, "minimum", str(MAX_DIGITS)),
        ({"type": "number", "maximum": -(10**MAX_DIGITS)}, "maximum", str(MAX_DIGITS)),
        ({"type": "number", "multipleOf": 0}, "multipleOf", "above 0"),
        ({"type": "integer", "multipleOf": -2}, "multipleOf", "above 0"),
        ({"type": "integer", "multipleOf": "2"}, "multipleOf", "above 0"),
        ({"type": "integer", "multipleOf": True}, "multipleOf", "above 0"),
        ({"type": "integer", "multipleOf": float("inf")}, "multipleOf", "above 0"),
        ({"type": "integer", "multipleOf": 99991}, "multipleOf", "remainders"),
        ({"type": "number", "multipleOf": 0.5, "minimum": 3}, "multipleOf", "remainders"),
        ({"type": "number", "multipleOf": 0.123457}, "multipleOf", "remainders"),
        ({"type": "number", "multipleOf": 0.00003}, "multipleOf", "remainders"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_not_held_is_recorded_where_it_stands_and_with_its_reason(
    schema: Any, keyword: str, reason: str
) -> None:
    (widening,) = compile_schema({"type": "object", "properties": {"a": schema}}).report.widenings
    assert (widening.pointer, widening.keyword) == ("/properties/a", keyword)
    assert reason in widening.reason


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "null"}, "maxItems": 0},
        {"type": "string", "maxLength": 0},
        {"type": "string", "maxLength": 3.0},
        {"type": "string", "maxLength": MAX_COUNT},
        {"type": "integer", "minimum": 10**MAX_DIGITS - 1},
        {"type": "integer", "maximum": -(10**MAX_DIGITS) + 1},
        {"type": "integer", "multipleOf": 0.5},
        {"type": "integer", "multipleOf": 127},
        {"type": "number", "multipleOf": 1e-9, "minimum": 0},
        {"type": "number", "multipleOf": 2.0, "minimum": 3},
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_held_is_not_recorded(schema: Any) -> None:
    assert compile_schema(schema).report.widenings == ()


def test_a_bound_that_is_none_leaves_the_other_one() -> None:
    rules = compile_schema({"type": "integer", "minimum": "x", "maximum": 3}).rules
    assert [n for n in range(-5, 6) if accepts(rules, str(n))] == [*range(-5, 4)]
    rules = compile_schema({"type": "number", "multipleOf": 0.5, "minimum": 3}).rules
    assert [text for text in ("2.5", "3", "3.5", "3.25") if accepts(rules, text)] == ["3", "3.5", "3.25"]
    rules = compile_schema({"type": "integer", "multipleOf": 199982.0, "minimum": 3}).rules
    assert [text for text in ("2", "3", "4.0", "199982") if accepts(rules, text)] == ["3", "199982"]


@pytest.mark.parametrize(
    ("bounds", "inside"),
    [
        ({"minimum": 1, "exclusiveMinimum": 3}, [4, 5]),
        ({"minimum": 3, "exclusiveMinimum": 1}, [3, 4, 5]),
        ({"minimum": 3, "exclusiveMinimum": 3}, [4, 5]),
        ({"maximum": 3, "exclusiveMaximum": 1}, [-1, 0]),
        ({"maximum": 1, "exclusiveMaximum": 3}, [-1, 0, 1]),
        ({"maximum": 1, "exclusiveMaximum": 1}, [-1, 0]),
        ({"minimum": 1, "exclusiveMinimum": True}, [2, 3, 4, 5]),
        ({"minimum": 1, "exclusiveMinimum": False}, [1, 2, 3, 4, 5]),
        ({"maximum": 1, "exclusiveMaximum": True}, [-1, 0]),
        ({"maximum": 1, "exclusiveMaximum": False}, [-1, 0, 1]),
        ({"exclusiveMinimum": True}, [-1, 0, 1, 2, 3, 4, 5]),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_of_two_bounds_the_narrower_one_counts(bounds: Any, inside: list[int], kind: str) -> None:
    rules = compile_schema({"type": kind, **bounds}).rules
    assert [n for n in range(-1, 6) if accepts(rules, str(n))] == inside
