"""Rules made apart from any grammar, to be put into many: what a pattern costs is paid once."""

from __future__ import annotations

from collections.abc import Mapping

from tacid.grammar.context import Scope
from tacid.grammar.nodes import Alt, Node, Ref, Repeat, Seq
from tacid.grammar.shapes import weight

#: What a name in a draft begins with; no rule's name does.
_MARK = "~"


class Draft:
    """A node and the rules that it needs; ``loops`` are those that may lead back to themselves."""

    __slots__ = ("_known", "loops", "node", "shared")

    def __init__(self) -> None:
        self.node: Node = Seq(())
        self.shared: dict[str, Node] = {}
        self.loops: dict[str, Node] = {}
        self._known: dict[Node, Ref] = {}

    def named(self, node: Node) -> Node:
        """A reference to a rule that is this node, which refers to none of ``loops``."""
        if isinstance(node, Ref):
            return node
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = Ref(f"{_MARK}{len(self.shared)}")
            self.shared[known.name] = node
        return known

    def name(self) -> str:
        """A fresh name for one of ``loops``, which must then be put there."""
        name = f"{_MARK}{_MARK}{len(self.loops)}"
        self.loops[name] = self.node
        return name

    @property
    def weight(self) -> int:
        """About how many bytes it prints as."""
        rules = (*self.shared.values(), *self.loops.values())
        return weight(self.node) + sum(12 + weight(node) for node in rules)

    def put(self, scope: Scope, kind: str) -> Ref:
        """Make its rules a scope's; a reference to the one that is its node."""
        names: dict[str, Ref] = {name: Ref(scope.name("text")) for name in self.loops}
        for name, node in self.shared.items():
            names[name] = scope.rule("chars", _renamed(node, names))
        for name, node in self.loops.items():
            scope.builder.put(names[name].name, _renamed(node, names))
        return scope.rule(kind, _renamed(self.node, names))


def _renamed(node: Node, names: Mapping[str, Ref]) -> Node:
    if isinstance(node, Ref):
        return names.get(node.name, node)
    if isinstance(node, Seq):
        return Seq(tuple([_renamed(item, names) for item in node.items]))
    if isinstance(node, Alt):
        return Alt(tuple([_renamed(option, names) for option in node.options]))
    if isinstance(node, Repeat):
        return Repeat(_renamed(node.item, names), node.min, node.max)
    return node
