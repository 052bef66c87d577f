"""Languages: sets of texts as deterministic automata over classes of characters, minimal and numbered one way.

What a caller has (objects' keys, strings): `tacid.patterns.string_language(pattern, least, most)` makes one of a
pattern as JSON Schema means it (unanchored) and of lengths, or ``None`` where that isn't exact or is too large;
`of_texts` makes one of texts counted out, `ANY_TEXT` and `NO_TEXT` are the two ends. `both`, `any_of`, `without` and
`other_texts` combine them and raise `TooLarge` above `MAX_STATES`; `is_empty`, `is_everything`, `accepts`, `texts` and
`sizes` ask. Equal languages are equal objects. `tacid.grammar.automata.language_node` makes grammar of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from tacid.deadline import check
from tacid.patterns.charset import ALL, Ranges, contains, intersection, ranges_of, union

#: States that an automaton may have, before and after it is made minimal.
MAX_STATES = 4000
#: Steps (states times classes of characters) that one operation may take; a million are about a second.
MAX_STEPS = 250_000
#: No state: from there, nothing is accepted.
DEAD: Final = -1

State = TypeVar("State")


class TooLarge(Exception):
    """An automaton went over a bound."""


@dataclass(frozen=True)
class Language:
    """A set of texts.

    From state ``i``, a character of ``classes[c]`` leads to state ``rows[i][c]`` (`DEAD`: nowhere); the first state is
    0. Every state but the first is on the way from it to an ``accepting`` one.
    """

    classes: tuple[Ranges, ...]
    rows: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def accepts(self, text: str) -> bool:
        """Whether a text is in the language."""
        state = 0
        for char in text:
            point = ord(char)
            state = next(
                (to for ranges, to in zip(self.classes, self.rows[state], strict=True) if contains(ranges, point)), DEAD
            )
            if state == DEAD:
                return False
        return self.accepting[state]

    @property
    def is_empty(self) -> bool:
        """Whether no text is in the language."""
        return not self.accepting[0] and all(to == DEAD for to in self.rows[0])

    @property
    def is_everything(self) -> bool:
        """Whether every text is in the language."""
        return self == ANY_TEXT

    @cached_property
    def sizes(self) -> tuple[int, int | None]:
        """How many characters the shortest text has, and the longest (``None``: without bound); (0, 0) of no text."""
        if self.is_empty:
            return 0, 0
        level, seen, shortest = {0}, set[int](), 0
        while not any(self.accepting[state] for state in level):
            seen |= level
            level = {to for state in level for to in self.rows[state] if to != DEAD} - seen
            shortest += 1
        order = self._order()
        if order is None:
            return shortest, None
        longest = [0] * len(self.rows)
        for state in reversed(order):
            longest[state] = max((longest[to] + 1 for to in self.rows[state] if to != DEAD), default=0)
        return shortest, longest[0]

    def texts(self, limit: int) -> list[str] | None:
        """Every text of the language, or ``None`` where there are more than ``limit``."""
        if self._order() is None:
            return None
        found: list[str] = []
        waiting = [(0, "")]
        while waiting:
            state, text = waiting.pop()
            if self.accepting[state]:
                found.append(text)
            for ranges, to in zip(self.classes, self.rows[state], strict=True):
                if to == DEAD:
                    continue
                for low, high in ranges:
                    if high - low > limit:
                        return None
                    waiting.extend((to, text + chr(point)) for point in range(low, high + 1))
            # Every state leads to a text, so each way that waits is one more.
            if len(found) + len(waiting) > limit + 1:
                return None
        return sorted(found) if len(found) <= limit else None

    def _order(self) -> list[int] | None:
        """The states, each before those it leads to; ``None`` where that goes round."""
        into = [0] * len(self.rows)
        for row in self.rows:
            for to in set(row) - {DEAD}:
                into[to] += 1
        order = [0] if not into[0] else []
        for state in order:
            for to in set(self.rows[state]) - {DEAD}:
                into[to] -= 1
                if not into[to]:
                    order.append(to)
        return order if len(order) == len(self.rows) else None


ANY_TEXT: Final = Language((ALL,), ((0,),), (True,))
NO_TEXT: Final = Language((ALL,), ((DEAD,),), (False,))


def of_texts(texts: Iterable[str]) -> Language:
    """The language of exactly these texts (one with half a surrogate pair is left out)."""
    wanted = sorted({text for text in texts if not any("\ud800" <= char <= "\udfff" for char in text)})
    points = sorted({ord(char) for text in wanted for char in text})
    numbers = {point: index for index, point in enumerate(points)}
    rows: list[list[int]] = [[DEAD] * len(points)]
    accepting = [False]
    for text in wanted:
        state = 0
        for char in text:
            number = numbers[ord(char)]
            if rows[state][number] == DEAD:
                if len(rows) >= MAX_STATES or len(rows) * len(points) > MAX_STEPS:
                    raise TooLarge
                rows[state][number] = len(rows)
                rows.append([DEAD] * len(points))
                accepting.append(False)
            state = rows[state][number]
        accepting[state] = True
    return language([((point, point),) for point in points], rows, accepting)


def of_lengths(least: int, most: int | None) -> Language:
    """Every text of at least ``least`` and at most ``most`` characters."""
    last = least if most is None else most
    if last >= MAX_STATES:
        raise TooLarge
    rows = [[state + 1] for state in range(last)] + [[last if most is None else DEAD]]
    return language([ALL], rows, [state >= least for state in range(last + 1)])


def both(one: Language, other: Language, *, most: int = MAX_STATES) -> Language:
    """The texts that are in both languages; of at most so many states, before those that lead nowhere are gone."""
    return _product(one, other, lambda a, b: a and b, both_needed=True, most=most)


def any_of(one: Language, other: Language) -> Language:
    """The texts that are in either language."""
    return _product(one, other, lambda a, b: a or b, both_needed=False)


def without(one: Language, other: Language) -> Language:
    """The texts of the first language that are not in the second."""
    return _product(one, other, lambda a, b: a and not b, both_needed=False)


def other_texts(one: Language) -> Language:
    """Every text that is not in the language."""
    return without(ANY_TEXT, one)


def language(
    classes: Iterable[Ranges], rows: Iterable[Iterable[int]], accepting: Iterable[bool], start: int = 0
) -> Language:
    """The minimal automaton of a deterministic one whose classes are disjoint and may leave characters out."""
    listed = list(classes)
    table = [list(row) for row in rows]
    missing = ranges_of(ALL) if not listed else ()
    if listed:
        covered = union(*listed)
        missing = intersection(ALL, _gaps(covered))
    if missing:
        listed.append(missing)
        for row in table:
            row.append(DEAD)
    return _minimal(listed, table, list(accepting), start)


def _gaps(ranges: Ranges) -> Ranges:
    gaps, start = [], 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    return (*gaps, (start, 0x10FFFF)) if start <= 0x10FFFF else tuple(gaps)


def _product(
    one: Language,
    other: Language,
    accept: Callable[[bool, bool], bool],
    *,
    both_needed: bool,
    most: int = MAX_STATES,
) -> Language:
    pairs = [
        (common, i, j)
        for i, left in enumerate(one.classes)
        for j, right in enumerate(other.classes)
        if (common := intersection(left, right))
    ]

    def after(state: tuple[int, int]) -> list[tuple[int, int] | None]:
        left = one.rows[state[0]] if state[0] != DEAD else nowhere[0]
        right = other.rows[state[1]] if state[1] != DEAD else nowhere[1]
        found: list[tuple[int, int] | None] = []
        for _, i, j in pairs:
            to = (left[i], right[j])
            found.append(None if ((DEAD in to) if both_needed else to == (DEAD, DEAD)) else to)
        return found

    nowhere = (DEAD,) * len(one.classes), (DEAD,) * len(other.classes)
    rows, states = walk((0, 0), after, most=most)
    accepting = [accept(a != DEAD and one.accepting[a], b != DEAD and other.accepting[b]) for a, b in states]
    return _minimal([common for common, _, _ in pairs], rows, accepting, 0)


def walk(
    start: State, after: Callable[[State], Sequence[State | None]], *, most: int = MAX_STATES
) -> tuple[list[list[int]], list[State]]:
    """The states that can be come to, numbered as they are met, each with its row of the numbers that follow.

    ``after`` gives what a character of each class leads to, ``None`` for nowhere. Raises `TooLarge`.
    """
    numbers = {start: 0}
    states = [start]
    rows: list[list[int]] = []
    for state in states:
        check()
        row: list[int] = []
        for to in after(state):
            if to is None:
                row.append(DEAD)
                continue
            if to not in numbers:
                numbers[to] = len(states)
                states.append(to)
            row.append(numbers[to])
        if len(states) > most or len(states) * len(row) > MAX_STEPS:
            raise TooLarge
        rows.append(row)
    return rows, states


def _minimal(classes: list[Ranges], rows: list[list[int]], accepting: list[bool], start: int) -> Language:
    alive = _alive(rows, accepting)
    if not alive[start]:
        return NO_TEXT
    rows = [[to if to != DEAD and alive[to] else DEAD for to in row] for row in rows]
    # Columns that are the same everywhere are one class.
    columns: dict[tuple[int, ...], list[int]] = {}
    for number, column in enumerate(zip(*rows, strict=True)):
        columns.setdefault(column, []).append(number)
    classes = [union(*(classes[number] for number in numbers)) for numbers in columns.values()]
    rows = [list(row) for row in zip(*columns, strict=True)]
    block = _blocks(rows, accepting)
    # Numbered in the order in which a walk along sorted classes meets them: equal languages, equal numbers.
    merged: dict[tuple[int, ...], list[int]] = {}
    for number, column in enumerate(zip(*rows, strict=True)):
        merged.setdefault(tuple(DEAD if to == DEAD else block[to] for to in column), []).append(number)
    sets = [(union(*(classes[n] for n in numbers)), numbers[0]) for numbers in merged.values()]
    sets.sort(key=lambda pair: pair[0])
    member = {block[state]: state for state in range(len(rows) - 1, -1, -1)}
    numbers_of = {block[start]: 0}
    waiting = [block[start]]
    final: list[tuple[int, ...]] = []
    for one in waiting:
        row = rows[member[one]]
        new = []
        for _, column_number in sets:
            to = row[column_number]
            if to == DEAD:
                new.append(DEAD)
                continue
            if block[to] not in numbers_of:
                numbers_of[block[to]] = len(numbers_of)
                waiting.append(block[to])
            new.append(numbers_of[block[to]])
        final.append(tuple(new))
    used: dict[tuple[int, ...], list[Ranges]] = {}
    for (ranges, _), column in zip(sets, zip(*final, strict=True), strict=True):
        used.setdefault(column, []).append(ranges)
    if len(used) < len(sets):
        return _minimal(
            [union(*parts) for parts in used.values()],
            [list(row) for row in zip(*used, strict=True)],
            [accepting[member[one]] for one in waiting],
            0,
        )
    return Language(tuple(ranges for ranges, _ in sets), tuple(final), tuple(accepting[member[one]] for one in waiting))


def _alive(rows: list[list[int]], accepting: list[bool]) -> list[bool]:
    """Which states lead to an accepting one."""
    back: list[set[int]] = [set() for _ in rows]
    for state, row in enumerate(rows):
        for to in row:
            if to != DEAD:
                back[to].add(state)
    alive = list(accepting)
    waiting = [state for state, yes in enumerate(accepting) if yes]
    while waiting:
        for state in back[waiting.pop()]:
            if not alive[state]:
                alive[state] = True
                waiting.append(state)
    return alive


def _blocks(rows: list[list[int]], accepting: list[bool]) -> list[int]:
    """A number for each state, equal where the same texts lead on to acceptance.

    Most states of lists of texts are on no way round and behind none. These are told apart by what follows, the last
    first, each at once; only what is left takes an algorithm that refines (Hopcroft's).
    """
    into = [0] * len(rows)
    for row in rows:
        for to in row:
            if to != DEAD:
                into[to] += 1
    straight = [state for state, count in enumerate(into) if not count]
    for state in straight:
        for to in rows[state]:
            if to != DEAD:
                into[to] -= 1
                if not into[to]:
                    straight.append(to)
    # All that these lead to are among them.
    round_ = [state for state, count in enumerate(into) if count]
    block = [0] * len(rows)
    if round_:
        place = {state: index for index, state in enumerate(round_)} | {DEAD: DEAD}
        refined = _refined([[place[to] for to in rows[state]] for state in round_], [accepting[s] for s in round_])
        for state, number in zip(round_, refined, strict=True):
            block[state] = number
    known: dict[tuple[bool, tuple[int, ...]], int] = {}
    new = len(rows)
    for state in (*round_, *reversed(straight)):
        key = accepting[state], tuple([DEAD if to == DEAD else block[to] for to in rows[state]])
        if into[state]:
            known[key] = block[state]
        else:
            block[state] = known.setdefault(key, new + state)
    return block


def _refined(rows: list[list[int]], accepting: list[bool]) -> list[int]:
    """As `_blocks`, of any automaton (Hopcroft's algorithm)."""
    total = len(rows)
    sink = total
    back: list[dict[int, list[int]]] = []
    for number in range(len(rows[0])):
        into: dict[int, list[int]] = {}
        for state in range(total):
            to = rows[state][number]
            into.setdefault(sink if to == DEAD else to, []).append(state)
        back.append(into)
    groups = [
        group
        for group in ({s for s in range(total) if accepting[s]}, {s for s in range(total) if not accepting[s]})
        if group
    ]
    block = [0] * (total + 1)
    for number, group in enumerate(groups):
        for state in group:
            block[state] = number
    block[sink] = len(groups)
    groups.append({sink})
    waiting = dict.fromkeys(range(len(groups)))
    while waiting:
        splitter = list(groups[waiting.popitem()[0]])
        for into in back:
            hit: dict[int, set[int]] = {}
            for state in splitter:
                for source in into.get(state, ()):
                    hit.setdefault(block[source], set()).add(source)
            for number, part in hit.items():
                group = groups[number]
                if len(part) == len(group):
                    continue
                group -= part
                new = len(groups)
                groups.append(part)
                for state in part:
                    block[state] = new
                if number in waiting or len(part) <= len(group):
                    waiting[new] = None
                else:
                    waiting[number] = None
    return block[:total]
