"""Rules after recursion: what could never end is gone, and no rule begins with itself.

Only alternatives of bare references can begin with themselves here (objects and arrays open with a bracket). Rules
that lead to each other that way admit the same texts, so one of them takes what all of them admit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tacid.grammar.nodes import EMPTY, Alt, Gate, Node, Ref, Repeat, Seq
from tacid.grammar.shapes import alt, seq


def tidied(rules: Mapping[str, Node], start: Node) -> tuple[dict[str, Node], Node | None]:
    """The rules and the start node without dead ends; ``None`` for a start that nothing fits.

    Names that are not among ``rules`` are taken as sound.
    """
    solved = _without_loops(rules)
    ending = _ending(solved)
    kept = {}
    for name, node in solved.items():
        pruned = _pruned(node, solved, ending)
        if pruned is not None:
            kept[name] = pruned
    return kept, _pruned(start, solved, ending)


def _without_loops(rules: Mapping[str, Node]) -> dict[str, Node]:
    """Rules that begin with each other by bare references, as one rule and references to it."""
    units = {name: [o.name for o in _options(node) if isinstance(o, Ref)] for name, node in rules.items()}
    solved = dict(rules)
    for group in _groups(units):
        head = min(group, key=list(rules).index)
        if len(group) == 1 and head not in units[head]:
            continue
        members = [name for name in rules if name in group]
        solved[head] = alt(
            option
            for name in members
            for option in _options(rules[name])
            if not (isinstance(option, Ref) and option.name in group)
        )
        for name in members:
            if name != head:
                solved[name] = Ref(head)
    return solved


def _options(node: Node) -> tuple[Node, ...]:
    return node.options if isinstance(node, Alt) else (node,)


def _groups(edges: Mapping[str, list[str]]) -> Iterator[set[str]]:
    """Strongly connected components (Tarjan's algorithm, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    for start in edges:
        if start in number:
            continue
        calls = [(start, iter(edges[start]))]
        number[start] = low[start] = len(number)
        stack.append(start)
        waiting.add(start)
        while calls:
            name, targets = calls[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    waiting.add(target)
                    calls.append((target, iter(edges[target])))
                    break
                if target in waiting:
                    low[name] = min(low[name], number[target])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[name])
                if low[name] == number[name]:
                    group = set()
                    while name not in group:
                        group.add(stack.pop())
                    waiting -= group
                    yield group


def _ending(rules: Mapping[str, Node]) -> set[str]:
    """Names of the rules that some finite text fits."""
    ending: set[str] = set()
    grown = True
    while grown:
        grown = False
        for name, node in rules.items():
            if name not in ending and _ends(node, rules, ending):
                ending.add(name)
                grown = True
    return ending


def _ends(node: Node, rules: Mapping[str, Node], ending: set[str]) -> bool:
    if isinstance(node, (Ref, Gate)):
        return node.name in ending or node.name not in rules
    if isinstance(node, Seq):
        return all(_ends(item, rules, ending) for item in node.items)
    if isinstance(node, Alt):
        return node.part is not None or any(_ends(option, rules, ending) for option in node.options)
    if isinstance(node, Repeat):
        return node.min == 0 or _ends(node.item, rules, ending)
    return True


def _pruned(node: Node, rules: Mapping[str, Node], ending: set[str]) -> Node | None:
    """The node without what no text fits; ``None`` where that is all of it; the node itself where nothing is."""
    if isinstance(node, (Ref, Gate)):
        return node if _ends(node, rules, ending) else None
    if isinstance(node, Seq):
        items = [_pruned(item, rules, ending) for item in node.items]
        if all(a is b for a, b in zip(items, node.items, strict=True)):
            return node
        sound = [item for item in items if item is not None]
        return seq(*sound) if len(sound) == len(items) else None
    if isinstance(node, Alt):
        if node.part is not None:
            return node
        options = [_pruned(option, rules, ending) for option in node.options]
        if node.options and all(a is b for a, b in zip(options, node.options, strict=True)):
            return node
        left = [option for option in options if option is not None]
        return alt(left) if left else None
    if isinstance(node, Repeat):
        item = _pruned(node.item, rules, ending)
        if item is node.item:
            return node
        if item is None:
            return EMPTY if node.min == 0 else None
        return Repeat(item, node.min, node.max)
    return node
