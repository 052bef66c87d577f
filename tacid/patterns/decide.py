"""What of a pattern an automaton can hold, and what is left out where it can't: always more texts, never fewer."""

from __future__ import annotations

from tacid.patterns.syntax import EMPTY, Back, Cat, Edge, End, Look, Or, Rep, Tree, cat, either, nodes

#: Counts that a relaxed pattern keeps.
FEW = 3


def decided(tree: Tree) -> tuple[Tree, str]:
    """A tree without back references and the rare look-around that isn't held, and a clause on what is not exact.

    A back reference becomes any text that its group could match, or none.
    """
    changed: dict[str, None] = {}
    found = _decided(tree, False, changed)
    return found, " and ".join(changed)


def relaxed(tree: Tree) -> Tree:
    """A tree that matches at least as much, without look-around or large counts; for one that `decided` gave."""
    if isinstance(tree, Cat):
        return cat(*map(relaxed, tree.items))
    if isinstance(tree, Or):
        return either(*map(relaxed, tree.options))
    if isinstance(tree, Rep):
        most = tree.max if tree.max is not None and tree.max <= FEW else None
        return Rep(relaxed(tree.item), min(tree.min, 1 if most is None else FEW), most)
    return EMPTY if isinstance(tree, Look) else tree


def _decided(tree: Tree, within: bool, changed: dict[str, None]) -> Tree:
    """``within`` a look-ahead, which doesn't know what stands before it."""
    if isinstance(tree, Cat):
        return cat(*(_decided(item, within, changed) for item in tree.items))
    if isinstance(tree, Or):
        return either(*(_decided(option, within, changed) for option in tree.options))
    if isinstance(tree, Rep):
        return Rep(_decided(tree.item, within, changed), tree.min, tree.max)
    if isinstance(tree, Back):
        changed["back references are not held"] = None
        return either(_decided(tree.item, within, changed), EMPTY)
    if not isinstance(tree, Look):
        return tree
    inner: dict[str, None] = {}
    if tree.behind:
        plain = not within and not any(isinstance(node, (End, Edge, Look, Back)) for node in nodes(tree.item))
        item = tree.item
    else:
        item = _decided(tree.item, True, inner)
        # What is widened within is still right of a look-ahead that must match, not of one that mustn't.
        plain = not (inner and tree.negated)
    if not plain:
        changed["a look-around is not held"] = None
        return EMPTY
    changed.update(inner)
    return Look(item, tree.behind, tree.negated)
