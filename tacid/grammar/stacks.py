"""The stacks behind a walk: linked places, and one step from places to the cells that match characters.

What a place leads to never changes once a step is done, so a state can be kept and copied for nothing. Two stacks of
the same content are one object, and stacks that enter the same rule at the same character share what the rule does
from there: an ambiguous grammar costs a polynomial, where separate stacks would double with every level.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from tacid.grammar.nodes import Alt, Chars, Lit, Node, Ref, Repeat, Seq

LAST_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


class Place:
    """Where a walk stands or goes on. Itself: the end of the text."""

    __slots__ = ("above",)

    def __init__(self) -> None:
        self.above: dict[tuple[int, int], Cell] = {}

    def cell(self, node: Node, at: int = 0) -> Cell:
        """The one cell for the rest of this node with this place below it. Nodes live as long as their rules."""
        key = (id(node), at)
        found = self.above.get(key)
        if found is None:
            found = self.above[key] = Cell(node, at, self)
        return found


class Cell(Place):
    """A node that is still to be matched, from ``at`` on (characters, items or rounds done), and what is ``below``."""

    __slots__ = ("at", "below", "node")

    def __init__(self, node: Node, at: int, below: Place) -> None:
        super().__init__()
        self.node = node
        self.at = at
        self.below = below


class Call(Place):
    """A rule entered at one character: the cells that its end leads to."""

    __slots__ = ("below",)

    def __init__(self, below: Cell) -> None:
        super().__init__()
        self.below: list[Cell] = [below]


class State:
    """Where a walk stands: places, the cells at which the next character is matched, whether the text may end."""

    __slots__ = ("complete", "places", "tops")

    def __init__(self, places: tuple[Place, ...], tops: tuple[Cell, ...], complete: bool) -> None:
        self.places = places
        self.tops = tops
        self.complete = complete

    def literal(self) -> str:
        """What is left of the literal that alone may go on here, or nothing."""
        if len(self.tops) != 1:
            return ""
        node = self.tops[0].node
        return node.text[self.tops[0].at :] if isinstance(node, Lit) else ""


def open_places(places: Iterable[Place], rules: Mapping[str, Node], through_gates: bool) -> State:
    """The state at these places: each followed down to the characters that it may go on with."""
    distinct = tuple({id(place): place for place in places}.values())
    opening = _Opening(rules, through_gates)
    opening.follow(distinct)
    return State(distinct, tuple(opening.tops), opening.complete)


def step(tops: Iterable[Cell], char: str) -> list[Place]:
    """Where the cells that match this character lead."""
    places: list[Place] = []
    point = ord(char)
    for top in tops:
        node = top.node
        if isinstance(node, Lit):
            if node.text[top.at] == char:
                places.append(top.below if top.at + 1 == len(node.text) else top.below.cell(node, top.at + 1))
        elif isinstance(node, Chars) and _contains(node, point):
            places.append(top.below)
    return places


class _Opening:
    """One step's work: from places to the cells that match characters."""

    def __init__(self, rules: Mapping[str, Node], through_gates: bool) -> None:
        self.rules = rules
        self.through_gates = through_gates
        self.tops: list[Cell] = []
        self.complete = False
        self.calls: dict[str, Call] = {}
        self.done: set[int] = set()
        self.todo: list[Place] = []

    def follow(self, places: tuple[Place, ...]) -> None:
        self.todo.extend(reversed(places))
        while self.todo:
            place = self.todo.pop()
            if id(place) in self.done:
                continue
            self.done.add(id(place))
            if isinstance(place, Cell):
                self.expand(place)
            elif isinstance(place, Call):
                self.todo.extend(reversed(place.below))
            else:
                self.complete = True

    def expand(self, cell: Cell) -> None:
        node, at, below = cell.node, cell.at, cell.below
        if isinstance(node, Lit):
            if at < len(node.text):
                self.tops.append(cell)
            else:
                self.todo.append(below)
        elif isinstance(node, Chars):
            self.tops.append(cell)
        elif isinstance(node, Seq):
            if at < len(node.items):
                after = below if at + 1 == len(node.items) else below.cell(node, at + 1)
                self.todo.append(after.cell(node.items[at]))
            else:
                self.todo.append(below)
        elif isinstance(node, Alt):
            self.todo.extend([below.cell(option) for option in reversed(node.options)])
        elif isinstance(node, Repeat):
            if at >= node.min:
                self.todo.append(below)
            if node.max is None or at < node.max:
                # Without a maximum all rounds past the minimum are alike.
                again = cell if node.max is None and at == node.min else below.cell(node, at + 1)
                self.todo.append(again.cell(node.item))
        elif isinstance(node, Ref) or self.through_gates:
            self.enter(node.name, below)
        else:
            self.tops.append(cell)

    def enter(self, name: str, below: Place) -> None:
        if not isinstance(below, Cell):
            # At the end of a rule, or of everything, there is nothing to come back to: recursion there stays flat.
            self.todo.append(below.cell(self.rules[name]))
            return
        call = self.calls.get(name)
        if call is None:
            call = self.calls[name] = Call(below)
            self.todo.append(call.cell(self.rules[name]))
        elif all(place is not below for place in call.below):
            call.below.append(below)
            if id(call) in self.done:
                self.todo.append(below)


def _contains(node: Chars, point: int) -> bool:
    if SURROGATES[0] <= point <= SURROGATES[1]:
        return False
    index = bisect_right(node.ranges, (point, LAST_POINT)) - 1
    return (index >= 0 and point <= node.ranges[index][1]) is not node.negated
