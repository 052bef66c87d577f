"""Small constructors of nodes: sequences with joined literals, alternatives without repetition, bounded counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tacid.grammar.limits import MAX_REPEAT
from tacid.grammar.nodes import EMPTY, Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq

#: Bounds above this are as good as none: no reply is that long.
MAX_COUNT = 1_000_000_000
#: Items that a named chunk holds where a bound is above what one repeat may say.
CHUNK = 1000


def seq(*nodes: Node) -> Node:
    """One node after another; nested sequences are opened, neighbouring literals joined."""
    items: list[Node] = []
    last: Node | None = None
    for node in nodes:
        for item in node.items if type(node) is Seq else (node,):
            if type(item) is Lit and type(last) is Lit:
                last = items[-1] = Lit(last.text + item.text)
            else:
                items.append(item)
                last = item
    return items[0] if len(items) == 1 else Seq(tuple(items))


def alt(options: Iterable[Node]) -> Node:
    """One of the options, in their order; nested alternatives are opened, repeated ones dropped."""
    flat: list[Node] = []
    for option in options:
        if type(option) is Alt:
            flat.extend(option.options)
        else:
            flat.append(option)
    # Hashing a node takes all of it; comparing two mostly takes a glance.
    if len(flat) > 4:
        flat = list(dict.fromkeys(flat))
    elif len(flat) > 1:
        flat = [o for i, o in enumerate(flat) if o not in flat[:i]]
    return flat[0] if len(flat) == 1 else Alt(tuple(flat))


def optional(node: Node) -> Node:
    """The node or nothing."""
    return Repeat(node, 0, 1)


def count(item: Node, least: int, most: int | None, named: Callable[[Node], Node]) -> Node:
    """``item`` between ``least`` and ``most`` times (``None``: without bound), whatever the engine's largest repeat.

    ``item`` should be small: a class or a reference. Larger bounds than `MAX_REPEAT` are composed of chunks, for
    which ``named`` makes rules: chunks of exactly 1,000, of exactly 1,000 of these, and so on. Every count has one
    way to be read, so the engine keeps few stacks.
    """
    if most is None:
        if least <= MAX_REPEAT:
            return Repeat(item, least, None)
        return seq(_exactly(item, least, named), Repeat(item, 0, None))
    if 0 < most <= MAX_REPEAT:
        return Repeat(item, least, most)
    return seq(_exactly(item, least, named), _at_most(item, most - least, named))


def _exactly(item: Node, number: int, named: Callable[[Node], Node]) -> Node:
    if number == 0:
        return EMPTY
    if number <= MAX_REPEAT:
        return Repeat(item, number, number)
    chunks, rest = divmod(number, CHUNK)
    return seq(_exactly(named(Repeat(item, CHUNK, CHUNK)), chunks, named), _exactly(item, rest, named))


def _at_most(item: Node, number: int, named: Callable[[Node], Node]) -> Node:
    if number == 0:
        return EMPTY
    if number <= MAX_REPEAT:
        return Repeat(item, 0, number)
    chunks, rest = divmod(number, CHUNK)
    chunk = named(Repeat(item, CHUNK, CHUNK))
    # Either all the chunks and what is left, or fewer chunks and anything below a chunk.
    full = seq(_exactly(chunk, chunks, named), _at_most(item, rest, named))
    fewer = seq(_at_most(chunk, chunks - 1, named), Repeat(item, 0, CHUNK - 1))
    return alt((named(full), named(fewer)))


def weight(node: Node) -> int:
    """About how many bytes a node prints as, or half the elements that the engine unrolls it to, if that is more."""
    total = 0
    nodes = [node]
    for node in nodes:  # grows on the way
        kind = type(node)
        if kind is Lit:
            total += len(node.text) + 3  # type: ignore[union-attr]
        elif kind is Ref or kind is Gate:
            total += 12
        elif isinstance(node, Seq):
            nodes.extend(node.items)
        elif isinstance(node, Alt):
            if node.part is not None:
                total += node.part.weight
            else:
                total += 3 * len(node.options)
                nodes.extend(node.options)
        elif isinstance(node, Repeat):
            total += 5 + 2 * max(node.min, node.max or 0)
            nodes.append(node.item)
        elif isinstance(node, Chars):
            total += 4 + 3 * len(node.ranges)
    return total
