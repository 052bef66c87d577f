"""Keys of members that nobody declared: any JSON string but the declared names.

The complement of a prefix tree. As long as a key is still the beginning of a declared name its characters stand raw,
or as the shortest escape where they can't; from where it departs any spelling will do. So every key has a spelling, and
none spells a declared name. Where names don't branch, a place is a character and what departs from it (`other-x`: any
key but with ``x`` here), a rule that all places share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from tacid.grammar.limits import TREE_GROUPS
from tacid.grammar.look import share
from tacid.grammar.nodes import Alt, Chars, Lit, Node, Ref, Seq
from tacid.grammar.primitives import KEY_ESCAPE, KEY_MORE, KEY_OFF, KEY_REST
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import json_literal
from tacid.jsontext import escape_char, must_escape

#: Characters of declared names from which the complement is no longer built.
MAX_CHARACTERS = 8000

_NEVER_RAW = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_ESCAPED = tuple(chr(point) for point in (*range(0x20), 0x22, 0x5C))


class _Place:
    """A beginning that declared names share."""

    __slots__ = ("ends", "groups", "next", "node", "tail")

    def __init__(self) -> None:
        self.ends = False
        self.next: dict[str, _Place] = {}
        self.node: Node = KEY_MORE
        #: Groups within groups in the node.
        self.groups = 0
        #: What is left of the only name that goes on from here.
        self.tail = ""


def other_keys(names: Iterable[str], named: Callable[[Node], Node], shared: Callable[[str, Node], None]) -> Node:
    """A JSON string, quotes included, that is none of ``names``.

    ``named`` makes a rule of a node; ``shared`` makes the rule of this name unless it is there.
    """
    root = _Place()
    places = [root]
    ordered = sorted(names)
    before = 0
    for index, name in enumerate(ordered):
        after = _common(name, ordered[index + 1]) if index + 1 < len(ordered) else 0
        # From there on no other name is on the way, and what is left is the same wherever a name ends like this.
        single = max(before, after, len(name) - TREE_GROUPS) + 1
        place = root
        for char in name[:single]:
            further = place.next.get(char)
            if further is None:
                further = place.next[char] = _Place()
                places.append(further)
            place = further
        place.tail = name[single:]
        place.ends = not place.tail
        before = after
    # A place is always made after the one that leads to it.
    for place in reversed(places):
        if place.tail:
            place.node, others = _ending(place.tail)
            place.groups = len(place.tail)
            for other in others:
                shared(*other)
            continue
        if not place.next:
            continue
        node = _departures(place, shared)
        groups = 1 + max([after.groups for after in place.next.values()])
        if len(place.next) > 1 or groups >= TREE_GROUPS:
            place.node = named(node)
        else:
            place.node, place.groups = node, groups
    return seq(Lit('"'), root.node)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    length = min(len(one), len(other))
    for index in range(length):
        if one[index] != other[index]:
            return index
    return length


@lru_cache(maxsize=4096)
def _ending(tail: str) -> tuple[Node, tuple[tuple[str, Node], ...]]:
    """What a key may be where this is what is left of the only declared name, and the rules that are needed for it.

    Names end alike more often than they are alike, so each ending is made of the next shorter one.
    """
    others: dict[str, Node] = {}
    place, after = _Place(), _Place()
    place.next[tail[0]] = after
    if len(tail) > 1:
        after.node, known = _ending(tail[1:])
        others.update(known)
    node = _departures(place, others.__setitem__)
    assert isinstance(node, Alt)
    return share(node), tuple(others.items())


def _departures(place: _Place, shared: Callable[[str, Node], None]) -> Node:
    if len(place.next) == 1 and not place.ends:
        ((char, after),) = place.next.items()
        if not must_escape(char):
            name, node, other = _other(char)
            shared(name, node)
            return Alt((_then(char, after.node), other))
    options: list[Node] = [_then(char, after.node) for char, after in place.next.items()]
    options.append(_unlike(place.next))
    if any(must_escape(char) for char in place.next):
        if not place.ends:
            options.append(Lit('"'))
        free = [char for char in _ESCAPED if char not in place.next]
        options.append(seq(alt(Lit(escape_char(char)) for char in free), KEY_REST))
    else:
        options.append(_KEY_ESCAPED if place.ends else KEY_OFF)
    # Each begins with another character.
    return Alt(tuple(options))


_KEY_ESCAPED = seq(KEY_ESCAPE, KEY_REST)


@lru_cache(maxsize=4096)
def _other(char: str) -> tuple[str, Node, Ref]:
    """What a key may be where a declared name has this character, and its rule's name; one node for all grammars."""
    name = _rule_name(char)
    return name, alt((_unlike([char]), KEY_OFF)), Ref(name)


def _then(char: str, node: Node) -> Node:
    start = _spelled(char)
    # Most nodes are no sequences, and there are many.
    return seq(start, node) if isinstance(start, Seq) or isinstance(node, Seq) else Seq((start, node))


@lru_cache(maxsize=4096)
def _spelled(char: str) -> Node:
    return json_literal(char)


def _unlike(chars: Iterable[str]) -> Node:
    """A raw character that is none of these, and the rest of the key."""
    taken = [(point, point) for point in sorted(ord(char) for char in chars if not must_escape(char))]
    return Seq((Chars(_joined([*_NEVER_RAW, *taken]), negated=True), KEY_REST))


def _rule_name(char: str) -> str:
    return f"other-{char}" if char.isascii() and char.isalnum() else f"other-{ord(char):02x}"


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)
