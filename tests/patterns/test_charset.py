"""Sets of characters against Python's own sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacid.patterns import charset
from tacid.patterns.charset import ALL, Ranges

_POINTS = st.sampled_from([0, 1, 9, 0x22, 0x61, 0x62, 0x7A, 0xD7FE, 0xD7FF, 0xE000, 0xE001, 0x10FFFE, 0x10FFFF])
_SETS = st.lists(st.tuples(_POINTS, _POINTS).map(lambda pair: (min(pair), max(pair))), max_size=4)
_PROBES = [0, 1, 2, 0x21, 0x22, 0x23, 0x61, 0x62, 0x63, 0xD7FF, 0xE000, 0xE001, 0xE002, 0x10FFFE, 0x10FFFF]


def _probed(ranges: Ranges) -> set[int]:
    return {point for point in _PROBES if any(low <= point <= high for low, high in ranges)}


@given(_SETS, _SETS)
def test_sets_combine_as_sets_do(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    left, right = charset.ranges_of(one), charset.ranges_of(other)
    a, b = _probed(left), _probed(right)
    assert _probed(charset.union(left, right)) == a | b
    assert _probed(charset.intersection(left, right)) == a & b
    assert _probed(charset.difference(left, right)) == a - b
    assert _probed(charset.complement(left)) == set(_PROBES) - a
    assert charset.disjoint(left, right) == (charset.intersection(left, right) == ())
    for point in _PROBES:
        assert charset.contains(left, point) == (point in a)


@given(_SETS)
def test_equal_sets_are_equal_tuples_without_surrogates(one: list[tuple[int, int]]) -> None:
    ranges = charset.ranges_of(one)
    assert ranges == charset.ranges_of(reversed(ranges)) == charset.complement(charset.complement(ranges))
    assert not any(low <= 0xDFFF and high >= 0xD800 for low, high in ranges)
    assert charset.union(ranges, charset.complement(ranges)) == ALL


@given(st.lists(_SETS, max_size=3))
def test_a_partition_puts_every_set_together_from_its_classes(sets: list[list[tuple[int, int]]]) -> None:
    wanted = [charset.ranges_of(one) for one in sets]
    classes, made_of = charset.partition(wanted)
    assert charset.union(*classes) == ALL
    assert sum(map(charset.size, classes)) == charset.size(ALL)
    for one in wanted:
        assert charset.union(*(classes[number] for number in made_of[one])) == one
