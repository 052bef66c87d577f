"""The check that every grammar passes before an engine, or anybody, sees it.

A grammar of ours that fails here is a fault of ours. What is refused is what a real engine refuses, hangs on or
crashes on (`tacid.grammar.limits`), and what can't mean anything: a rule that nothing reaches or that never ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.edges import check_ends, check_starts
from tacid.grammar.look import Look, check_name, look_of
from tacid.grammar.nodes import Alt, Chars, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.worth import NOTHING, may_be_empty, worth_of
from tacid.jsontext import quote


def verify(rules: Mapping[str, Node], root: str = "root") -> Mapping[str, Look]:
    """What there is to know of each rule. Raises ``CompilerBug`` with the rule's name for the first fault found.

    Time is linear in the nodes, and what was found about a node as a rule before isn't looked for again.

    Faults: no root; a bad rule name; a reference to no rule; a rule that the root doesn't reach (a gate counts as a
    reference); a rule without any finite text; left recursion, behind items that may be empty too; a rule that ends
    in itself with something optional after; NUL or half a surrogate pair; empty or reversed classes; a choice of
    nothing; bounds that are reversed, above `MAX_REPEAT`, or too large for the group or the repeat that is repeated;
    a repeat of what may be empty; nesting and sizes beyond `tacid.grammar.limits`.
    """
    if root not in rules:
        raise CompilerBug(f"The grammar has no rule {root} to start from.")
    looks: dict[str, Look] = {}
    for name, node in rules.items():
        check_name(name)
        looks[name] = look_of(name, node)
    for name, look in looks.items():
        for reference in look.names:
            if reference not in rules:
                raise CompilerBug(f"The rule {name} refers to {quote(reference, shown=True)}, which is no rule.")
    order = _order(looks, root)
    if len(order) < len(rules):
        lost = next(name for name in rules if name not in set(order))
        raise CompilerBug(f"The rule {lost} is reached from nowhere; drop it or refer to it.")
    worth = worth_of(rules, looks, order)
    for name in order:
        if worth[name] == NOTHING:
            raise CompilerBug(f"The rule {name} matches no finite text; give it an alternative that ends.")
    stretches: dict[str, int] = {}
    for name, look in looks.items():
        for repeat in look.repeats:
            _check_repeated(name, repeat, rules, worth, stretches)
    check_starts(rules, {name: look.start for name, look in looks.items()}, worth, order)
    check_ends(rules, {name: look.ends for name, look in looks.items()}, worth)
    elements = sum(look.elements for look in looks.values())
    if elements > limits.MAX_ELEMENTS:
        raise CompilerBug(
            f"The grammar grows to {elements:,} elements in the engine; the limit is {limits.MAX_ELEMENTS:,}."
        )
    return looks


def unrolled(rules: Mapping[str, Node]) -> int:
    """Elements of these rules once the engine has unrolled their repeats; what `MAX_ELEMENTS` bounds.

    Raises ``CompilerBug`` for a rule that is faulty by itself.
    """
    return sum(look_of(name, node).elements for name, node in rules.items())


def _order(looks: Mapping[str, Look], root: str) -> list[str]:
    """The rules that the root reaches, each after those it refers to, except where they refer back."""
    order: list[str] = []
    seen = {root}
    path = [(root, iter(looks[root].names))]
    while path:
        name, references = path[-1]
        for reference in references:
            if reference not in seen:
                seen.add(reference)
                path.append((reference, iter(looks[reference].names)))
                break
        else:
            order.append(name)
            path.pop()
    return order


def _check_repeated(
    name: str, repeat: Repeat, rules: Mapping[str, Node], worth: Mapping[str, int], stretches: dict[str, int]
) -> None:
    """``stretches`` keeps what has been found out about rules that are repeated."""
    item = repeat.item
    if isinstance(item, (Chars, Lit)) and item != Lit(""):
        return
    if may_be_empty(item, worth):
        raise CompilerBug(f"The rule {name} repeats something that may be empty; repeat what isn't.")
    if not isinstance(item, Ref):
        stretch = _stretch(item, rules, worth)
    elif item.name in stretches:
        stretch = stretches[item.name]
    else:
        stretch = stretches[item.name] = _stretch(item, rules, worth)
    counts = (repeat.max or 1) * stretch
    if counts > limits.MAX_NESTED_COUNTS:
        raise CompilerBug(
            f"The rule {name} repeats a repeat with nothing between, which leaves the engine {counts:,} ways to count; "
            f"the limit is {limits.MAX_NESTED_COUNTS:,}."
        )


def _stretch(node: Node, rules: Mapping[str, Node], worth: Mapping[str, int]) -> int:
    """How many lengths a repeat may have that can be all there is of the node; 1 without bound, 0 without repeat."""
    nodes, seen = [node], set[str]()
    longest = 0
    while nodes:
        one = nodes.pop()
        if isinstance(one, Repeat):
            if one.max is None or one.max > max(1, one.min):
                longest = max(longest, one.max or 1)
            nodes.append(one.item)
        elif isinstance(one, Alt):
            nodes.extend(one.options)
        elif isinstance(one, Seq):
            solid = [item for item in one.items if not may_be_empty(item, worth)]
            nodes.extend(solid if len(solid) == 1 else () if solid else one.items)
        elif isinstance(one, Ref) and one.name not in seen:
            seen.add(one.name)
            nodes.append(rules[one.name])
    return longest
