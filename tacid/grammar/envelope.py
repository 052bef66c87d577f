"""The root of every grammar: one call, ``{"tool":"<name>","arguments":{…}}``, or one answer, ``{"say":"…"}``."""

from __future__ import annotations

from collections.abc import Mapping

from tacid.grammar.context import Builder
from tacid.grammar.nodes import Lit, Node, Ref
from tacid.grammar.primitives import STRING
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import prefix_tree_of

#: Characters of a tool's name that its rule's name shows.
MAX_SLUG = 40


def rule_name(index: int, name: str) -> str:
    """The rule of one tool: its place first, so that no spelling of a name can meet another rule."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in name[: 2 * MAX_SLUG]).split()
    slug = "-".join(words)[:MAX_SLUG].strip("-")
    return f"call-{index}-{slug}" if slug else f"call-{index}"


def put_call(builder: Builder, index: int, name: str, arguments: Node) -> Ref:
    """Make the rule of a tool: what follows its name in a call."""
    rule = rule_name(index, name)
    builder.put(rule, seq(Lit('","arguments":'), arguments, Lit("}")))
    return Ref(rule)


def envelope(builder: Builder, calls: Mapping[str, Node], *, say: bool) -> Node:
    """The root: a call of one of ``calls`` (name to the rule of what follows the name), or an answer with ``say``.

    Names are a prefix tree. At least one of both must be possible.
    """
    options: list[Node] = []
    if calls:
        names: dict[str, Node] = {}
        tree = prefix_tree_of(calls, rules=names, name="name")
        for name, node in names.items():
            builder.put(name, node)
        options.append(seq(Lit('tool":"'), tree))
    if say:
        options.append(seq(Lit('say":'), STRING, Lit("}")))
    return seq(Lit('{"'), alt(options))
