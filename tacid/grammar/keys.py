"""Keys of members that nobody declared: any JSON string but the declared names.

The complement of a prefix tree, one rule a place in it. As long as a key is still the beginning of a declared name its
characters stand raw, or as the shortest escape where they can't; from where it departs any spelling will do. So every
key has a spelling, and none spells a declared name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tacid.grammar.nodes import Chars, Lit, Node
from tacid.grammar.primitives import KEY_ESCAPE, KEY_REST
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import json_literal
from tacid.jsontext import escape_char, must_escape

#: Characters of declared names from which the complement is no longer built.
MAX_CHARACTERS = 8000

_NEVER_RAW = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_ESCAPED = tuple(chr(point) for point in (*range(0x20), 0x22, 0x5C))


class _Place:
    """A beginning that declared names share."""

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.ends = False
        self.next: dict[str, _Place] = {}


def other_keys(names: Iterable[str], named: Callable[[Node], Node]) -> Node:
    """A JSON string, quotes included, that is none of ``names``; ``named`` makes a rule of a node."""
    root = _Place()
    places = [root]
    for name in sorted(names):
        place = root
        for char in name:
            if char not in place.next:
                place.next[char] = _Place()
                places.append(place.next[char])
            place = place.next[char]
        place.ends = True
    made: dict[int, Node] = {}
    # A place is always made after the one that leads to it.
    for place in reversed(places):
        made[id(place)] = named(_departures(place, made))
    return seq(Lit('"'), made[id(root)])


def _departures(place: _Place, made: dict[int, Node]) -> Node:
    options: list[Node] = [] if place.ends else [Lit('"')]
    options.extend(seq(json_literal(char), made[id(after)]) for char, after in place.next.items())
    taken = sorted(ord(char) for char in place.next if not must_escape(char))
    options.append(seq(Chars(_joined([*_NEVER_RAW, *((point, point) for point in taken)]), negated=True), KEY_REST))
    if any(must_escape(char) for char in place.next):
        free = [char for char in _ESCAPED if char not in place.next]
        options.append(seq(alt(Lit(escape_char(char)) for char in free), KEY_REST))
    else:
        options.append(seq(KEY_ESCAPE, KEY_REST))
    return alt(options)


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)
