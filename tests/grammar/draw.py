"""Texts drawn at random from rules, and the rules drawn at random that some tests begin with."""

from __future__ import annotations

import random
from collections.abc import Mapping

from hypothesis import strategies as st

from tacid.errors import CompilerBug
from tacid.grammar.nodes import EMPTY, Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import children
from tacid.grammar.verify import verify

_INFINITE = 1 << 30


def draw(rules: Mapping[str, Node], seed: int, *, root: str = "root", size: int = 200) -> str:
    """One text that ``root`` matches, the same for the same seed; gates count as the rules they name.

    Past ``size`` characters every choice is the one that ends soonest, so the text ends, at most a little longer.
    """
    rng = random.Random(seed)
    costs = _costs(rules)
    parts: list[str] = []
    length = 0
    todo: list[Node] = [rules[root]]
    while todo:
        node = todo.pop()
        late = length > size or len(todo) > 4 * size
        if isinstance(node, Lit):
            parts.append(node.text)
            length += len(node.text)
        elif isinstance(node, Chars):
            parts.append(_char(node, rng))
            length += 1
        elif isinstance(node, Seq):
            todo.extend(reversed(node.items))
        elif isinstance(node, Alt):
            todo.append(min(node.options, key=lambda one: _cost(one, costs)) if late else rng.choice(node.options))
        elif isinstance(node, Repeat):
            most = node.min + rng.choice((0, 1, 2, 3, 8, 40)) if node.max is None else node.max
            few = rng.choice((most, min(most, node.min + 3)))
            todo.extend([node.item] * (node.min if late else rng.randint(node.min, few)))
        else:
            todo.append(rules[node.name])
    return "".join(parts)


def _costs(rules: Mapping[str, Node]) -> dict[str, int]:
    """For each rule how much work its shortest text is."""
    costs = dict.fromkeys(rules, _INFINITE)
    changed = True
    while changed:
        changed = False
        for name, node in rules.items():
            cost = 1 + _cost(node, costs)
            if cost < costs[name]:
                costs[name], changed = cost, True
    return costs


def _cost(node: Node, costs: Mapping[str, int]) -> int:
    if isinstance(node, Lit):
        return len(node.text)
    if isinstance(node, Chars):
        return 1
    if isinstance(node, (Ref, Gate)):
        return costs[node.name]
    if isinstance(node, Alt):
        return min(_cost(option, costs) for option in node.options)
    if isinstance(node, Repeat):
        return min(_INFINITE, node.min * _cost(node.item, costs)) if node.min else 0
    return min(_INFINITE, sum(_cost(item, costs) for item in node.items))


def _char(node: Chars, rng: random.Random) -> str:
    ranges = list(node.ranges)
    if node.negated:
        edges = [-1, *(point for low, high in ranges for point in (low, high)), 0x110000]
        ranges = [(low + 1, high - 1) for low, high in zip(edges[::2], edges[1::2], strict=True) if low + 1 < high]
        # Plain letters more often than planes that nobody has seen.
        ranges += [(low, min(high, 0x17F)) for low, high in ranges if low < 0x180] * 3
    while True:
        low, high = rng.choice(ranges)
        point = rng.choice((low, high, rng.randint(low, high)))
        if not 0xD800 <= point <= 0xDFFF:
            return chr(point)


_TEXTS = st.text('ab"\\\n-^]é\u200b😀', max_size=3)
_CHARS = st.builds(
    lambda points, negated: Chars(tuple((point, point + wide) for point, wide in sorted(points.items())), negated),
    st.dictionaries(
        st.sampled_from([0x22, 0x2D, 0x5B, 0x5D, 0x61, 0xE9, 0x1F600]), st.integers(0, 1), min_size=1, max_size=3
    ),
    st.booleans(),
)


def _nodes(names: list[str]) -> st.SearchStrategy[Node]:
    # A reference comes after a character, so that few of the rules drawn are left recursive.
    references = st.builds(
        lambda text, name: Seq((Lit(text), Ref(name))), st.sampled_from("ab"), st.sampled_from(names)
    )
    return st.recursive(
        st.one_of(st.builds(Lit, _TEXTS), _CHARS, references, st.builds(Ref, st.sampled_from(names))),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda items: Seq(tuple(items))),
            st.lists(inner, min_size=1, max_size=3).map(lambda options: Alt(tuple(options))),
            st.builds(lambda item, least, more: Repeat(item, least, more and least + more - 1), inner, st.integers(0, 3), st.sampled_from([None, 1, 2, 3])),
        ),
        max_leaves=6,
    )  # fmt: skip


@st.composite
def valid_rules(draw: st.DrawFn) -> dict[str, Node]:
    """Small rules that pass verification: drawn at random, each with a way out, pruned, faulty ones replaced."""
    names = ["root", "x", "Y-2"]
    rules: dict[str, Node] = {}
    for name in names:
        rules[name] = Alt((draw(_nodes(names)), draw(st.sampled_from([EMPTY, Lit("a"), Lit("c")]))))
    rules = pruned(rules)
    try:
        verify(rules)
    except CompilerBug:
        return {"root": draw(_nodes(["root"]).filter(_alone))}
    return rules


def _alone(node: Node) -> bool:
    try:
        verify({"root": node})
    except CompilerBug:
        return False
    return True


def pruned(rules: Mapping[str, Node], root: str = "root") -> dict[str, Node]:
    """Only the rules that the root reaches."""
    wanted: set[str] = set()
    todo: list[Node] = [Ref(root)]
    while todo:
        node = todo.pop()
        if isinstance(node, (Ref, Gate)):
            if node.name not in wanted:
                wanted.add(node.name)
                todo.append(rules[node.name])
        else:
            todo.extend(children(node))
    return {name: node for name, node in rules.items() if name in wanted}
