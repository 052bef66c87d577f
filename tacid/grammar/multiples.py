"""Multiples: a list where there are few, else an automaton that carries the remainder from digit to digit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from tacid.grammar.context import Scope
from tacid.grammar.nodes import Chars, Lit, Node, Ref, Repeat
from tacid.grammar.primitives import DIGIT
from tacid.grammar.shapes import alt, optional, seq

#: Multiples within bounds that are listed one by one.
MAX_LISTED = 512
#: States of an automaton before and after those that mean the same are one.
MAX_BUILT = 3000
MAX_STATES = 128
#: Why a multiple isn't held.
MULTIPLES = "the multiples have too many remainders to tell apart"

#: Fewest digits after the point for which a writer may choose scientific notation.
_FINE = 5

State: TypeAlias = tuple[int, ...]


class _TooMany(Exception):
    """An automaton has too many states."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """States from ``start``, what each character leads to, and where a text may end."""

    start: State
    next: Callable[[State], Mapping[str, State]]
    ends: Callable[[State], bool]


def few_multiples(
    low: Decimal | None, low_open: bool, high: Decimal | None, high_open: bool, step: Decimal
) -> list[str] | None:
    """All multiples within two bounds as texts, where they are no more than `MAX_LISTED`; else ``None``."""
    if low is None or high is None:
        return None
    unit = Fraction(step)
    least, most = Fraction(low) / unit, Fraction(high) / unit
    first, last = ceil(least), floor(most)
    first += low_open and first == least
    last -= high_open and last == most
    if last - first >= MAX_LISTED:
        return None
    return [text for number in range(first, last + 1) for text in _texts(number, step)]


def _texts(number: int, step: Decimal) -> list[str]:
    _, digits, exponent = step.as_tuple()
    assert isinstance(exponent, int)
    scaled = abs(number) * int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    value = Decimal((int(number < 0), tuple(map(int, str(scaled))), min(exponent, 0)))
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if value and abs(value) < Decimal("0.0001"):
        return [text, repr(float(value))]
    return [text]


def whole_multiples(scope: Scope, step: int, least: int | None, most: int | None) -> Node | None:
    """Integers that are multiples, from ``least`` to ``most``; ``None`` where that takes too many states."""
    options: list[Node] = []
    sides: list[tuple[Node, int, int | None]] = []
    if least is None or least < 0:
        sides.append((Lit("-"), 1 if most is None or most >= 0 else -most, None if least is None else -least))
    if most is None or most >= 0:
        sides.append((seq(), max(least or 0, 0), most))
    if least is None and most is None:
        sides = [(optional(Lit("-")), 0, None)]
    for sign, low, high in sides:
        if low == 0:
            options.append(seq(sign, Lit("0")))
        if high == 0:
            continue
        zeros, bare = 0, step
        if low <= 1 and high is None:
            # A multiple of 1,200 is one of 12 with two zeros.
            while bare % 10 == 0:
                zeros, bare = zeros + 1, bare // 10
        try:
            node = _grown(scope, _within(bare, max(low, 1), high))
        except _TooMany:
            scope.discard()
            return None
        if node is None:
            continue
        options.append(seq(sign, node, Lit("0" * zeros)) if zeros else seq(sign, node))
    return scope.rule("multiple", alt(options)) if options else None


def _within(step: int, low: int, high: int | None) -> Automaton:
    """Multiples of ``step`` between bounds. A state: digits so far, how they compare to each bound's, the remainder."""
    bottom, top = str(low), None if high is None else str(high)

    def follow(state: State) -> Mapping[str, State]:
        size, below, above, rest = state
        found: dict[str, State] = {}
        for digit in "123456789" if size == 0 else "0123456789":
            place = size + 1
            under, over = below, above
            if not under and size < len(bottom):
                under = (digit > bottom[size]) - (digit < bottom[size])
            if top is not None:
                if place > len(top):
                    continue
                over = over or (digit > top[size]) - (digit < top[size])
                if place == len(top) and over > 0:
                    continue
            elif place > len(bottom):
                # Longer than the lower bound: neither the length nor the comparison matters any more.
                place, under = len(bottom) + 1, 1
            found[digit] = (place, under, over, (rest * 10 + int(digit)) % step)
        return found

    def ends(state: State) -> bool:
        size, below, _, rest = state
        return rest == 0 and size > 0 and (size > len(bottom) or (size == len(bottom) and below >= 0))

    return Automaton((0, 0, 0, 0), follow, ends)


def decimal_multiples(scope: Scope, step: Decimal, *, signed: bool) -> Node | None:
    """Multiples of a step with a fraction, all of them or, not ``signed``, those not below 0."""
    _, digits, exponent = step.normalize().as_tuple()
    assert isinstance(exponent, int)
    unit, places = int("".join(map(str, digits))), -exponent
    if places >= _FINE and unit != 1:
        return None
    try:
        node = _grown(scope, _fractions(unit, places))
    except _TooMany:
        return None
    assert node is not None  # 0 is always one
    options = [node]
    for power in range(_FINE, places + 1):
        # Exactly the digits that are left after the first one.
        mantissa = seq(Chars(((0x31, 0x39),)), *_point(places - power))
        sign_and_zero: Node = seq(Lit("-"), optional(Lit("0"))) if power < 10 else Lit("-")
        options.append(seq(mantissa, Chars(((0x45, 0x45), (0x65, 0x65))), sign_and_zero, Lit(str(power))))
    sign = [optional(Lit("-"))] if signed else []
    return scope.rule("multiple", seq(*sign, scope.rule("multiple", alt(options))))


def _point(places: int) -> list[Node]:
    return [optional(seq(Lit("."), Repeat(DIGIT, 1, places)))] if places else []


def _fractions(unit: int, places: int) -> Automaton:
    """Multiples of ``unit`` ten-to-the-minus-``places``. A state: what is next, digits after the point, remainder."""
    begin, zero, whole, point, fraction = range(5)

    def follow(state: State) -> Mapping[str, State]:
        kind, done, rest = state
        found: dict[str, State] = {}
        if kind in (begin, whole):
            found = {digit: (whole, 0, (rest * 10 + int(digit)) % unit) for digit in "123456789"}
            found["0"] = (zero, 0, 0) if kind == begin else (whole, 0, rest * 10 % unit)
        elif kind in (point, fraction) and done < places:
            found = {digit: (fraction, done + 1, (rest * 10 + int(digit)) % unit) for digit in "0123456789"}
        elif kind == fraction and rest == 0:
            found["0"] = state
        if kind in (zero, whole):
            found["."] = (point, 0, rest)
        return found

    def ends(state: State) -> bool:
        kind, done, rest = state
        return kind in (zero, whole, fraction) and rest * 10 ** (places - done) % unit == 0

    return Automaton((begin, 0, 0), follow, ends)


def _grown(scope: Scope, automaton: Automaton) -> Node | None:
    """The automaton as rules that lead on to each other; ``None`` where it takes nothing. Raises `_TooMany`."""
    follow: dict[State, Mapping[str, State]] = {}
    waiting = [automaton.start]
    while waiting:
        state = waiting.pop()
        if state in follow:
            continue
        if len(follow) >= MAX_BUILT:
            raise _TooMany
        follow[state] = automaton.next(state)
        waiting.extend(follow[state].values())
    living = _living(follow, automaton.ends)
    if automaton.start not in living:
        return None
    follow = {s: {c: t for c, t in follow[s].items() if t in living} for s in follow if s in living}
    kinds = _merged(follow, automaton.ends)
    if len(set(kinds.values())) > MAX_STATES:
        raise _TooMany
    chosen: dict[int, State] = {}
    for state in follow:
        chosen.setdefault(kinds[state], state)
    names: dict[int, str] = {}
    order = [kinds[automaton.start]]
    for kind in order:
        if follow[chosen[kind]]:
            names[kind] = scope.name("multiple")
            # Holds the rule's place, so that names and rules are in one order.
            scope.builder.rules[names[kind]] = Lit("")
        order.extend(k for k in dict.fromkeys(kinds[t] for t in follow[chosen[kind]].values()) if k not in order)
    for kind, name in names.items():
        by_target: dict[int, list[str]] = {}
        for char, target in sorted(follow[chosen[kind]].items()):
            by_target.setdefault(kinds[target], []).append(char)
        steps = [seq(_chars(chars), Ref(names[to]) if to in names else seq()) for to, chars in by_target.items()]
        node = alt(steps)
        scope.builder.put(name, optional(node) if automaton.ends(chosen[kind]) else node)
    return Ref(names[kinds[automaton.start]])


def _living(follow: Mapping[State, Mapping[str, State]], ends: Callable[[State], bool]) -> set[State]:
    """States from which a text can still end."""
    before: dict[State, list[State]] = {}
    for state, targets in follow.items():
        for target in targets.values():
            before.setdefault(target, []).append(state)
    living: set[State] = set()
    waiting = [state for state in follow if ends(state)]
    while waiting:
        state = waiting.pop()
        if state not in living:
            living.add(state)
            waiting.extend(before.get(state, ()))
    return living


def _merged(follow: Mapping[State, Mapping[str, State]], ends: Callable[[State], bool]) -> dict[State, int]:
    """For each state the number of its kind; states of one kind admit the same (Moore's algorithm)."""
    kinds = {state: int(ends(state)) for state in follow}
    count = 0
    while True:
        seen: dict[tuple[int, frozenset[tuple[str, int]]], int] = {}
        refined = {
            state: seen.setdefault(
                (kinds[state], frozenset((char, kinds[target]) for char, target in targets.items())), len(seen)
            )
            for state, targets in follow.items()
        }
        if len(seen) == count:
            return refined
        kinds, count = refined, len(seen)


def _chars(chars: list[str]) -> Node:
    ranges: list[tuple[int, int]] = []
    for point in sorted(map(ord, chars)):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return Lit(chars[0]) if len(chars) == 1 else Chars(tuple(ranges))
