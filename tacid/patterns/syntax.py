"""A regular expression as a tree of nodes, and what can be said of it without an automaton."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tacid.patterns.charset import ALL, Ranges


@dataclass(frozen=True, slots=True)
class Set:
    """One character of a set; of an empty set, nothing at all."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Cat:
    """One after another; ``Cat(())`` is the empty text."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of the options."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Rep:
    """``item`` at least ``min`` and at most ``max`` times (``None``: without bound)."""

    item: Tree
    min: int
    max: int | None


@dataclass(frozen=True, slots=True)
class Start:
    """``^``: the beginning of the text."""


@dataclass(frozen=True, slots=True)
class End:
    """``$``: the end of the text."""


@dataclass(frozen=True, slots=True)
class Edge:
    """``\\b``: a word begins or ends here; ``negated`` (``\\B``) that none does."""

    negated: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What follows begins with ``item``; with ``behind``, what was before ends in it; ``negated``, it doesn't."""

    item: Tree
    behind: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Back:
    """``\\1``: the text that a group, whose tree is ``item``, has matched."""

    item: Tree


Tree: TypeAlias = Set | Cat | Or | Rep | Start | End | Edge | Look | Back

EMPTY: Final = Cat(())
ANYTHING: Final = Rep(Set(ALL), 0, None)


def cat(*items: Tree) -> Tree:
    """The items one after another, nested sequences opened."""
    flat: list[Tree] = []
    for item in items:
        flat.extend(item.items if isinstance(item, Cat) else (item,))
    return flat[0] if len(flat) == 1 else Cat(tuple(flat))


def either(*options: Tree) -> Tree:
    """One of the options, nested choices opened."""
    flat: list[Tree] = []
    for option in options:
        flat.extend(option.options if isinstance(option, Or) else (option,))
    kept = tuple(dict.fromkeys(flat))
    return kept[0] if len(kept) == 1 else Or(kept)


def nodes(tree: Tree) -> Iterator[Tree]:
    """Every node of a tree, what is repeated no times too."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Cat):
            waiting.extend(node.items)
        elif isinstance(node, Or):
            waiting.extend(node.options)
        elif isinstance(node, (Rep, Look, Back)):
            waiting.append(node.item)


def sizes(tree: Tree) -> tuple[int, int | None]:
    """Bounds for how many characters a match of a tree has: least, and most (``None``: without bound)."""
    if isinstance(tree, Set):
        return 1, 1
    if isinstance(tree, Cat):
        parts = [sizes(item) for item in tree.items]
        longest = [most for _, most in parts if most is not None]
        return sum(least for least, _ in parts), sum(longest) if len(longest) == len(parts) else None
    if isinstance(tree, Or):
        parts = [sizes(option) for option in tree.options]
        longest = [most for _, most in parts if most is not None]
        return min(least for least, _ in parts), max(longest) if len(longest) == len(parts) else None
    if isinstance(tree, Rep):
        least, most = sizes(tree.item)
        if most == 0 or tree.max == 0:
            return 0, 0
        return least * tree.min, None if most is None or tree.max is None else most * tree.max
    if isinstance(tree, Back):
        return 0, sizes(tree.item)[1]
    return 0, 0
