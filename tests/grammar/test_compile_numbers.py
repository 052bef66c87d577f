"""Numbers as JSON spells them; integer bounds of any size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tests.grammar.draw import draw

NUMBER = compile_schema({"type": "number"}).rules
INTEGER = compile_schema({"type": "integer"}).rules


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-0",
        "10",
        "-1.5",
        "0.00",
        "1e5",
        "1E+05",
        "1e-07",
        "1e307",
        "1e-324",
        "12e3",
        "1234.5E-99",
        "12345678901234567890123",
    ],
)
def test_numbers_as_json_spells_them(text: str) -> None:
    json.loads(text)
    assert accepts(NUMBER, text)


@pytest.mark.parametrize(
    "text", ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity", "1e999", "--1", "1.5.2", "1 "]
)
def test_what_no_reader_takes_is_refused(text: str) -> None:
    assert not accepts(NUMBER, text)


def test_drawn_numbers_are_finite() -> None:
    for seed in range(300):
        assert abs(json.loads(draw(NUMBER, seed))) < float("inf")


def test_integers_have_no_fraction_and_no_exponent() -> None:
    assert [t for t in ("0", "-7", "12345678901234567890", "1.0", "1e2", "07") if accepts(INTEGER, t)] == [
        "0", "-7", "12345678901234567890",
    ]  # fmt: skip


_ends = st.one_of(st.integers(-130, 130), st.integers(-(10**20), 10**20))


@given(_ends, _ends, st.integers(-200, 200), st.booleans(), st.booleans())
def test_integer_bounds_hold_exactly(low: int, high: int, near: int, open_low: bool, open_high: bool) -> None:
    low, high = min(low, high), max(low, high)
    first, last = low + open_low, high - open_high
    schema = {
        "type": "integer",
        "exclusiveMinimum" if open_low else "minimum": low,
        "exclusiveMaximum" if open_high else "maximum": high,
    }
    if first > last:
        with pytest.raises(GrammarError):
            compile_schema(schema)
        return
    grammar = compile_schema(schema)
    assert not grammar.report.widenings
    for value in {near, low - 1, low, low + 1, high - 1, high, high + 1, (low + high) // 2, 0}:
        assert accepts(grammar.rules, str(value)) == (first <= value <= last), value


@given(_ends, st.integers(-3, 3), st.sampled_from(["minimum", "maximum"]))
def test_one_sided_integer_bounds_hold_exactly(bound: int, near: int, keyword: str) -> None:
    rules = compile_schema({"type": "integer", keyword: bound}).rules
    for value in {bound + near, bound * 10, -bound, 0, bound // 10}:
        assert accepts(rules, str(value)) == (value >= bound if keyword == "minimum" else value <= bound), value


@pytest.mark.parametrize(
    ("schema", "first", "last"),
    [({"minimum": 0.5, "maximum": 2.5}, 1, 2), ({"minimum": 3, "exclusiveMinimum": True, "maximum": 5}, 4, 5),
     ({"minimum": 3, "exclusiveMinimum": 3, "maximum": 5, "exclusiveMaximum": 9}, 4, 5),
     ({"minimum": -2.0, "exclusiveMaximum": 1e0}, -2, 0)],
)  # fmt: skip
def test_both_spellings_of_exclusive_and_fractions(schema: dict[str, Any], first: int, last: int) -> None:
    rules = compile_schema({"type": "integer", **schema}).rules
    assert [n for n in range(-9, 10) if accepts(rules, str(n))] == list(range(first, last + 1))


def test_leading_zeros_never_come_out_of_bounds() -> None:
    for schema in ({"maximum": -1}, {"minimum": -120, "maximum": 1009}, {"minimum": 7}):
        rules = compile_schema({"type": "integer", **schema}).rules
        assert not any(accepts(rules, text) for text in ("00", "-00", "-05", "05", "-01", "007"))


def test_a_minimum_of_zero_holds_for_numbers() -> None:
    grammar = compile_schema({"type": "number", "minimum": 0})
    assert not grammar.report.widenings
    assert accepts(grammar.rules, "0.5")
    assert not accepts(grammar.rules, "-0.5")


@pytest.mark.parametrize("schema", [{"maximum": 1}, {"minimum": 1}, {"exclusiveMinimum": 0}, {"multipleOf": 0.1}])
def test_other_bounds_of_numbers_are_recorded(schema: dict[str, Any]) -> None:
    grammar = compile_schema({"type": "number", **schema})
    assert [widening.keyword for widening in grammar.report.widenings] == list(schema)


def test_numbers_between_crossed_bounds_fit_nothing() -> None:
    with pytest.raises(GrammarError):
        compile_schema({"type": "number", "minimum": 2, "maximum": 1})


@pytest.mark.parametrize("bound", ["1", True, float("inf"), 10**50])
def test_bounds_that_cannot_be_held_are_recorded(bound: Any) -> None:
    grammar = compile_schema({"type": "integer", "maximum": bound})
    assert [widening.keyword for widening in grammar.report.widenings] == ["maximum"]
    assert accepts(grammar.rules, "5")
