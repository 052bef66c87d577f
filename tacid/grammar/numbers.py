"""``integer`` and ``number``: bounds of any size by digits, multiples by an automaton over remainders.

Canonical spellings: an ``integer`` has no fraction and no exponent. A ``number`` without keywords is JSON's; one with
bounds is digits with or without a fraction, or, below 0.0001 and from 10^16 on, scientific notation as Python and
JavaScript write it. Bounds hold as decimals; a text closer to an excluded bound than a double can tell is left to the
check afterwards. Source: JSON Schema validation 2020-12, 6.2; draft 4, 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.digits import Span, decimal, natural, scientific
from tacid.grammar.multiples import MULTIPLES, decimal_multiples, few_multiples, whole_multiples
from tacid.grammar.nodes import Lit, Node
from tacid.grammar.primitives import INTEGER, NUMBER, UNSIGNED
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import value_tree

#: Digits of the largest bound that is held: those of the largest double, and a few more.
MAX_DIGITS = 400

_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Limits:
    """Lower and upper bound (``None``: none), and for each whether it is itself excluded."""

    low: Decimal | None = None
    low_open: bool = False
    high: Decimal | None = None
    high_open: bool = False

    @property
    def none(self) -> bool:
        return self.low is None and self.high is None

    def whole(self) -> tuple[int | None, int | None]:
        """The least and the most integer within."""
        least = None if self.low is None else _above(self.low, self.low_open)
        return least, None if self.high is None else -_above(self.high.copy_negate(), self.high_open)

    def positive(self) -> Span:
        """Magnitudes of what is 0 or above."""
        if self.low is None or self.low < 0:
            return Span(_ZERO, False, self.high, self.high_open)
        return Span(self.low, self.low_open, self.high, self.high_open)

    def negative(self) -> Span:
        """Magnitudes of what is below 0; 0 itself where less would not be in."""
        low, low_open = (
            (_ZERO, False) if self.high is None or self.high > 0 else (self.high.copy_negate(), self.high_open)
        )
        return Span(low, low_open, None if self.low is None else self.low.copy_negate(), self.low_open)


def compile_number(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A number within its bounds, a multiple where that is demanded."""
    limits = _limits(scope, schema, pointer)
    step = _step(scope, schema, pointer)
    if step is not None:
        return _multiples(scope, schema, limits, step, pointer, of_integers=False)
    if limits.none:
        return NUMBER
    if limits == _Limits(_ZERO):
        return UNSIGNED
    options: list[Node] = []
    if limits.low is None or limits.low < 0:
        options.extend(seq(Lit("-"), node) for node in _magnitudes(scope, limits.negative()))
    if limits.high is None or limits.high >= 0:
        options.extend(_magnitudes(scope, limits.positive()))
    if not options:
        return Nothing(pointer, f"no number lies between {limits.low} and {limits.high}")
    return scope.small("number", alt(options))


def compile_integer(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """An integer, written without fraction or exponent, within its bounds, a multiple where that is demanded."""
    limits = _limits(scope, schema, pointer)
    step = _step(scope, schema, pointer)
    if step is not None:
        return _multiples(scope, schema, limits, step, pointer, of_integers=True)
    if limits.none:
        return INTEGER
    least, most = limits.whole()
    if least is not None and most is not None and least > most:
        return Nothing(pointer, f"no integer lies between {limits.low} and {limits.high}")
    options: list[Node] = []
    if least is None or least < 0:
        below = 1 if most is None or most >= 0 else -most
        high = None if least is None else -least
        options.append(seq(Lit("-"), natural(below, high, lambda node: scope.rule("digits", node))))
    if most is None or most >= 0:
        options.append(natural(max(least or 0, 0), most, lambda node: scope.rule("digits", node)))
    return scope.small("integer", alt(options))


def _magnitudes(scope: Scope, span: Span) -> list[Node]:
    if span.empty:
        return []
    plain = decimal(span, lambda node: scope.rule("digits", node))
    powers = scientific(span, lambda node: scope.rule("digits", node))
    return powers if plain is None else [plain, *powers]


def _multiples(
    scope: Scope, schema: Mapping[str, Any], limits: _Limits, step: Decimal, pointer: str, *, of_integers: bool
) -> Compiled:
    """Multiples of ``step`` within the limits; of what can't be held the multiple is dropped, not the bounds."""
    numerator, denominator = step.as_integer_ratio()
    if of_integers:
        # An integer that is a multiple of 2.5 is one of 5.
        step, denominator = Decimal(numerator), 1
    few = few_multiples(limits.low, limits.low_open, limits.high, limits.high_open, step)
    if few is not None:
        if not few:
            return Nothing(pointer, f"no multiple of {step} lies between {limits.low} and {limits.high}")
        return scope.listed(*_listed(scope, few)) if len(few) > 1 else Lit(few[0])
    node: Node | None = None
    if denominator == 1:
        least, most = limits.whole()
        node = whole_multiples(scope, numerator, least, most)
    elif limits.none or limits == _Limits(_ZERO):
        node = decimal_multiples(scope, step, signed=limits.none)
    if node is not None:
        return node
    scope.widen(pointer, "multipleOf", MULTIPLES)
    bare = {key: value for key, value in schema.items() if key != "multipleOf"}
    return (compile_integer if of_integers or denominator == 1 else compile_number)(scope, bare, pointer)


def _listed(scope: Scope, texts: list[str]) -> tuple[Node, dict[str, Node]]:
    """A choice of number texts as a tree, and the rules that it needs."""
    rules: dict[str, Node] = {}
    return value_tree(texts, rules=rules, name=scope.name("multiple")), rules


def _step(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Decimal | None:
    value = schema.get("multipleOf")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        scope.widen(pointer, "multipleOf", "this is no number above 0, so it isn't held")
        return None
    return _exact(value)


def _limits(scope: Scope, schema: Mapping[str, Any], pointer: str) -> _Limits:
    found: list[tuple[Decimal | None, bool]] = []
    for keyword, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        value, is_open = _bound(scope, schema, pointer, keyword), False
        if isinstance(schema.get(exclusive), bool):
            is_open = schema[exclusive]
        else:
            other = _bound(scope, schema, pointer, exclusive)
            if other is not None and (value is None or other * sign >= value * sign):
                value, is_open = other, True
        found.append((value, is_open))
    return _Limits(*found[0], *found[1])


def _bound(scope: Scope, schema: Mapping[str, Any], pointer: str, keyword: str) -> Decimal | None:
    value = schema.get(keyword)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(_clipped(value)):
        scope.widen(pointer, keyword, "this is no number, so it isn't held")
        return None
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        scope.widen(pointer, keyword, f"bounds are held up to {MAX_DIGITS} digits")
        return None
    return _exact(value)


def _clipped(value: int | float) -> float:
    """The number itself where it is a float, which alone can be infinite."""
    return value if isinstance(value, float) else 0.0


def _exact(value: int | float) -> Decimal:
    """The number as it was written: a float's shortest decimal."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _above(value: Decimal, is_open: bool) -> int:
    """The least integer that is not below, or above, a bound."""
    least = math.ceil(value)
    return least + 1 if is_open and least == value else least
