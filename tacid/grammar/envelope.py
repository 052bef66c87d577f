"""The root of every grammar: one call, ``{"tool":"<name>","arguments":{…}}``, or one answer, ``{"say":"…"}``.

Where asked for, also a list of calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tacid.grammar.context import Builder
from tacid.grammar.nodes import Gate, Lit, Node, Ref, Repeat
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import prefix_tree_of

#: Characters of a tool's name that its rule's name shows.
MAX_SLUG = 40


def rule_name(index: int, name: str, kind: str = "call") -> str:
    """The rule of one tool: its place first, so that no spelling of a name can meet another rule."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in name[: 2 * MAX_SLUG]).split()
    slug = "-".join(words)[:MAX_SLUG].strip("-")
    return f"{kind}-{index}-{slug}" if slug else f"{kind}-{index}"


def put_call(builder: Builder, index: int, name: str, arguments: Node) -> Ref:
    """Make the rule of a tool: what follows its name in a call."""
    rule = rule_name(index, name)
    builder.put(rule, seq(Lit('","arguments":'), arguments, Lit("}")))
    return Ref(rule)


def set_apart(builder: Builder, index: int, name: str, arguments: Node) -> str:
    """Put a gate before a tool's arguments, so that they are a choice of their own; the rule behind it."""
    rule = rule_name(index, name, "arguments")
    builder.put(rule, arguments)
    put_call(builder, index, name, Gate(rule))
    return rule


def envelope(
    builder: Builder, calls: Mapping[str, Node], *, say: Node | None, max_calls: int = 1, alone: Collection[str] = ()
) -> Node:
    """The root: a call of one of ``calls`` (name to the rule of what follows the name), or an answer, ``say``.

    With ``max_calls`` above 1 also a list of two to so many calls, of the tools that are not in ``alone``. Names are a
    prefix tree. At least one of both must be possible.
    """
    options: list[Node] = []
    listed = {name: node for name, node in calls.items() if name not in alone}
    several = max_calls > 1 and bool(listed)
    if calls:
        node = _choice(builder, calls, "name")
        if several and len(listed) == len(calls):
            builder.put("one-call", node)
            node = Ref("one-call")
        options.append(node)
    if say is not None:
        options.append(seq(Lit('say":'), say, Lit("}")))
    root = seq(Lit('{"'), alt(options))
    if not several:
        return root
    if len(listed) < len(calls):
        builder.put("one-call", _choice(builder, listed, "listed"))
    one = seq(Lit('{"'), Ref("one-call"))
    more = Repeat(seq(Lit(","), one), 1, max_calls - 1)
    return alt([root, seq(Lit("["), one, more, Lit("]"))])


def _choice(builder: Builder, calls: Mapping[str, Node], name: str) -> Node:
    """A call of one of ``calls``, from its first key on."""
    rules: dict[str, Node] = {}
    tree = prefix_tree_of(calls, rules=rules, name=name)
    for rule, node in rules.items():
        builder.put(rule, node)
    return seq(Lit('tool":"'), tree)
