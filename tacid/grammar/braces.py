"""Braces around members: in order, each given or left out, so that a formula about them and their number hold.

What may follow depends on the place among the members, on what the formula still demands (a node of its diagram) and,
where it matters, on how many have been given. Each such state has rules of its own, before and after the first comma;
with no formula and no bounds there is one state a place, so size is linear, however many members are optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tacid.grammar.context import Scope
from tacid.grammar.nodes import EMPTY, Lit, Node, Repeat
from tacid.grammar.shapes import alt, count, seq
from tacid.schema.presence import Diagram

_COMMA, _CLOSE = Lit(","), Lit("}")
#: States that one object may have.
MAX_STATES = 3000
#: Members counted one by one where some of them may come in any order.
_MAX_COUNTED = 64


class TooManyStates(Exception):
    """An object has more states than are borne."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member's text, colon and value included, whether it must be given, and its place in the diagram."""

    node: Node
    required: bool
    place: int


@dataclass(frozen=True)
class Wanted:
    """An object: members in order, then ``free`` ones in any order among any number of ``pair`` (``None``: none)."""

    members: Sequence[Member]
    free: Sequence[Member]
    pair: Node | None
    diagram: Diagram | None = None
    formula: int = 1
    least: int = 0
    most: int | None = None


class _State(NamedTuple):
    """What the formula demands, how many members have been given as far as that matters, whether any has been."""

    formula: int
    given: int
    begun: bool


@dataclass
class _Braces:
    scope: Scope
    wanted: Wanted
    tails: dict[tuple[_State, frozenset[int]], Node | None] = field(default_factory=dict)
    used: int = 0

    def given(self, state: _State, place: int) -> _State | None:
        wanted = self.wanted
        formula = state.formula
        if wanted.diagram is not None:
            formula = wanted.diagram.at(formula, place, True)
        number = state.given + 1
        if formula == 0 or (wanted.most is not None and number > wanted.most):
            return None
        return _State(formula, self.counted(number), True)

    def omitted(self, state: _State, place: int) -> _State | None:
        if self.wanted.diagram is None:
            return state
        formula = self.wanted.diagram.at(state.formula, place, False)
        return _State(formula, state.given, state.begun) if formula else None

    def counted(self, number: int) -> int:
        return number if self.wanted.most is not None else min(number, self.wanted.least)

    def node(self) -> Node | None:
        """What stands between the braces, the closing one included; ``None`` where nothing fits."""
        members = self.wanted.members
        levels = [{_State(self.wanted.formula, 0, False)}]
        for member in members:
            states: set[_State] = set()
            for state in levels[-1]:
                given, omitted = self.after(state, member)
                if given is not None:
                    states.add(given)
                if omitted is not None:
                    states.add(omitted)
            levels.append(states)
            self.used += len(states)
            if self.used > MAX_STATES + 2 * len(members):
                raise TooManyStates
        free = frozenset(range(len(self.wanted.free)))
        below = {state: self.tail(state, free) for state in _sorted(levels[-1])}
        for index in range(len(members) - 1, -1, -1):
            member, states = members[index], levels[index]
            node = member.node if len(states) == 1 else self.scope.small("m", member.node)
            below = {state: self.step(state, member, node, below) for state in _sorted(states)}
        (whole,) = below.values()
        return whole

    def after(self, state: _State, member: Member) -> tuple[_State | None, _State | None]:
        return self.given(state, member.place), None if member.required else self.omitted(state, member.place)

    def step(self, state: _State, member: Member, node: Node, below: dict[_State, Node | None]) -> Node | None:
        after = self.after(state, member)
        given = None if after[0] is None else below.get(after[0])
        omitted = None if after[1] is None else below.get(after[1])
        if given is not None and not member.required:
            given = self.scope.small("q", given)
        options = [] if given is None else [seq(_COMMA if state.begun else EMPTY, node, given)]
        if omitted is not None:
            options.append(self.scope.small("q" if state.begun else "p", omitted))
        return alt(options) if options else None

    def tail(self, state: _State, left: frozenset[int]) -> Node | None:
        """What follows the members in order: the free ones that are left and pairs, in any order, and the brace."""
        key = (state, left)
        if key not in self.tails:
            self.used += 1
            if self.used > MAX_STATES + 2 * len(self.wanted.members):
                raise TooManyStates
            self.tails[key] = self._tail(state, left)
        return self.tails[key]

    def _tail(self, state: _State, left: frozenset[int]) -> Node | None:
        wanted = self.wanted
        comma = _COMMA if state.begun else EMPTY
        pair = wanted.pair
        if not left and pair is not None and self.needs(state) is not None and state.begun:
            return self.pairs(state, pair)
        options: list[Node] = []
        loops = False
        for index in sorted(left):
            after = self.given(state, wanted.free[index].place)
            rest = None if after is None else self.tail(after, left - {index})
            if rest is not None:
                options.append(seq(comma, wanted.free[index].node, self.scope.small("q", rest)))
        if pair is not None:
            after = self.given(state, self.others)
            if after == state:
                loops = True
            else:
                rest = None if after is None else self.tail(after, left)
                if rest is not None:
                    options.append(seq(comma, pair, self.scope.small("q", rest)))
        if self.closes(state, left):
            options.append(_CLOSE)
        if not options:
            return None
        node = alt(options)
        return seq(Repeat(seq(comma, pair), 0, None), node) if loops and pair is not None else node

    @property
    def others(self) -> int:
        return 0 if self.wanted.diagram is None else self.wanted.diagram.others

    def closes(self, state: _State, left: frozenset[int]) -> bool:
        """Whether the object may end here, with all that is left of the free ones left out."""
        if state.given < self.wanted.least or any(self.wanted.free[index].required for index in left):
            return False
        formula = state.formula
        if self.wanted.diagram is not None:
            for index in left:
                formula = self.wanted.diagram.at(formula, self.wanted.free[index].place, False)
            formula = self.wanted.diagram.at(formula, self.others, False)
        return formula == 1

    def needs(self, state: _State) -> int | None:
        """How many pairs the formula still needs, where it is about nothing else any more."""
        if state.formula == 1 or self.wanted.diagram is None:
            return 0
        met, unmet = (self.wanted.diagram.at(state.formula, self.others, value) for value in (True, False))
        if met == 1:
            return int(unmet == 0)
        return None

    def pairs(self, state: _State, pair: Node) -> Node | None:
        """Further pairs, once none but these may follow, and the brace."""
        wanted = self.wanted
        least = max(wanted.least - state.given, self.needs(state) or 0, 0)
        most = None if wanted.most is None else wanted.most - state.given
        if most is not None and most < least:
            return None
        if most == 0:
            return _CLOSE
        item = seq(_COMMA, pair)
        if least == 0 and most is None:
            return seq(Repeat(item, 0, None), _CLOSE)
        scope = self.scope
        return seq(count(scope.rule("next", item), least, most, lambda node: scope.rule("many", node)), _CLOSE)


def _sorted(states: set[_State]) -> Iterable[_State]:
    return sorted(states) if len(states) > 1 else states


def braces(scope: Scope, wanted: Wanted) -> Node | None:
    """The object's text; ``None`` where nothing fits. Raises `TooManyStates`."""
    if wanted.free and max(wanted.least, wanted.most or 0) > _MAX_COUNTED:
        raise TooManyStates
    node = _Braces(scope, wanted).node()
    return None if node is None else scope.small("obj", seq(Lit("{"), node))


__all__ = ["Member", "TooManyStates", "Wanted", "braces"]
