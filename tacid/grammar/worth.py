"""What rules can give: nothing at all, texts that are never empty, or perhaps the empty text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacid.grammar.nodes import Alt, Gate, Lit, Node, Ref, Repeat, Seq

# From best to worst: a sequence is as bad as its worst item, a choice as good as its best option.
MAYBE_EMPTY, NEVER_EMPTY, NOTHING = 0, 1, 2


def worth_of(
    rules: Mapping[str, Node], references: Mapping[str, Iterable[str]], order: Iterable[str]
) -> dict[str, int]:
    """For each rule whether it may be empty, is never empty, or has no finite text at all."""
    worth = dict.fromkeys(rules, NOTHING)
    users: dict[str, list[str]] = {}
    for name, referred in references.items():
        for reference in referred:
            users.setdefault(reference, []).append(name)
    due = list(order)
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
    return worth


def value_of(node: Node, worth: Mapping[str, int]) -> int:
    if isinstance(node, Lit):
        return NEVER_EMPTY if node.text else MAYBE_EMPTY
    if isinstance(node, Seq):
        return max((value_of(item, worth) for item in node.items), default=MAYBE_EMPTY)
    if isinstance(node, Alt):
        return min(value_of(option, worth) for option in node.options)
    if isinstance(node, Ref):
        return worth[node.name]
    if isinstance(node, Gate):
        return max(NEVER_EMPTY, worth[node.name])
    if isinstance(node, Repeat):
        return value_of(node.item, worth) if node.min else MAYBE_EMPTY
    return NEVER_EMPTY
