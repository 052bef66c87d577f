"""A list whose items are tallied, as states: how many items, how many hits of each kind, which values so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tacid.grammar.context import Scope
from tacid.grammar.nodes import Lit, Node, Repeat
from tacid.grammar.shapes import alt, seq

#: States of one list, and ways from one to another: six values that are to differ take 64 and 192.
MAX_STATES = 256
MAX_WAYS = 512
#: Ways in all lists of a grammar.
MAX_ALL_WAYS = 4096

_COMMA, _OPEN, _CLOSE = Lit(","), Lit("["), Lit("]")

#: How many items (no more than matters), how many hits for each count, and the numbers of the values as bits.
_State: TypeAlias = tuple[int, tuple[int, ...], int]


class TooManyStates(Exception):
    """The list needs more states or ways than the bounds allow."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Items of one kind: what they are as text, which counts they hit, and, where that matters, their value's number.

    ``loose`` for a count: those that hit it are also among the items of a kind that doesn't.
    """

    node: Node
    hits: tuple[bool, ...]
    loose: tuple[bool, ...]
    value: int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """A list: the kinds of items at each place (the last for all further ones), and bounds of items and of hits."""

    kinds: Sequence[Sequence[Kind]]
    least: int
    most: int | None
    counts: Sequence[tuple[int, int | None]]

    def after(self, state: _State, kind: Kind) -> _State | None:
        """The state after one more item, ``None`` where that may not be."""
        number, hits, values = state
        if self.most is not None and number >= self.most:
            return None
        if kind.value is not None and values >> kind.value & 1:
            return None
        counted = []
        for hit, loose, so_far, (least, most) in zip(kind.hits, kind.loose, hits, self.counts, strict=True):
            if hit and so_far == (least if most is None else most):
                if most is not None or loose:
                    return None
                hit = False
            counted.append(so_far + hit)
        last = max(len(self.kinds) - 1, self.least) if self.most is None else self.most
        bit = 0 if kind.value is None else 1 << kind.value
        return min(number + 1, last), tuple(counted), values | bit

    def ends(self, state: _State) -> bool:
        """Whether the list may end in a state."""
        return state[0] >= self.least and all(
            so_far >= least for so_far, (least, _) in zip(state[1], self.counts, strict=True)
        )

    def ways(self, state: _State) -> dict[_State, list[Node]]:
        """The states that one more item leads to, and the items that do."""
        found: dict[_State, list[Node]] = {}
        for kind in self.kinds[min(state[0], len(self.kinds) - 1)] if self.kinds else ():
            after = self.after(state, kind)
            if after is not None:
                found.setdefault(after, []).append(kind.node)
        return found


def tally(scope: Scope, wanted: Tally) -> Node | None:
    """The text of the list, ``None`` where none fits. Raises `TooManyStates`."""
    start: _State = (0, (0,) * len(wanted.counts), 0)
    ways: dict[_State, dict[_State, list[Node]]] = {}
    waiting = [start]
    spent = 0
    for state in waiting:
        if state in ways:
            continue
        ways[state] = wanted.ways(state)
        spent += sum(map(len, ways[state].values()))
        if len(ways) > MAX_STATES or spent > MAX_WAYS or scope.builder.ways + spent > MAX_ALL_WAYS:
            raise TooManyStates
        waiting.extend(ways[state])
    scope.builder.ways += spent
    tails: dict[_State, Node] = {}
    # Nothing is ever counted down, so every way but one back to the same state leads to a larger sum.
    for state in sorted(ways, key=lambda one: (-one[0] - sum(one[1]) - one[2].bit_count(), one)):
        tail = _tail(scope, state, ways[state], tails, wanted.ends(state))
        if tail is not None:
            tails[state] = tail
    if start not in tails:
        return None
    options = _onward(ways[start], tails)
    if wanted.ends(start):
        options.append(_CLOSE)
    return seq(_OPEN, alt(options))


def _tail(
    scope: Scope, state: _State, ways: dict[_State, list[Node]], tails: dict[_State, Node], ends: bool
) -> Node | None:
    """What follows an item after which the list is in a state; ``None`` where it can't end any more."""
    onward = _onward({to: nodes for to, nodes in ways.items() if to != state}, tails)
    options: list[Node] = [seq(_COMMA, alt(onward))] if onward else []
    if ends:
        options.append(_CLOSE)
    if not options:
        return None
    tail = alt(options)
    if state in ways:
        tail = seq(Repeat(seq(_COMMA, alt(ways[state])), 0, None), tail)
    return tail if isinstance(tail, Lit) else scope.rule("items", tail)


def _onward(ways: dict[_State, list[Node]], tails: dict[_State, Node]) -> list[Node]:
    """One more item and what follows it, for each state that the list can end from."""
    return [seq(alt(nodes), tails[to]) for to, nodes in ways.items() if to in tails]


__all__ = ["MAX_STATES", "MAX_WAYS", "Kind", "Tally", "TooManyStates", "tally"]
