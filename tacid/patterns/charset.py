"""Sets of characters as sorted, disjoint, inclusive ranges of code points; no set holds half a surrogate pair."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

NONE: Final[Ranges] = ()
#: Every character that a text in UTF-8 can have.
ALL: Final[Ranges] = ((0, 0xD7FF), (0xE000, 0x10FFFF))


def ranges_of(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The set of these ranges, which may overlap, touch and come in any order; surrogates are left out."""
    return intersection(_merged(ranges), ALL)


def chars_of(text: str) -> Ranges:
    """The set of the characters of a text."""
    return ranges_of((ord(char), ord(char)) for char in text)


def union(*sets: Ranges) -> Ranges:
    """What is in any of the sets."""
    return _merged(pair for one in sets for pair in one)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """What is in both sets."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Every character that is not in the set."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= 0x10FFFF:
        gaps.append((start, 0x10FFFF))
    return intersection(tuple(gaps), ALL)


def difference(one: Ranges, other: Ranges) -> Ranges:
    """What is in the first set and not in the second."""
    return intersection(one, complement(other))


def disjoint(one: Ranges, other: Ranges) -> bool:
    """Whether no character is in both sets."""
    return not intersection(one, other)


def contains(ranges: Ranges, point: int) -> bool:
    """Whether a code point is in the set."""
    index = bisect_right(ranges, (point, 0x110000)) - 1
    return index >= 0 and ranges[index][1] >= point


def size(ranges: Ranges) -> int:
    """How many characters the set has."""
    return sum(high - low + 1 for low, high in ranges)


def partition(sets: Iterable[Ranges]) -> tuple[tuple[Ranges, ...], dict[Ranges, tuple[int, ...]]]:
    """Classes of characters that no set tells apart, and for each set the numbers of the classes that make it up.

    The classes cover all characters; time is linear in the ranges, but for sorting.
    """
    listed = list(dict.fromkeys(sets))
    events: list[tuple[int, int]] = []
    for index, one in enumerate((*listed, ALL)):
        for low, high in one:
            events += ((low, 1 << index), (high + 1, 1 << index))
    events.sort()
    groups: dict[int, list[tuple[int, int]]] = {}
    inside, start = 0, 0
    everything = 1 << len(listed)
    for point, bit in events:
        if point > start and inside & everything:
            groups.setdefault(inside, []).append((start, point - 1))
        inside ^= bit
        start = point
    keys = sorted(groups, key=lambda key: groups[key][0])
    classes = tuple(_merged(groups[key]) for key in keys)
    made_of = {
        one: tuple(number for number, key in enumerate(keys) if key >> index & 1) for index, one in enumerate(listed)
    }
    return classes, made_of


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        # U+D7FF and U+E000 stay apart, so that equal sets are equal tuples.
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)
