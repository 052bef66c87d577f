"""Decimal digits within bounds: whole numbers, fractions, and numbers as decimals or in scientific notation.

All of it is about magnitudes, 0 and above; signs are the business of `tacid.grammar.numbers`. ``named`` makes a rule of
a node, so that long bounds don't nest too deep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from math import inf, nextafter

from tacid.grammar.limits import TREE_GROUPS
from tacid.grammar.nodes import Alt, Chars, Lit, Node, Repeat
from tacid.grammar.primitives import DIGIT, DIGITS, FRACTION, HUGE, TINY
from tacid.grammar.shapes import alt, optional, seq

#: Exponents that stand in scientific notation: those that Python's and JavaScript's writers don't spell out, as far as
#: a double goes.
TINY_EXPONENTS = (-323, -5)
#: The least double above 0, which alone has a smaller exponent.
_LEAST = Decimal("5e-324")
HUGE_EXPONENTS = (16, 307)

#: From here on a double holds no fraction.
_COARSE = Decimal(2**53)
#: Arithmetic that rounds no bound.
_WIDE = Context(prec=1000)

#: Zeros that may follow the point of a number above 0 before its first digit; what is less has an exponent.
_ZEROS = 20

_NONZERO = Chars(((0x31, 0x39),))
_SOME_DIGITS = Repeat(DIGIT, 1, None)
_SOME_ZEROS = Repeat(Lit("0"), 1, None)

Named = Callable[[Node], Node]


@dataclass(frozen=True, slots=True)
class Span:
    """Magnitudes from ``low`` (0 or more) to ``high`` (``None``: without end), each bound itself in or ``open``."""

    low: Decimal
    low_open: bool = False
    high: Decimal | None = None
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether no magnitude is within."""
        if self.high is None or self.low < self.high:
            return False
        return self.low > self.high or self.low_open or self.high_open

    def __contains__(self, value: Decimal) -> bool:
        if value < self.low or (self.low_open and value == self.low):
            return False
        return self.high is None or value < self.high or (value == self.high and not self.high_open)


def natural(low: int, high: int | None, named: Named) -> Node:
    """A whole number from ``low`` (0 or more) to ``high``, without leading zeros."""
    size = len(str(low))
    if high is None:
        if low == 0:
            return alt((Lit("0"), seq(_NONZERO, DIGITS)))
        if low == 10 ** (size - 1):
            return seq(_NONZERO, Repeat(DIGIT, size - 1, None))
        return alt((_between(str(low), "9" * size, named), seq(_NONZERO, Repeat(DIGIT, size, None))))
    options: list[Node] = []
    whole: list[int] = []
    for length in range(size, len(str(high)) + 1):
        least, most = 10 ** (length - 1) if length > 1 else 0, 10**length - 1
        if length > 1 and low <= least and most <= high:
            whole.append(length)
        else:
            options.append(_between(str(max(low, least)), str(min(high, most)), named))
    if whole:
        # Every number of these many digits is in.
        options.append(seq(_NONZERO, Repeat(DIGIT, whole[0] - 1, whole[-1] - 1)))
    return alt(options)


def decimal(span: Span, named: Named) -> Node | None:
    """A number within the span, as digits with or without a fraction; ``None`` where none is."""
    if span.empty:
        return None
    first, low = _split(span.low)
    options: list[Node | None] = []
    start = first
    end: int | None = None
    low_special = bool(low) or span.low_open
    if low_special:
        start += 1
    if span.high is None:
        high_special = False
        last = -1
        high = ""
    else:
        last, high = _split(span.high)
        high_special = bool(high) or not span.high_open
        end = last - 1
    if low_special and high_special and first == last:
        options.append(
            _whole(first, _fraction_between(low, span.low_open, high, span.high_open, _run(span.low), named))
        )
    else:
        if low_special:
            options.append(_whole(first, _fraction_from(low, span.low_open, _run(span.low), named)))
        if end is None or start <= end:
            options.append(seq(natural(start, end, named), optional(FRACTION)))
        if high_special:
            options.append(_whole(last, _fraction_to(high, span.high_open, named)))
    left = [option for option in options if option is not None]
    return alt(left) if left else None


def scientific(span: Span, named: Named) -> list[Node]:
    """Numbers within the span as one digit, a fraction and an exponent, where the exponent is far from 0."""
    options: list[Node] = []
    for (least, most), whole in ((TINY_EXPONENTS, TINY), (HUGE_EXPONENTS, HUGE)):
        first = span.low.adjusted() if span.low else least - 1
        last = most + 1 if span.high is None else span.high.adjusted() if span.high else least - 1
        begin, end = max(least, first + 1), min(most, last - 1)
        if (begin, end) == (least, most) and (whole is HUGE or _LEAST in span):
            options.append(whole)
        elif begin <= end:
            options.append(_powers(seq(_NONZERO, optional(FRACTION)), begin, end, named))
        for power in dict.fromkeys((first, last)):
            if least <= power <= most:
                low, low_open = (
                    (span.low.scaleb(-power, _WIDE), span.low_open) if power == first else (Decimal(1), False)
                )
                ends = power == last and span.high is not None
                high, high_open = (
                    (span.high.scaleb(-power, _WIDE), span.high_open) if ends and span.high else (Decimal(10), True)
                )
                mantissa = decimal(Span(low, low_open, high, high_open), named)
                if mantissa is not None:
                    options.append(_powers(mantissa, power, power, named))
    if TINY not in options and _LEAST in span:
        options.append(Lit("5e-324"))
    return options


def _powers(mantissa: Node, least: int, most: int, named: Named) -> Node:
    """The mantissa with an exponent within these, all of one sign; a small one may have a zero before it."""
    sign: Node = Lit("-") if most < 0 else optional(Lit("+"))
    low, high = (-most, -least) if most < 0 else (least, most)
    zero: Node = optional(Lit("0"))
    if low > 9:
        power = natural(low, high, named)
    elif high < 10:
        power = seq(zero, natural(low, high, named))
    else:
        power = alt((seq(zero, natural(low, 9, named)), natural(10, high, named)))
    return seq(mantissa, Chars(((0x45, 0x45), (0x65, 0x65))), sign, power)


def _split(value: Decimal) -> tuple[int, str]:
    """The whole part, and the digits of the fraction without zeros at the end."""
    whole, _, fraction = format(value, "f").partition(".")
    return int(whole), fraction.rstrip("0")


def _run(bound: Decimal) -> int:
    """How many zeros may follow the digits of an excluded lower bound before a digit that a double can still hold."""
    if bound == 0:
        return _ZEROS
    if bound >= _COARSE:
        return 0
    above = Decimal(repr(nextafter(float(bound), inf)))
    return max(-(above - bound).adjusted() - 1 - len(_split(bound)[1]), 0) if above > bound else 0


def _whole(digits: int, fraction: tuple[Node | None, bool]) -> Node | None:
    """A whole part with its fraction, which is a node of its digits and whether there may be none."""
    node, bare = fraction
    if node is None:
        return Lit(str(digits)) if bare else None
    rest = seq(Lit("."), node)
    return seq(Lit(str(digits)), optional(rest) if bare else rest)


def _after(digit: str, fraction: tuple[Node | None, bool]) -> Node | None:
    node, bare = fraction
    if node is None:
        return Lit(digit) if bare else None
    if bare:
        return seq(
            Lit(digit),
            Repeat(node.item, 0, None)
            if isinstance(node, Repeat) and node in (_SOME_DIGITS, _SOME_ZEROS)
            else optional(node),
        )
    return seq(Lit(digit), node)


def _fraction_from(digits: str, is_open: bool, run: int, named: Named) -> tuple[Node | None, bool]:
    """Digits of a fraction that is at least this one, or, ``is_open``, above it."""
    node: Node | None = _SOME_DIGITS
    bare = not is_open
    if is_open:
        node = seq(Repeat(Lit("0"), 0, run), _NONZERO, DIGITS) if run else seq(_NONZERO, DIGITS)
    for place, digit in enumerate(reversed(digits)):
        above = [] if digit == "9" else [seq(_digits(int(digit) + 1, 9), DIGITS)]
        node = _choice([_after(digit, (node, bare)), *above], place, named)
        bare = False
    return node, bare


def _fraction_to(digits: str, is_open: bool, named: Named) -> tuple[Node | None, bool]:
    """Digits of a fraction that is at most this one, or, ``is_open``, below it."""
    node: Node | None = None if is_open else _SOME_ZEROS
    bare = not is_open
    for place, digit in enumerate(reversed(digits)):
        below = [] if digit == "0" else [seq(_digits(0, int(digit) - 1), DIGITS)]
        node = _choice([_after(digit, (node, bare)), *below], place, named)
        bare = True
    return node, bare


def _fraction_between(
    low: str, low_open: bool, high: str, high_open: bool, run: int, named: Named
) -> tuple[Node | None, bool]:
    shared = 0
    padded = low.ljust(len(high), "0")
    while shared < len(high) and padded[shared] == high[shared]:
        shared += 1
    rest, end = low[shared:], high[shared:]
    if not end:
        # Both are the same, so neither is open.
        node, bare = _fraction_to("", False, named)
    else:
        first, last = int(rest[:1] or "0"), int(end[0])
        options = [
            _after(str(first), _fraction_from(rest[1:], low_open, max(run - 1, 0) if not rest else run, named)),
            _after(str(last), _fraction_to(end[1:], high_open, named)),
        ]
        if first + 1 < last:
            options.insert(1, seq(_digits(first + 1, last - 1), DIGITS))
        node, bare = _choice(options, 0, named), not rest and not low_open
    for place in reversed(range(shared)):
        node = _after(high[place], (node, bare))
        bare = place >= len(low) and not low_open
    return node, bare


def _choice(options: list[Node | None], place: int, named: Named) -> Node | None:
    left = [option for option in options if option is not None]
    if not left:
        return None
    return named(alt(left)) if place % TREE_GROUPS == TREE_GROUPS - 1 else alt(left)


def _between(low: str, high: str, named: Named) -> Node:
    """Digits from ``low`` to ``high``, both of one length."""
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    if shared == len(low):
        return Lit(low)
    first, last, rest = int(low[shared]), int(high[shared]), len(low) - shared - 1
    options: list[Node] = []
    below, above = low[shared + 1 :], high[shared + 1 :]
    if below != "0" * rest:
        options.append(seq(Lit(str(first)), _fixed(below, "9", named)))
        first += 1
    if above != "9" * rest:
        last -= 1
    if first <= last:
        options.append(seq(_digits(first, last), _any(rest)))
    if above != "9" * rest:
        options.append(seq(Lit(str(last + 1)), _fixed(above, "0", named)))
    return seq(Lit(low[:shared]), alt(options)) if shared else alt(options)


def _fixed(digits: str, towards: str, named: Named) -> Node:
    """As many digits as these, at least (``towards`` "9") or at most ("0") these."""
    end = "0" if towards == "9" else "9"
    kept = digits.rstrip(end)
    node = _any(len(digits) - len(kept))
    rest = len(digits) - len(kept)
    for place, digit in enumerate(reversed(kept)):
        same = seq(Lit(digit), node)
        if place == 0 and digit != towards:
            # What follows is free, so the digit itself is as good as any beyond it.
            span = (int(digit), 9) if towards == "9" else (0, int(digit))
            node = seq(_digits(*span), node)
        elif digit == towards:
            node = same
        else:
            span = (int(digit) + 1, 9) if towards == "9" else (0, int(digit) - 1)
            node = alt((same, seq(_digits(*span), _any(rest))))
            if isinstance(node, Alt) and place % TREE_GROUPS == TREE_GROUPS - 1:
                node = named(node)
        rest += 1
    return node


def _digits(first: int, last: int) -> Node:
    return Lit(str(first)) if first == last else Chars(((0x30 + first, 0x30 + last),))


def _any(number: int) -> Node:
    return Repeat(DIGIT, number, number) if number else seq()
