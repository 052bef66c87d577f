"""What rules can give: nothing at all, texts that are never empty, or perhaps the empty text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tacid.grammar.nodes import Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq

if TYPE_CHECKING:
    from tacid.grammar.look import Look

# From best to worst: a sequence is as bad as its worst item, a choice as good as its best option.
MAYBE_EMPTY, NEVER_EMPTY, NOTHING = 0, 1, 2


def worth_of(rules: Mapping[str, Node], looks: Mapping[str, Look], order: Iterable[str]) -> dict[str, int]:
    """For each rule whether it may be empty, is never empty, or has no finite text at all.

    In ``order`` a rule should stand after those that it refers to; those that refer back are what takes time.
    """
    worth = dict.fromkeys(rules, NOTHING)
    open_: list[str] = []
    for name in order:
        look = looks[name]
        value = look.value
        for below in look.names:
            if worth[below] == NOTHING:
                found = value_of(rules[name], worth)
                # With a finite text known, all that is open is whether it may be empty.
                if value is None or found == NOTHING:
                    open_.append(name)
                value = found
                break
        worth[name] = (NEVER_EMPTY, MAYBE_EMPTY)[may_be_empty(rules[name], worth)] if value is None else value
    if open_:
        _improve(rules, looks, open_, worth)
    return worth


def _improve(rules: Mapping[str, Node], looks: Mapping[str, Look], due: list[str], worth: dict[str, int]) -> None:
    """Take the worth of rules, and of those that refer to them, down to what it is in the end."""
    users: dict[str, list[str]] = {}
    for name, look in looks.items():
        for reference in look.names:
            users.setdefault(reference, []).append(name)
    while due:
        # Each rule gets better at most twice, so this ends; in this order most are right at once.
        waiting, again = set(due), dict[str, None]()
        for name in due:
            waiting.discard(name)
            value = value_of(rules[name], worth)
            if value < worth[name]:
                worth[name] = value
                again.update(
                    (user, None) for user in users.get(name, ()) if worth[user] > value and user not in waiting
                )
        due = list(again)


def value_of(node: Node, worth: Mapping[str, int]) -> int:
    """The worth of a node, by that of the rules."""
    if isinstance(node, Lit):
        return NEVER_EMPTY if node.text else MAYBE_EMPTY
    if isinstance(node, Seq):
        return max([value_of(item, worth) for item in node.items], default=MAYBE_EMPTY)
    if isinstance(node, Alt):
        return min([value_of(option, worth) for option in node.options])
    if isinstance(node, Ref):
        return worth[node.name]
    if isinstance(node, Gate):
        return max(NEVER_EMPTY, worth[node.name])
    if isinstance(node, Repeat):
        return value_of(node.item, worth) if node.min else MAYBE_EMPTY
    return NEVER_EMPTY


def may_be_empty(node: Node, worth: Mapping[str, int]) -> bool:
    """Whether a node may be empty; all rules that it refers to must have some finite text."""
    if isinstance(node, Seq):
        return all(may_be_empty(item, worth) for item in node.items)
    if isinstance(node, Alt):
        return any(may_be_empty(option, worth) for option in node.options)
    if isinstance(node, Ref):
        return worth[node.name] == MAYBE_EMPTY
    if isinstance(node, Lit):
        return not node.text
    return isinstance(node, Repeat) and (not node.min or may_be_empty(node.item, worth))


def plain_value(node: Node) -> int | None:
    """The worth of a node where every rule has some finite text; ``None`` where it depends on which may be empty."""
    if isinstance(node, Seq):
        value: int | None = MAYBE_EMPTY
        for item in node.items:
            found = plain_value(item)
            if found == NEVER_EMPTY:
                return NEVER_EMPTY
            if found is None:
                value = None
        return value
    if isinstance(node, Alt):
        value = NEVER_EMPTY
        for option in node.options:
            found = plain_value(option)
            if found == MAYBE_EMPTY:
                return MAYBE_EMPTY
            if found is None:
                value = None
        return value
    if isinstance(node, Lit):
        return NEVER_EMPTY if node.text else MAYBE_EMPTY
    if isinstance(node, Repeat):
        return plain_value(node.item) if node.min else MAYBE_EMPTY
    return NEVER_EMPTY if isinstance(node, (Chars, Gate)) else None
