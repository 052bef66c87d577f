"""Many texts as one tree of nodes that shares what they begin with, so that the engine keeps few stacks.

Texts are values; the tree matches how JSON spells them inside a string. A character that the prompt shows as an
escape though it may stand raw (`tacid.jsontext.shown_escaped`) is taken in either spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from functools import lru_cache

from tacid.errors import CompilerBug
from tacid.grammar.limits import TREE_GROUPS
from tacid.grammar.nodes import EMPTY, Alt, Chars, Lit, Node, Ref, Seq
from tacid.jsontext import escape_char, must_escape, shown_escaped

_PLAIN = re.compile(r'[^"\\<]*')


def json_literal(value_text: str) -> Node:
    """The inside of the JSON string of this text, without quotes; empty text gives ``EMPTY``."""
    return _joined(_edge(_spelled(value_text)))


def prefix_tree(texts: Iterable[str], tail: Node = EMPTY, *, rules: MutableMapping[str, Node], name: str) -> Node:
    """Exactly one of ``texts`` as JSON string insides (no quotes), then ``tail``; order and repetition don't matter.

    Parts nested deeper than `TREE_GROUPS` go into ``rules`` as ``<name>-0``, ``<name>-1``, … Time and size are
    linear in the characters. Raises ``CompilerBug``: no texts, a rule name that is taken.
    """
    tree = prefix_tree_of(dict.fromkeys(texts, EMPTY), rules=rules, name=name)
    return tree if tail == EMPTY else Seq((tree, tail))


def prefix_tree_of(tails: Mapping[str, Node], *, rules: MutableMapping[str, Node], name: str) -> Node:
    """As `prefix_tree`, each text with a tail of its own; tails that are the same object are shared where it helps."""
    return _grown([(_spelled(text), tail) for text, tail in tails.items()], rules, name)


def value_tree(texts: Iterable[str], tail: Node = EMPTY, *, rules: MutableMapping[str, Node], name: str) -> Node:
    """As `prefix_tree`, for texts that are JSON values as canonical text already (`tacid.jsontext.dumps`)."""
    tree = _grown([(text, EMPTY) for text in dict.fromkeys(texts)], rules, name)
    return tree if tail == EMPTY else Seq((tree, tail))


def _grown(spelled: list[tuple[str, Node]], rules: MutableMapping[str, Node], name: str) -> Node:
    if not spelled:
        raise CompilerBug(f"The choice {name} has nothing to choose from.")
    tree = _Tree(rules, name)
    for text, tail in sorted(spelled, key=lambda pair: pair[0]):
        tree.add(text, tail)
    return tree.finish()


class _Open:
    """A place in the tree that further texts may still branch off from: the first ``depth`` characters of the last."""

    __slots__ = ("depth", "edges")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.edges: list[tuple[str, Node, int]] = []


class _Tree:
    """Builds the tree from sorted texts, keeping only the path to the last one open: no recursion, linear time."""

    def __init__(self, rules: MutableMapping[str, Node], name: str) -> None:
        self.rules = rules
        self.name = name
        self.made = 0
        self.path = [_Open(0)]
        self.last: tuple[str, Node] | None = None
        self.same: dict[tuple[tuple[str, int], ...], tuple[Node, int]] = {}

    def add(self, text: str, tail: Node) -> None:
        if self.last is not None:
            self.close(_shared(self.last[0], text))
        self.last = (text, tail)

    def finish(self) -> Node:
        self.close(0)
        return self.branch(self.path[0].edges)[0]

    def close(self, depth: int) -> None:
        """Hang the last text into the tree, closing every place deeper than ``depth``."""
        assert self.last is not None
        text, node = self.last
        height, end = 0, len(text)
        while self.path[-1].depth > depth:
            place = self.path.pop()
            place.edges.append((text[place.depth : end], node, height))
            node, height = self.branch(place.edges)
            end = place.depth
        if self.path[-1].depth < depth:
            self.path.append(_Open(depth))
        place = self.path[-1]
        place.edges.append((text[place.depth : end], node, height))

    def branch(self, edges: list[tuple[str, Node, int]]) -> tuple[Node, int]:
        """One node for the edges that leave a place, and how many groups it nests."""
        key = tuple((text, id(node)) for text, node, _ in edges)
        if key not in self.same:
            self.same[key] = self.new_branch(edges)
        return self.same[key]

    def new_branch(self, edges: list[tuple[str, Node, int]]) -> tuple[Node, int]:
        singles: dict[int, list[str]] = {}
        for text, node, _ in edges:
            if len(text) == 1 and not shown_escaped(text):
                singles.setdefault(id(node), []).append(text)
        options: list[Node] = []
        deepest = 0
        for text, node, height in edges:
            chars = singles.get(id(node), []) if len(text) == 1 else []
            if len(chars) > 1 and text in chars:
                if text != chars[0]:
                    continue
                start: list[Node] = [Chars(_ranges(chars))]
            else:
                start = _edge(text)
            options.append(_joined([*start, node]))
            deepest = max(deepest, height)
        if len(options) == 1:
            return options[0], deepest
        if deepest + 1 < TREE_GROUPS:
            return Alt(tuple(options)), deepest + 1
        return self.named(Alt(tuple(options))), 0

    def named(self, node: Node) -> Node:
        name = f"{self.name}-{self.made}"
        if name in self.rules:
            raise CompilerBug(f"The rule {name} is there already; give the choice {self.name} another name.")
        self.made += 1
        self.rules[name] = node
        return Ref(name)


def _spelled(text: str) -> str:
    """The text with what must be an escape as an escape; what may be either stays raw."""
    if text.isprintable() and _PLAIN.fullmatch(text):
        return text
    return "".join(escape_char(char) if must_escape(char) else char for char in text)


def _edge(spelled: str) -> list[Node]:
    """Nodes of spelled text: literals, and a choice of two where a character has two spellings."""
    nodes: list[Node] = []
    start = 0
    if not (spelled.isprintable() and "<" not in spelled):
        for index, char in enumerate(spelled):
            if _either(char):
                if start < index:
                    nodes.append(Lit(spelled[start:index]))
                nodes.append(Alt((Lit(char), Lit(escape_char(char)))))
                start = index + 1
    if start < len(spelled):
        nodes.append(Lit(spelled[start:]))
    return nodes


@lru_cache(maxsize=4096)
def _either(char: str) -> bool:
    return shown_escaped(char)


def _joined(nodes: list[Node]) -> Node:
    items: list[Node] = []
    for node in nodes:
        items.extend(node.items if isinstance(node, Seq) else (node,))
    return items[0] if len(items) == 1 else Seq(tuple(items))


def _shared(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    low = 0
    while one[low] == other[low]:
        low += 1
    return low


def _ranges(chars: list[str]) -> tuple[tuple[int, int], ...]:
    """Sorted single characters as inclusive ranges."""
    ranges: list[tuple[int, int]] = []
    for point in map(ord, chars):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return tuple(ranges)
