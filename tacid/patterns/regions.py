"""Regions: the texts of a language, sorted by which of several other languages they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from tacid.patterns.charset import Ranges, partition
from tacid.patterns.language import DEAD, Language, language, walk

#: The automata that go on, by number, with the state of each.
_State: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Regions:
    """The parts of a language: for each choice of others (by number) that some text is in, the texts in no other."""

    classes: tuple[Ranges, ...]
    rows: list[list[int]]
    #: The states that texts of each part lead to.
    ends: Mapping[frozenset[int], list[int]]
    _made: dict[frozenset[frozenset[int]], Language] = field(default_factory=dict, init=False, repr=False)

    @property
    def labels(self) -> list[frozenset[int]]:
        """The choices, in a fixed order."""
        return sorted(self.ends, key=sorted)

    @cached_property
    def _back(self) -> list[set[int]]:
        back: list[set[int]] = [set() for _ in self.rows]
        for number, row in enumerate(self.rows):
            for place in set(row) - {DEAD}:
                back[place].add(number)
        return back

    def language(self, labels: Iterable[frozenset[int]]) -> Language:
        """The texts of some of the parts."""
        chosen = frozenset(labels)
        if chosen not in self._made:
            self._made[chosen] = self._language(chosen)
        return self._made[chosen]

    def _language(self, labels: frozenset[frozenset[int]]) -> Language:
        wanted = {end for label in labels for end in self.ends[label]}
        alive, waiting = set(wanted), list(wanted)
        while waiting:
            new = self._back[waiting.pop()] - alive
            alive |= new
            waiting.extend(new)
        order = sorted(alive)
        numbers = {DEAD: DEAD, **{place: number for number, place in enumerate(order)}}
        table = [[numbers.get(to, DEAD) for to in self.rows[place]] for place in order]
        return language(self.classes, table, [place in wanted for place in order])


def regions(base: Language, others: Sequence[Language]) -> Regions:
    """The texts of ``base``, parted by which of ``others`` they are in.

    All automata run at once, so the work is that of their sum where they soon part. Raises `TooLarge` above the bounds
    of one automaton.
    """
    listed = [base, *others]
    classes, made_of = partition(ranges for one in listed for ranges in one.classes)
    columns: list[list[int]] = []
    for one in listed:
        column = [DEAD] * len(classes)
        for number, ranges in enumerate(one.classes):
            for index in made_of[ranges]:
                column[index] = number
        columns.append(column)

    def after(state: _State) -> list[_State | None]:
        found: list[_State | None] = []
        live = [(number, columns[number], listed[number].rows[place]) for number, place in state]
        for index in range(len(classes)):
            to = tuple((number, into) for number, column, ways in live if (into := ways[column[index]]) != DEAD)
            found.append(to if to and to[0][0] == 0 else None)
        return found

    start: _State = tuple((number, 0) for number in range(len(listed)))
    rows, states = walk(start, after)
    labels: dict[frozenset[int], list[int]] = {}
    for index, state in enumerate(states):
        accepted = [number for number, place in state if listed[number].accepting[place]]
        if accepted and accepted[0] == 0:
            labels.setdefault(frozenset(number - 1 for number in accepted[1:]), []).append(index)
    return Regions(classes, rows, labels)


__all__ = ["Regions", "regions"]
