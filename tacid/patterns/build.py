"""From a pattern's tree to the automaton of the texts in which it is found.

The tree becomes an automaton with conditions on its empty steps (``^``, ``$``, ``\\b``, look-around), and that one a
deterministic automaton whose states are sets of threads. A thread is a place and the look-aheads that the rest of the
text still owes; a look-behind is an automaton of its own that runs beside. So all of these are exact, at a cost that
is bounded in steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from tacid.patterns.charset import ALL, NONE, Ranges, disjoint, partition
from tacid.patterns.language import DEAD, Language, TooLarge, language, walk
from tacid.patterns.parse import WORD
from tacid.patterns.syntax import ANYTHING, Back, Cat, Edge, End, Look, Or, Rep, Set, Start, Tree, cat, nodes

#: Places of the automaton with empty steps.
MAX_PLACES = 6000
#: Steps that threads take, those without a character included; about a third of a second.
MAX_WORK = 100_000

#: What stands before, or after, a place.
_OUTSIDE, _WORD, _OTHER = 0, 1, 2

_Owed = frozenset[tuple[int, int]]
_NOTHING_OWED: _Owed = frozenset()


@dataclass(frozen=True)
class Found:
    """An automaton, and the most threads that one of its states holds: how many stacks the tree itself would cost."""

    language: Language
    threads: int


def search(tree: Tree) -> Found:
    """The texts in which a tree is found anywhere. Raises `TooLarge`. The tree must hold no back reference."""
    found = _search(tree)
    if found is None:
        raise TooLarge
    return found


@lru_cache(maxsize=512)
def _search(tree: Tree) -> Found | None:
    try:
        builder = _Builder(tree)
        start = tree if begins(tree) else cat(ANYTHING, tree)
        rows, accepting, threads = builder.determine(start, _OUTSIDE, whole=True, goes_on=not ends(tree))
        return Found(language(builder.classes, rows, accepting), threads)
    except TooLarge:
        return None


def begins(tree: Tree) -> bool:
    """Whether it is plain that every match of a tree begins where the text does."""
    if isinstance(tree, Cat):
        for item in tree.items:
            if begins(item):
                return True
            if not isinstance(item, (End, Edge, Look)):
                return False
        return False
    if isinstance(tree, Or):
        return all(map(begins, tree.options))
    return isinstance(tree, Start) or (isinstance(tree, Rep) and tree.min > 0 and begins(tree.item))


def ends(tree: Tree) -> bool:
    """Whether it is plain that every match of a tree ends where the text does."""
    if isinstance(tree, Cat):
        for item in reversed(tree.items):
            if ends(item):
                return True
            if not isinstance(item, (Start, Edge, Look)):
                return False
        return False
    if isinstance(tree, Or):
        return all(map(ends, tree.options))
    return isinstance(tree, End) or (isinstance(tree, Rep) and tree.min > 0 and ends(tree.item))


@dataclass
class _Places:
    """Places with steps: on a character of a set, or on nothing if a condition holds."""

    steps: list[tuple[Ranges, int] | None] = field(default_factory=list)
    free: list[list[tuple[Tree | None, int]]] = field(default_factory=list)

    def new(self) -> int:
        if len(self.steps) >= MAX_PLACES:
            raise TooLarge
        self.steps.append(None)
        self.free.append([])
        return len(self.steps) - 1

    def add(self, tree: Tree, after: int) -> int:
        """The place from which a tree leads to ``after``."""
        if isinstance(tree, Set):
            place = self.new()
            self.steps[place] = (tree.ranges, after)
            return place
        if isinstance(tree, Cat):
            for item in reversed(tree.items):
                after = self.add(item, after)
            return after
        if isinstance(tree, Or):
            starts = [self.add(option, after) for option in tree.options]
            place = self.new()
            self.free[place] = [(None, start) for start in starts]
            return place
        if isinstance(tree, Rep):
            return self.repeat(tree, after)
        if isinstance(tree, Back):
            raise TooLarge
        place = self.new()
        self.free[place] = [(tree, after)]
        return place

    def repeat(self, tree: Rep, after: int) -> int:
        if tree.max is None:
            loop = self.new()
            start = self.add(tree.item, loop)
            self.free[loop] = [(None, start), (None, after)]
            place = loop
        else:
            place = after
            for _ in range(tree.max - tree.min):
                start = self.add(tree.item, place)
                place = self.new()
                self.free[place] = [(None, start), (None, after)]
        for _ in range(tree.min):
            start = self.add(tree.item, place)
            if start == place:
                break
            place = start
        return place


class _Builder:
    """Automata of one tree and of what it looks around for, over the same classes of characters."""

    def __init__(self, tree: Tree) -> None:
        every = list(nodes(tree))
        sets = [node.ranges for node in every if isinstance(node, Set)]
        self.edges = any(isinstance(node, Edge) for node in every)
        self.classes, self.made_of = partition([ALL, NONE, *sets, *([WORD] if self.edges else [])])
        self.words = [self.edges and not disjoint(one, WORD) for one in self.classes]
        self.ahead: dict[tuple[Tree, int], int] = {}
        self.machines: list[_Machine] = []
        self.behind: dict[Tree, int] = {}
        self.work = 0

    def kind(self, number: int) -> int:
        return _WORD if self.words[number] else _OTHER

    def determine(
        self, tree: Tree, before: int, *, whole: bool, goes_on: bool
    ) -> tuple[list[list[int]], list[bool], int]:
        """Rows and acceptance of a tree's automaton, and the most threads of a state.

        ``whole``: it runs over the whole text; ``goes_on``: any text may follow.
        """
        return _Subsets(self, tree, before, whole, goes_on).run()

    def look_ahead(self, look: Look, before: int) -> int:
        """The number of the machine that runs over what follows a look-ahead."""
        key = (look, before if self.edges or before == _OUTSIDE else _OTHER)
        if key not in self.ahead:
            rows, accepting, _ = self.determine(look.item, key[1], whole=False, goes_on=True)
            self.ahead[key] = self.machine(rows, accepting, look.negated)
        return self.ahead[key]

    def look_behind(self, look: Look) -> int:
        if look.item not in self.behind:
            rows, accepting, _ = self.determine(cat(ANYTHING, look.item), _OUTSIDE, whole=False, goes_on=False)
            self.behind[look.item] = self.machine(rows, accepting, False)
        return self.behind[look.item]

    def machine(self, rows: list[list[int]], accepting: list[bool], negated: bool) -> int:
        """Keep a machine, made total; its number."""
        sink = len(rows)
        total = [tuple(sink if to == DEAD else to for to in row) for row in rows]
        total.append((sink,) * len(self.classes))
        accepts = [not yes for yes in (*accepting, False)] if negated else [*accepting, False]
        self.machines.append(
            _Machine(total, accepts, _never(total, [not yes for yes in accepts]), _never(total, accepts))
        )
        return len(self.machines) - 1


@dataclass(frozen=True)
class _Machine:
    """A deterministic automaton with a row for every state: where it accepts, always will, and never will."""

    rows: list[tuple[int, ...]]
    accepts: list[bool]
    always: list[bool]
    never: list[bool]


def _never(rows: list[tuple[int, ...]], accepting: list[bool]) -> list[bool]:
    """Which states lead to no accepting one."""
    back: list[set[int]] = [set() for _ in rows]
    for state, row in enumerate(rows):
        for to in set(row):
            back[to].add(state)
    alive = list(accepting)
    waiting = [state for state, yes in enumerate(alive) if yes]
    while waiting:
        for state in back[waiting.pop()]:
            if not alive[state]:
                alive[state] = True
                waiting.append(state)
    return [not yes for yes in alive]


#: Threads, what stands before them, and the state of each look-behind's machine.
_State = tuple[frozenset[tuple[int, _Owed]], int, tuple[int, ...]]


class _Subsets:
    """One tree's deterministic automaton by the construction of subsets."""

    def __init__(self, builder: _Builder, tree: Tree, before: int, whole: bool, goes_on: bool) -> None:
        self.builder = builder
        self.before = before
        self.places = _Places()
        self.final = self.places.new()
        #: Places from which, with nothing owed, every text is accepted.
        self.universal: set[int] = set()
        after = self.final
        if goes_on:
            after = self.places.add(ANYTHING, self.final)
            self.universal.add(after)
        self.start = self.places.add(tree, after)
        self.spread()
        # Only what runs over the whole text knows all that was before a place.
        behind = [n.item for n in nodes(tree) if isinstance(n, Look) and n.behind] if whole else []
        self.behind = {item: index for index, item in enumerate(dict.fromkeys(behind))}
        self.machines = [builder.look_behind(Look(item, True, False)) for item in self.behind]
        self.closures: dict[tuple[int, int, int, tuple[bool, ...]], list[tuple[int, _Owed]]] = {}

    def spread(self) -> None:
        """Find what leads to a universal place unconditionally."""
        back: dict[int, list[int]] = {}
        for place, free in enumerate(self.places.free):
            for condition, to in free:
                if condition is None:
                    back.setdefault(to, []).append(place)
        waiting = list(self.universal)
        while waiting:
            for place in back.get(waiting.pop(), ()):
                if place not in self.universal:
                    self.universal.add(place)
                    waiting.append(place)

    def run(self) -> tuple[list[list[int]], list[bool], int]:
        first: _State = (
            frozenset({(self.start, _NOTHING_OWED)}),
            self.before,
            tuple(0 for _ in self.machines),
        )
        accepting: list[bool] = []

        def after(state: _State) -> list[_State | None]:
            found = self.targets(state)
            accepting.append(self.accepts(state))
            return found

        rows, states = walk(first, after)
        return rows, accepting, max(1, *(len(state[0]) for state in states))

    def targets(self, state: _State) -> list[_State | None]:
        """The state after a character of each class."""
        builder = self.builder
        threads, before, behind = state
        seen = self.seen(behind)
        found: list[dict[tuple[int, _Owed], None]] = [{} for _ in builder.classes]
        for place, owed in threads:
            for kind in (_WORD, _OTHER) if builder.edges else (_OTHER,):
                for at, more in self.closure(place, before, kind, seen):
                    step = self.places.steps[at]
                    assert step is not None
                    everything = owed | more
                    for number in builder.made_of[step[0]]:
                        builder.work += 1
                        if builder.edges and builder.kind(number) != kind:
                            continue
                        left = self.advanced(everything, number) if everything else _NOTHING_OWED
                        if left is not None:
                            found[number][(step[1], left)] = None
            if builder.work > MAX_WORK:
                raise TooLarge
        return [self.state(threads, number, behind) if threads else None for number, threads in enumerate(found)]

    def state(self, threads: Iterable[tuple[int, _Owed]], number: int, behind: tuple[int, ...]) -> _State:
        builder = self.builder
        after = tuple(builder.machines[m].rows[one][number] for m, one in zip(self.machines, behind, strict=True))
        kept = frozenset(threads)
        for place, owed in kept:
            if not owed and place in self.universal:
                return frozenset({(min(self.universal), _NOTHING_OWED)}), _OTHER, tuple(0 for _ in after)
        if any(owed for _, owed in kept):
            plain = {place for place, owed in kept if not owed}
            kept = frozenset((place, owed) for place, owed in kept if not owed or place not in plain)
        return kept, builder.kind(number) if builder.edges else _OTHER, after

    def seen(self, behind: tuple[int, ...]) -> tuple[bool, ...]:
        return tuple(self.builder.machines[m].accepts[one] for m, one in zip(self.machines, behind, strict=True))

    def accepts(self, state: _State) -> bool:
        threads, before, behind = state
        for place, owed in threads:
            for _, more in self.closure(place, before, _OUTSIDE, self.seen(behind)):
                if all(self.builder.machines[m].accepts[one] for m, one in owed | more):
                    return True
        return False

    def advanced(self, owed: _Owed, number: int) -> _Owed | None:
        """What is owed after a character; ``None`` where it can't be had any more."""
        left = []
        for machine, one in owed:
            runs = self.builder.machines[machine]
            to = runs.rows[one][number]
            if runs.always[to]:
                continue
            if runs.never[to]:
                return None
            left.append((machine, to))
        return frozenset(left)

    def closure(self, place: int, before: int, after: int, seen: tuple[bool, ...]) -> list[tuple[int, _Owed]]:
        """Where a place leads without a character, with what is owed then: places that step, or the final one."""
        key = (place, before, after, seen)
        known = self.closures.get(key)
        if known is None:
            known = self.closures[key] = self.new_closure(place, before, after, seen)
        return known

    def new_closure(self, place: int, before: int, after: int, seen: tuple[bool, ...]) -> list[tuple[int, _Owed]]:
        visited: dict[tuple[int, _Owed], None] = {(place, _NOTHING_OWED): None}
        waiting = [(place, _NOTHING_OWED)]
        found: list[tuple[int, _Owed]] = []
        while waiting:
            at, owed = waiting.pop()
            self.builder.work += 1
            if after == _OUTSIDE:
                if at == self.final:
                    found.append((at, owed))
            elif self.places.steps[at] is not None:
                found.append((at, owed))
            for condition, to in self.places.free[at]:
                more = self.holds(condition, before, after, seen)
                if more is not None and (next_one := (to, owed | more)) not in visited:
                    visited[next_one] = None
                    waiting.append(next_one)
            if self.builder.work > MAX_WORK:
                raise TooLarge
        return found

    def holds(self, condition: Tree | None, before: int, after: int, seen: tuple[bool, ...]) -> _Owed | None:
        """What a condition lets the rest of the text owe; ``None`` where it doesn't hold."""
        if condition is None:
            return _NOTHING_OWED
        if isinstance(condition, Start):
            return _NOTHING_OWED if before == _OUTSIDE else None
        if isinstance(condition, End):
            return _NOTHING_OWED if after == _OUTSIDE else None
        if isinstance(condition, Edge):
            return _NOTHING_OWED if ((before == _WORD) != (after == _WORD)) != condition.negated else None
        assert isinstance(condition, Look)
        if condition.behind:
            if condition.item not in self.behind:
                raise TooLarge
            return _NOTHING_OWED if seen[self.behind[condition.item]] != condition.negated else None
        machine = self.builder.look_ahead(condition, before)
        runs = self.builder.machines[machine]
        return _NOTHING_OWED if runs.always[0] else None if runs.never[0] else frozenset({(machine, 0)})
