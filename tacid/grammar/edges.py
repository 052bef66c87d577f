"""How rules begin and end, and what the engine makes of that: endless loops, and stacks that pile up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.nodes import Alt, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.worth import MAYBE_EMPTY

_BLANK = (Seq(()), Lit(""))


class Start:
    """Where a rule can begin: characters, groups and rules met there, as often as the engine's own check meets them."""

    __slots__ = ("characters", "groups", "rules")

    def __init__(self) -> None:
        self.characters = 0
        self.groups = 0
        self.rules: list[str] = []


def beginning(node: Node, worth: Mapping[str, int] | None = None) -> Start:
    """Where a rule can begin, by the worth of what it refers to; without it, as if none of that may be empty."""
    start = Start()
    _begin(node, start, worth)
    return start


def ending(node: Node, worth: Mapping[str, int] | None = None) -> dict[str, bool]:
    """The rules that a rule can end in, each with whether something that may be empty follows it there.

    By the worth of what the rule refers to; without it, as if none of that may be empty.
    """
    found: dict[str, bool] = {}
    _finish(node, False, found, worth)
    return found


def check_starts(
    rules: Mapping[str, Node], plain: Mapping[str, Start], worth: Mapping[str, int], order: Iterable[str]
) -> None:
    """Raise ``CompilerBug`` for left recursion, and for beginnings too deep or too many for the engine.

    ``plain`` has the `beginning` of each rule; in ``order`` a rule should stand after those that it refers to.
    """
    starts: dict[str, Start] = {}
    calls: dict[str, int] = {}
    deep: dict[str, int] = {}
    wide: dict[str, int] = {}
    late = False
    for name in order:
        start = plain[name]
        called, depth, width = 1 + start.groups, 0, start.characters
        for below in start.rules:
            if worth[below] == MAYBE_EMPTY:
                start = beginning(rules[name], worth)
                called, depth, width = 1 + start.groups, 0, start.characters
                break
        starts[name] = start
        for below in start.rules:
            if below not in calls:
                late = True
                break
            called += calls[below]
            width += wide[below]
            if deep[below] > depth:
                depth = deep[below]
        else:
            calls[name], deep[name], wide[name] = called, depth + 1, width
    if late:
        _follow(rules, starts, calls, deep, wide)
    _check_limits(rules, calls, deep, wide)


def _follow(
    rules: Mapping[str, Node],
    starts: Mapping[str, Start],
    calls: dict[str, int],
    deep: dict[str, int],
    wide: dict[str, int],
) -> None:
    """What `check_starts` counts for the rules that are left, in whatever order they begin with each other."""
    on_path: set[str] = set()
    for first in rules:
        path = [first]
        while path:
            name = path[-1]
            if name in calls:
                path.pop()
                continue
            start = starts[name]
            if name not in on_path:
                on_path.add(name)
                for below in start.rules:
                    if below in on_path:
                        raise CompilerBug(f"The rule {name} is left recursive through {below}; let it begin otherwise.")
                waiting = [below for below in start.rules if below not in calls]
                if waiting:
                    path.extend(dict.fromkeys(waiting))
                    continue
            on_path.discard(name)
            path.pop()
            calls[name] = 1 + start.groups + sum(calls[below] for below in start.rules)
            deep[name] = 1 + max((deep[below] for below in start.rules), default=0)
            wide[name] = start.characters + sum(wide[below] for below in start.rules)


def _check_limits(
    rules: Mapping[str, Node], calls: Mapping[str, int], deep: Mapping[str, int], wide: Mapping[str, int]
) -> None:
    if max(deep.values()) > limits.MAX_STARTS_DEEP or max(wide.values()) > limits.MAX_STARTS:
        _refuse(rules, deep, wide)
    if sum(calls.values()) > limits.MAX_START_VISITS:
        worst = max(calls, key=calls.__getitem__)
        raise CompilerBug(
            f"The rule {worst} can begin along {calls[worst]:,} paths, and the engine would follow each; "
            "share what they begin with."
        )


def _refuse(rules: Mapping[str, Node], deep: Mapping[str, int], wide: Mapping[str, int]) -> None:
    for name in rules:
        depth = deep[name]
        if depth > limits.MAX_STARTS_DEEP:
            raise CompilerBug(
                f"The rule {name} begins with a rule that begins with a rule, {depth:,} deep; "
                f"the limit is {limits.MAX_STARTS_DEEP:,}."
            )
        if wide[name] > limits.MAX_STARTS:
            raise CompilerBug(
                f"The rule {name} can begin in {wide[name]:,} ways; the limit is {limits.MAX_STARTS:,}: "
                "share what the ways begin with."
            )


def _begin(node: Node, start: Start, worth: Mapping[str, int] | None) -> bool:
    """Add where a node can begin; whether it may be empty, so that what follows it is a beginning too."""
    if isinstance(node, Lit):
        start.characters += 1
        return not node.text
    if isinstance(node, Seq):
        return all(_begin(item, start, worth) for item in node.items)
    if isinstance(node, Alt):
        start.groups += 1
        empty = False
        for option in node.options:
            if _begin(option, start, worth):
                empty = True
        return empty
    if isinstance(node, Ref):
        start.rules.append(node.name)
        return worth is not None and worth[node.name] == MAYBE_EMPTY
    if isinstance(node, Repeat):
        if node.max == 0:
            return True
        start.groups += 1
        return _begin(node.item, start, worth) or node.min == 0
    start.characters += 1
    return False


def check_ends(rules: Mapping[str, Node], plain: Mapping[str, dict[str, bool]], worth: Mapping[str, int]) -> None:
    """Raise ``CompilerBug`` where a rule ends in itself and something that may be missing could still follow.

    ``x ::= "a" x b?`` leaves one more stack open with every round, each of which may be the one that goes on: the
    engine hung on it. A rule that ends in itself and nothing else is a loop, and fine. ``plain`` has the `ending` of
    each rule.
    """
    ends: dict[str, dict[str, bool]] = {}
    suspects: list[tuple[str, str]] = []
    for name, found in plain.items():
        if not found:
            continue
        for last in found:
            if worth[last] == MAYBE_EMPTY:
                found = ending(rules[name], worth)
                break
        ends[name] = found
        for last, followed in found.items():
            if followed:
                suspects.append((name, last))
    for name, last in suspects:
        if last == name or (last in ends and _ends_in(last, name, ends)):
            raise CompilerBug(
                f"The rule {name} ends in itself through {last} with something optional after; "
                "let what closes it be there always, or nothing."
            )


def _finish(node: Node, followed: bool, found: dict[str, bool], worth: Mapping[str, int] | None) -> bool:
    """Add the rules that a node can end in, each with whether something that may be empty follows it.

    The answer is whether the node itself may be empty, so that what comes before it is an end too.
    """
    if isinstance(node, Lit):
        return not node.text
    if isinstance(node, Seq):
        for item in reversed(node.items):
            if not _finish(item, followed, found, worth):
                return False
            followed = followed or item not in _BLANK
        return True
    if isinstance(node, Alt):
        if node.part is not None and worth is None:
            for name, within in node.part.ends.items():
                found[name] = found.get(name, False) or followed or within
            return False
        empty = False
        for option in node.options:
            if _finish(option, followed, found, worth):
                empty = True
        return empty
    if isinstance(node, Ref):
        found[node.name] = found.get(node.name, False) or followed
        return worth is not None and worth[node.name] == MAYBE_EMPTY
    if isinstance(node, Repeat):
        if node.max == 0:
            return True
        more = node.max is None or node.max > max(1, node.min)
        return _finish(node.item, followed or more, found, worth) or node.min == 0
    return False


def _ends_in(start: str, wanted: str, ends: Mapping[str, Mapping[str, bool]]) -> bool:
    seen: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name == wanted:
            return True
        if name not in seen:
            seen.add(name)
            todo.extend(ends.get(name, ()))
    return False
