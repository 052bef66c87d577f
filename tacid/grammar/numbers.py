"""``integer`` and ``number``: bounds on integers of any size by digits, and the sign of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.nodes import Chars, Lit, Node, Repeat
from tacid.grammar.primitives import DIGIT, INTEGER, NUMBER, UNSIGNED
from tacid.grammar.shapes import alt, seq

#: Digits of the largest bound that is held exactly; the grammar nests once a digit.
MAX_DIGITS = 40

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def compile_number(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A number. Its sign is held where the bounds decide it, the bounds themselves are not."""
    low, low_open, high, high_open = _limits(scope, schema, pointer)
    if low is not None and high is not None and (low > high or (low == high and (low_open or high_open))):
        return Nothing(pointer, f"no number lies between {low} and {high}")
    for keyword in _BOUNDS:
        # That nothing lies below zero is held by leaving the sign away.
        if keyword in schema and not (keyword == "minimum" and schema[keyword] == 0 and not low_open):
            scope.widen(pointer, keyword, "bounds of numbers that are no integers are checked afterwards")
    return UNSIGNED if low is not None and low >= 0 else NUMBER


def compile_integer(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """An integer, written without fraction or exponent, within its bounds."""
    low, low_open, high, high_open = _limits(scope, schema, pointer)
    least = None if low is None else _above(low, low_open)
    most = None if high is None else -_above(-high, high_open)
    if least is None and most is None:
        return INTEGER
    if least is not None and most is not None and least > most:
        return Nothing(pointer, f"no integer lies between {low} and {high}")
    for keyword, value in (("minimum", least), ("maximum", most)):
        if value is not None and abs(value) >= 10**MAX_DIGITS:
            keyword = keyword if keyword in schema else f"exclusive{keyword.capitalize()}"
            scope.widen(pointer, keyword, f"bounds are held up to {MAX_DIGITS} digits")
            if keyword.lower().endswith("minimum"):
                least = None
            else:
                most = None
    options: list[Node] = []
    if least is None or least < 0:
        below = 1 if most is None or most >= 0 else -most
        options.append(seq(Lit("-"), _natural(below, None if least is None else -least)))
    if most is None or most >= 0:
        options.append(_natural(max(least or 0, 0), most))
    return scope.small("integer", alt(options))


def _limits(
    scope: Scope, schema: Mapping[str, Any], pointer: str
) -> tuple[int | float | None, bool, int | float | None, bool]:
    """Lower and upper bound, and for each whether it is itself excluded."""
    found: list[tuple[int | float | None, bool]] = []
    for keyword, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        value, is_open = _bound(scope, schema, pointer, keyword), False
        if isinstance(schema.get(exclusive), bool):
            is_open = schema[exclusive]
        else:
            other = _bound(scope, schema, pointer, exclusive)
            if other is not None and (value is None or other * sign >= value * sign):
                value, is_open = other, True
        found.append((value, is_open))
    return *found[0], *found[1]


def _bound(scope: Scope, schema: Mapping[str, Any], pointer: str, keyword: str) -> int | float | None:
    value = schema.get(keyword)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        scope.widen(pointer, keyword, "this is no number, so it isn't held")
        return None
    return value


def _above(value: int | float, is_open: bool) -> int:
    """The least integer that is not below, or above, a bound."""
    least = math.ceil(value)
    return least + 1 if is_open and least == value else least


def _natural(low: int, high: int | None) -> Node:
    """A whole number from ``low`` (0 or more) to ``high``, without leading zeros."""
    if high is None:
        size = len(str(low))
        longer = seq(Chars(((0x31, 0x39),)), Repeat(DIGIT, size, None))
        if low == 0:
            return alt((Lit("0"), seq(Chars(((0x31, 0x39),)), Repeat(DIGIT, 0, None))))
        return alt((_between(str(low), "9" * size), longer))
    options: list[Node] = []
    sizes = range(len(str(low)), len(str(high)) + 1)
    whole: list[int] = []
    for size in sizes:
        start = str(max(low, 10 ** (size - 1) if size > 1 else 0))
        end = str(min(high, 10**size - 1))
        if size > 1 and start == "1" + "0" * (size - 1) and end == "9" * size:
            whole.append(size)
        else:
            options.append(_between(start, end))
    if whole:
        # Every number of these many digits is in.
        options.append(seq(Chars(((0x31, 0x39),)), Repeat(DIGIT, whole[0] - 1, whole[-1] - 1)))
    return alt(options)


def _between(low: str, high: str) -> Node:
    """Digits from ``low`` to ``high``, both of one length."""
    if not low:
        return seq()
    if low[0] == high[0]:
        return seq(Lit(low[0]), _between(low[1:], high[1:]))
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    options: list[Node] = []
    if low[1:] != "0" * rest:
        options.append(seq(Lit(low[0]), _between(low[1:], "9" * rest)))
        first += 1
    if high[1:] != "9" * rest:
        last -= 1
    if first <= last:
        options.append(seq(Chars(((0x30 + first, 0x30 + last),)), _digits(rest)))
    if high[1:] != "9" * rest:
        options.append(seq(Lit(high[0]), _between("0" * rest, high[1:])))
    return alt(options)


def _digits(number: int) -> Node:
    return Repeat(DIGIT, number, number) if number else seq()
