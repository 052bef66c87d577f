"""The check that every grammar passes before an engine, or anybody, sees it.

A grammar of ours that fails here is a fault of ours. What is refused is what a real engine refuses, hangs on or
crashes on (`tacid.grammar.limits`), and what can't mean anything: a rule that nothing reaches or that never ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.edges import check_ends, check_starts
from tacid.grammar.nodes import Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import children
from tacid.grammar.worth import MAYBE_EMPTY, NOTHING, value_of, worth_of
from tacid.jsontext import quote


def verify(rules: Mapping[str, Node], root: str = "root") -> None:
    """Raise ``CompilerBug`` with the rule's name for the first fault found; time is linear in the nodes.

    Faults: no root; a bad rule name; a reference to no rule; a rule that the root doesn't reach (a gate counts as a
    reference); a rule without any finite text; left recursion, behind items that may be empty too; a rule that ends
    in itself with something optional after; NUL or half a surrogate pair; empty or reversed classes; a choice of
    nothing; bounds that are reversed, above `MAX_REPEAT`, or too large for the group or the repeat that is repeated;
    a repeat of what may be empty; nesting and sizes beyond `tacid.grammar.limits`.
    """
    if root not in rules:
        raise CompilerBug(f"The grammar has no rule {root} to start from.")
    looks = {name: _look(name, node) for name, node in rules.items()}
    for name, look in looks.items():
        for reference in look.references:
            if reference not in rules:
                raise CompilerBug(f"The rule {name} refers to {quote(reference, shown=True)}, which is no rule.")
    order = _order(looks, root)
    if len(order) < len(rules):
        lost = next(name for name in rules if name not in set(order))
        raise CompilerBug(f"The rule {lost} is reached from nowhere; drop it or refer to it.")
    worth = worth_of(rules, {name: look.references for name, look in looks.items()}, order)
    for name in order:
        if worth[name] == NOTHING:
            raise CompilerBug(f"The rule {name} matches no finite text; give it an alternative that ends.")
    for name, look in looks.items():
        for repeat in look.repeats:
            _check_repeated(name, repeat, rules, worth)
    check_starts(rules, worth)
    check_ends(rules, worth)
    elements = sum(look.elements for look in looks.values())
    if elements > limits.MAX_ELEMENTS:
        raise CompilerBug(
            f"The grammar grows to {elements:,} elements in the engine; the limit is {limits.MAX_ELEMENTS:,}."
        )


def unrolled(rules: Mapping[str, Node]) -> int:
    """Elements of these rules once the engine has unrolled their repeats; what `MAX_ELEMENTS` bounds.

    Raises ``CompilerBug`` for a rule that is faulty by itself.
    """
    return sum(_look(name, node).elements for name, node in rules.items())


@dataclass(slots=True)
class _Look:
    """What one pass over a rule finds: names it refers to, its repeats, its size once the engine has unrolled it."""

    references: dict[str, None] = field(default_factory=dict)
    repeats: list[Repeat] = field(default_factory=list)
    elements: int = 1


def _look(name: str, node: Node) -> _Look:
    if not limits.RULE_NAME.fullmatch(name) or len(name) > limits.MAX_RULE_NAME:
        raise CompilerBug(f"The rule name {quote(name, shown=True)} is none that the engine takes.")
    look = _Look()
    inline, _ = _measure(name, node, look, 1, 0)
    look.elements += inline
    return look


def _measure(name: str, node: Node, look: _Look, deep: int, groups: int) -> tuple[int, int]:
    """Check a node by itself; the elements that it puts into its rule, and how many rules the engine makes for it."""
    if isinstance(node, Lit):
        _check_text(name, node.text)
        return len(node.text), 0
    if deep > limits.MAX_NODES_DEEP or groups > limits.MAX_GROUPS:
        raise CompilerBug(
            f"The rule {name} nests deeper than {limits.MAX_GROUPS} groups or {limits.MAX_NODES_DEEP} nodes; "
            "cut it into several rules."
        )
    if isinstance(node, (Ref, Gate)):
        look.references[node.name] = None
        return 1, 0
    if isinstance(node, Chars):
        _check_ranges(name, node)
        return 2 * len(node.ranges) or 1, 0
    if isinstance(node, Seq):
        inline = made = 0
        for item in node.items:
            below = _measure(name, item, look, deep + 1, groups + (type(item) is Alt))
            inline += below[0]
            made += below[1]
        return inline, made
    if isinstance(node, Alt):
        if not node.options:
            raise CompilerBug(f"The rule {name} has a choice of nothing.")
        if len(node.options) > limits.MAX_STARTS:
            raise CompilerBug(
                f"The rule {name} has a choice of {len(node.options):,}, over {limits.MAX_STARTS:,}; use a tree."
            )
        inline = made = 0
        for option in node.options:
            below = _measure(name, option, look, deep + 1, groups)
            inline += below[0] + 1
            made += below[1]
        if deep == 1:
            return inline, made
        look.elements += inline
        return 1, made + 1
    return _measure_repeat(name, node, look, deep, groups)


def _measure_repeat(name: str, node: Repeat, look: _Look, deep: int, groups: int) -> tuple[int, int]:
    low, high = node.min, node.max
    if low < 0 or (high is not None and high < low):
        raise CompilerBug(f"The rule {name} repeats at least {low} and at most {high} times.")
    if max(low, high or 0) > limits.MAX_REPEAT:
        raise CompilerBug(f"The rule {name} repeats {max(low, high or 0):,} times; the limit is {limits.MAX_REPEAT:,}.")
    item = node.item
    if high == 0:
        return 0, 0
    if low == high == 1:
        return _measure(name, item, look, deep + 1, groups)
    grouped = isinstance(item, (Alt, Repeat)) or (isinstance(item, Seq) and len(item.items) > 1)
    inline, made = _measure(name, item, look, deep + 1, groups + grouped)
    repeated = 1
    if grouped:
        if not isinstance(item, Alt):
            look.elements += inline
            inline, made = 1, made + 1
        # The engine counts names that it meets for the first time within the group, too.
        repeated = made + len(_names(item))
    bound = high or low or 1
    if repeated * bound > limits.MAX_REPEATED_RULES:
        raise CompilerBug(
            f"The rule {name} repeats a group of {repeated:,} rules {bound:,} times; name the group as a rule."
        )
    optional = 1 if high is None else high - low
    look.elements += optional * (inline + 3)
    if bound > 1 or high is None:
        look.repeats.append(node)
    return low * inline + 1, made + optional


def _names(node: Node) -> set[str]:
    names: set[str] = set()
    nodes = [node]
    while nodes:
        one = nodes.pop()
        if isinstance(one, Ref):
            names.add(one.name)
        else:
            nodes.extend(children(one))
    return names


def _check_text(name: str, text: str) -> None:
    if "\0" in text:
        raise CompilerBug(f"The rule {name} has a NUL in a literal; write it as an escape of JSON.")
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise CompilerBug(f"The rule {name} has half a surrogate pair in a literal; write it as an escape of JSON.")


def _check_ranges(name: str, node: Chars) -> None:
    if not node.ranges and not node.negated:
        raise CompilerBug(f"The rule {name} has a class without characters.")
    last = -1
    for low, high in node.ranges:
        if not last < low <= high <= 0x10FFFF:
            raise CompilerBug(f"The rule {name} has a class that is reversed, unsorted or beyond Unicode.")
        if low == high == 0 and not node.negated:
            raise CompilerBug(f"The rule {name} has a NUL in a class; write it as an escape of JSON.")
        if not node.negated and (0xD800 <= low <= 0xDFFF or 0xD800 <= high <= 0xDFFF):
            raise CompilerBug(f"The rule {name} has half a surrogate pair in a class; write it as an escape of JSON.")
        last = high


def _order(looks: Mapping[str, _Look], root: str) -> list[str]:
    """The rules that the root reaches, each after those it refers to, except where they refer back."""
    order: list[str] = []
    seen = {root}
    path = [(root, iter(looks[root].references))]
    while path:
        name, references = path[-1]
        for reference in references:
            if reference not in seen:
                seen.add(reference)
                path.append((reference, iter(looks[reference].references)))
                break
        else:
            order.append(name)
            path.pop()
    return order


def _check_repeated(name: str, repeat: Repeat, rules: Mapping[str, Node], worth: Mapping[str, int]) -> None:
    if value_of(repeat.item, worth) == MAYBE_EMPTY:
        raise CompilerBug(f"The rule {name} repeats something that may be empty; repeat what isn't.")
    counts = (repeat.max or 1) * _stretch(repeat.item, rules, worth)
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
            solid = [item for item in one.items if value_of(item, worth) != MAYBE_EMPTY]
            nodes.extend(solid if len(solid) == 1 else () if solid else one.items)
        elif isinstance(one, Ref) and one.name not in seen:
            seen.add(one.name)
            nodes.append(rules[one.name])
    return longest
