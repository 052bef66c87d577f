"""Arrays: items, tuples, bounds of any size."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts

INT = {"type": "integer"}


def _lengths(schema: Any, *lengths: int) -> list[int]:
    rules = compile_schema(schema).rules
    return [length for length in lengths if accepts(rules, "[" + ",".join("1" * length) + "]")]


@pytest.mark.parametrize("least", range(4))
@pytest.mark.parametrize("most", [None, 0, 1, 2, 3, 4])
def test_bounds_hold(least: int, most: int | None) -> None:
    schema = {"type": "array", "items": INT, "minItems": least} | ({} if most is None else {"maxItems": most})
    if most is not None and most < least:
        with pytest.raises(GrammarError):
            compile_schema(schema)
        return
    assert _lengths(schema, *range(7)) == [n for n in range(7) if least <= n and (most is None or n <= most)]


@pytest.mark.parametrize("bound", [1998, 1999, 2000, 2001, 3500])
def test_large_bounds_hold(bound: int) -> None:
    near = [bound - 1, bound, bound + 1]
    assert _lengths({"type": "array", "items": INT, "maxItems": bound}, 0, 1, *near) == [0, 1, bound - 1, bound]
    assert _lengths({"type": "array", "items": INT, "minItems": bound}, 0, *near) == [bound, bound + 1]
    exact = {"type": "array", "items": INT, "minItems": bound, "maxItems": bound}
    assert _lengths(exact, *near) == [bound]


def test_tuples_hold_each_item_in_its_place() -> None:
    schema = {"type": "array", "prefixItems": [INT, {"type": "string"}], "items": {"type": "null"}}
    rules = compile_schema(schema).rules
    assert [t for t in ("[]", "[1]", '[1,"x"]', '[1,"x",null]', '["x"]', "[1,null]", '[1,"x",1]') if accepts(rules, t)] == [
        "[]", "[1]", '[1,"x"]', '[1,"x",null]',
    ]  # fmt: skip


def test_old_tuples_hold_each_item_in_its_place() -> None:
    schema = {"type": "array", "items": [INT, {"type": "string"}], "additionalItems": False, "minItems": 1}
    rules = compile_schema(schema).rules
    assert [t for t in ("[]", "[1]", '[1,"x"]', '[1,"x",1]') if accepts(rules, t)] == ["[1]", '[1,"x"]']


def test_items_that_nothing_fits_leave_the_empty_array() -> None:
    assert _lengths({"type": "array", "items": False}, 0, 1) == [0]
    assert _lengths({"type": "array", "prefixItems": [INT, False]}, 0, 1, 2) == [0, 1]
    with pytest.raises(GrammarError, match="/items"):
        compile_schema({"type": "array", "items": False, "minItems": 1})


def test_bounded_arrays_of_bounded_arrays_are_no_nested_repeats() -> None:
    schema: Any = {"type": "string", "maxLength": 40}
    for _ in range(3):
        schema = {"type": "array", "items": schema, "maxItems": 40}
    grammar = compile_schema(schema)
    assert accepts(grammar.rules, '[[["a"],[]],[]]')
    assert not accepts(grammar.rules, '[[["' + "a" * 41 + '"]]]')


@pytest.mark.parametrize("bound", [-1, "3", True, 1.5, 10**12])
def test_bounds_that_are_no_counts_are_recorded_and_not_held(bound: Any) -> None:
    grammar = compile_schema({"type": "array", "maxItems": bound})
    assert [widening.keyword for widening in grammar.report.widenings] == ["maxItems"]
    assert accepts(grammar.rules, "[1,2]")


def test_a_whole_number_with_a_fraction_is_a_count() -> None:
    assert _lengths({"type": "array", "items": INT, "maxItems": 2.0}, 2, 3) == [2]
