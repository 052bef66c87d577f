"""Numbers as JSON spells them; bounds of any size, and multiples, against Python's exact arithmetic."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
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


def test_numbers_between_crossed_bounds_fit_nothing() -> None:
    with pytest.raises(GrammarError):
        compile_schema({"type": "number", "minimum": 2, "maximum": 1})


@pytest.mark.parametrize("bound", ["1", True, float("inf"), 10**500])
def test_bounds_that_cannot_be_held_are_recorded(bound: Any) -> None:
    grammar = compile_schema({"type": "integer", "maximum": bound})
    assert [widening.keyword for widening in grammar.report.widenings] == ["maximum"]
    assert accepts(grammar.rules, "5")


_bounds = st.one_of(
    st.integers(-1200, 1200),
    st.integers(-(10**25), 10**25),
    st.decimals(-1000, 1000, places=3, allow_nan=False).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 0.0, 1, -1, 0.1, 1e-7, 1e-5, 0.0001, 1e16, 1e22, 1e300, -1e-9, 5e-324, 1.7976931348623157e308]),
)


def _near(value: float) -> list[float]:
    """The number, its neighbours, and its like at other sizes."""
    found = [value, -value, value / 10, value / 3, 0, 1, -1, 0.5]
    if isinstance(value, int):
        found += [value - 1, value + 1, value * 10]
    if abs(value) < 1e308:
        found += [math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
    # Adding 0 turns -0.0 into 0.0, whose canonical text is that of both.
    return [one + 0 for one in found if math.isfinite(one)]


def _exactly(value: float) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _written(value: float) -> list[str]:
    """As Python's writer spells it, and in full."""
    return [json.dumps(value), format(Decimal(repr(value)), "f").removesuffix(".0")]


@settings(max_examples=150, deadline=None)
@given(_bounds, _bounds, st.booleans(), st.booleans(), st.sampled_from(["both", "low", "high"]), st.integers(0, 10**6))
def test_bounds_of_numbers_hold_exactly(
    low: float, high: float, open_low: bool, open_high: bool, sides: str, seed: int
) -> None:
    low, high = sorted((low, high))
    schema: dict[str, Any] = {"type": "number"}
    if sides != "high":
        schema["exclusiveMinimum" if open_low else "minimum"] = low
    if sides != "low":
        schema["exclusiveMaximum" if open_high else "maximum"] = high

    def fits(value: float) -> bool:
        exact = _exactly(value)
        above = sides == "high" or exact > _exactly(low) or (exact == _exactly(low) and not open_low)
        below = sides == "low" or exact < _exactly(high) or (exact == _exactly(high) and not open_high)
        return above and below

    try:
        grammar = compile_schema(schema)
    except GrammarError:
        assert sides == "both"
        assert not fits(low)
        assert not fits(high)
        return
    assert not grammar.report.widenings
    for value in [*_near(low), *_near(high), (low + high) / 2]:
        if math.isfinite(value):
            admitted = any(accepts(grammar.rules, text) for text in _written(value))
            assert admitted == fits(value), value
    text = draw(grammar.rules, seed, size=20)
    assert json.loads(text) == 0 or not text.lstrip("-").startswith("0") or text.lstrip("-")[1:2] == "."
    assert fits(Decimal(text)), text


@pytest.mark.parametrize("text", ["1e-07", "1.5e-9", "1E-7", "0.5", "1e16", "1.0", "1", "12.50", "1e+22"])
def test_numbers_within_bounds_as_writers_spell_them(text: str) -> None:
    assert accepts(compile_schema({"type": "number", "minimum": 0, "maximum": 1e300}).rules, text)


def test_an_excluded_bound_is_not_reached_by_digits_that_a_double_drops() -> None:
    rules = compile_schema({"type": "number", "exclusiveMinimum": 0.5}).rules
    assert accepts(rules, repr(math.nextafter(0.5, 1)))
    assert not accepts(rules, "0.5" + "0" * 17 + "1")
    for seed in range(200):
        assert json.loads(draw(rules, seed)) > 0.5


_steps = st.one_of(
    st.integers(1, 60), st.sampled_from([100, 128, 1000, 3600, 0.1, 0.01, 0.25, 0.05, 2.5, 1e-7, 1e-8, 0.5, 7.0])
)


@settings(max_examples=150, deadline=None)
@given(
    _steps, st.none() | st.integers(-4000, 4000), st.none() | st.integers(-4000, 4000),
    st.sampled_from(["integer", "number"]), st.lists(st.integers(-400, 400), max_size=6), st.integers(0, 10**6),
)  # fmt: skip
def test_multiples_hold_exactly(
    step: float, low: int | None, high: int | None, kind: str, near: list[int], seed: int
) -> None:
    if low is not None and high is not None:
        low, high = min(low, high), max(low, high)
    schema = {"type": kind, "multipleOf": step}
    schema |= {} if low is None else {"minimum": low}
    schema |= {} if high is None else {"maximum": high}

    def fits(value: float) -> bool:
        exact = _exactly(value)
        bound = (low is None or exact >= low) and (high is None or exact <= high)
        return bound and (kind == "number" or exact.denominator == 1) and (exact / _exactly(step)).denominator == 1

    try:
        grammar = compile_schema(schema)
    except GrammarError:
        assert low is not None
        assert high is not None
        assert not any(fits(n) for n in range(low, high + 1))
        return
    exact = not grammar.report.widenings
    assert exact or step > 60 or (kind == "number" and step % 1 and (low or high is not None))
    candidates = [n * step for n in near] + [n + 0.5 for n in near] + [n / 1e8 for n in near] + near
    for value in [*candidates, low or 0, high or 0]:
        value = round(value, 9)
        admitted = any(accepts(grammar.rules, text) for text in _written(value))
        assert admitted >= fits(value), value
        assert not exact or admitted == fits(value), value
    if exact:
        assert fits(Decimal(draw(grammar.rules, seed, size=20)))


@pytest.mark.parametrize("step", [0, -1, "2", True])
def test_a_multiple_of_nonsense_is_recorded(step: Any) -> None:
    grammar = compile_schema({"type": "integer", "multipleOf": step})
    assert [widening.keyword for widening in grammar.report.widenings] == ["multipleOf"]


def test_multiples_of_too_many_remainders_are_recorded_and_the_bounds_still_hold() -> None:
    grammar = compile_schema({"type": "integer", "multipleOf": 99991, "minimum": 5})
    assert [widening.keyword for widening in grammar.report.widenings] == ["multipleOf"]
    assert accepts(grammar.rules, "99991")
    assert not accepts(grammar.rules, "4")
