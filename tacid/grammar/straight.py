"""A pattern's tree as grammar, without an automaton: as small as the pattern was, and counts of any size stay counts.

Where one character always says how to go on, a tree costs the engine one stack, as an automaton would; elsewhere as
many as ways are open at once.
"""

from __future__ import annotations

from collections.abc import Callable

from tacid.grammar.limits import MAX_NESTED_COUNTS
from tacid.grammar.nodes import Chars, Lit, Node, Ref, Repeat
from tacid.grammar.primitives import CHAR
from tacid.grammar.shapes import alt, count, seq
from tacid.grammar.spelling import spelled
from tacid.patterns.charset import ALL, NONE, Ranges, disjoint, union
from tacid.patterns.syntax import ANYTHING, EMPTY, Cat, End, Or, Rep, Set, Start, Tree, cat

#: Groups within groups before one gets a rule of its own.
_DEEP = 12


def plain(tree: Tree) -> Tree | None:
    """The tree of the whole text, if the tree begins with ``^``, and holds no other condition but ``$`` at its end."""
    items = tree.items if isinstance(tree, Cat) else (tree,)
    if not items or not isinstance(items[0], Start):
        return None
    ended = isinstance(items[-1], End)
    inner = cat(*items[1:-1]) if ended else cat(*items[1:], ANYTHING)
    return inner if _unconditional(inner) else None


def predictive(tree: Tree, follow: Ranges = NONE) -> bool:
    """Whether, at every place of a tree without conditions, the next character says which way to go."""
    return _predictive(tree, follow)


def bearable(tree: Tree) -> bool:
    """Whether a tree without conditions can be written as grammar at all: no repeat of what may be empty, no counts
    right within counts that multiply."""
    if isinstance(tree, Cat):
        return all(map(bearable, tree.items))
    if isinstance(tree, Or):
        return all(map(bearable, tree.options))
    if isinstance(tree, Rep) and tree.max != 0:
        _, empty = _first(tree.item)
        if (empty and tree.max != 1) or (tree.max or 1) * _stretch(tree.item) > MAX_NESTED_COUNTS:
            return False
        return bearable(tree.item)
    return True


def _stretch(tree: Tree) -> int:
    """How many lengths a repeat may have that can be all there is of a tree."""
    if isinstance(tree, Rep):
        counts = 0 if tree.max == tree.min else max(1, tree.max or 1)
        return max(counts, _stretch(tree.item))
    if isinstance(tree, Or):
        return max(map(_stretch, tree.options))
    if isinstance(tree, Cat):
        solid = [item for item in tree.items if not _first(item)[1]]
        return max(map(_stretch, solid if len(solid) == 1 else () if solid else tree.items), default=0)
    return 0


def tree_node(tree: Tree, named: Callable[[Node], Node]) -> Node:
    """The inside of a JSON string that a bearable tree matches; ``named`` makes a rule of a node."""
    return _node(tree, named, 0)


def _unconditional(tree: Tree) -> bool:
    if isinstance(tree, Cat):
        return all(map(_unconditional, tree.items))
    if isinstance(tree, Or):
        return all(map(_unconditional, tree.options))
    if isinstance(tree, Rep):
        return _unconditional(tree.item)
    return isinstance(tree, Set) and bool(tree.ranges)


def _first(tree: Tree) -> tuple[Ranges, bool]:
    """The characters with which a match may begin, and whether it may be empty."""
    if isinstance(tree, Set):
        return tree.ranges, False
    if isinstance(tree, Cat):
        sets: list[Ranges] = []
        for item in tree.items:
            first, empty = _first(item)
            sets.append(first)
            if not empty:
                return union(*sets), False
        return union(*sets), True
    if isinstance(tree, Or):
        found = [_first(option) for option in tree.options]
        return union(*(first for first, _ in found)), any(empty for _, empty in found)
    assert isinstance(tree, Rep)
    if tree.max == 0:
        return NONE, True
    first, empty = _first(tree.item)
    return first, empty or tree.min == 0


def _predictive(tree: Tree, follow: Ranges) -> bool:
    if isinstance(tree, Set):
        return True
    if isinstance(tree, Cat):
        for item in reversed(tree.items):
            if not _predictive(item, follow):
                return False
            first, empty = _first(item)
            follow = union(first, follow) if empty else first
        return True
    if isinstance(tree, Or):
        taken: Ranges = NONE
        empties = 0
        for option in tree.options:
            first, empty = _first(option)
            empties += empty
            if not disjoint(taken, first) or not _predictive(option, follow):
                return False
            taken = union(taken, first)
        return not empties or (empties == 1 and disjoint(taken, follow))
    assert isinstance(tree, Rep)
    if tree.max == 0:
        return True
    first, empty = _first(tree.item)
    if empty or (tree.min != tree.max and not disjoint(first, follow)):
        return False
    return _predictive(tree.item, follow if tree.max == 1 else union(first, follow))


def _node(tree: Tree, named: Callable[[Node], Node], depth: int) -> Node:
    if isinstance(tree, Set):
        return spelled(tree.ranges, named)
    if isinstance(tree, Cat):
        return seq(*(_node(item, named, depth) for item in tree.items))
    if isinstance(tree, Or):
        if depth >= _DEEP:
            return named(_node(tree, named, 0))
        return alt(_node(option, named, depth + 1) for option in tree.options)
    assert isinstance(tree, Rep)
    if tree.max == 0:
        return _node(EMPTY, named, depth)
    if tree.item == Set(ALL):
        return count(CHAR, tree.min, tree.max, named)
    if depth >= _DEEP:
        return named(_node(tree, named, 0))
    item = _node(tree.item, named, depth + 1)
    if (tree.min, tree.max) in ((0, None), (1, None), (0, 1)):
        return Repeat(item, tree.min, tree.max)
    if not isinstance(item, (Chars, Lit, Ref)):
        # The engine counts the rules within a group that is repeated.
        item = named(item)
    return count(item, tree.min, tree.max, named)
