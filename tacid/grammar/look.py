"""What there is to know of one rule by itself, found in one pass and kept with its node.

Most rules of a grammar are new, but not all: the rules of JSON itself, and those of declared names' characters, are the
same nodes in every grammar. What depends on other rules (`tacid.grammar.worth`, `tacid.grammar.edges`) is put together
for each grammar from the looks at its rules.
"""

from __future__ import annotations

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.edges import Start, beginning, ending
from tacid.grammar.nodes import Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import children, print_part
from tacid.grammar.shapes import weight
from tacid.grammar.worth import MAYBE_EMPTY, plain_value
from tacid.jsontext import quote


class Look:
    """Names that a rule refers to, its gates, its repeats, its size once unrolled, how it can begin and end.

    ``elements`` is what the engine makes of it. ``value`` is its worth once all that it refers to has finite texts,
    ``None`` where that depends on which of these may be empty. ``start`` and ``ends`` hold where none of them may.
    """

    __slots__ = ("elements", "ends", "gates", "names", "repeats", "start", "value")

    def __init__(self, name: str, node: Node) -> None:
        pass_ = _Pass(name)
        inline, _ = pass_.measure(node, 1, 0)
        self.names: tuple[str, ...] = tuple(pass_.names)
        self.gates: tuple[str, ...] = tuple(pass_.gates)
        self.repeats: tuple[Repeat, ...] = tuple(pass_.repeats)
        self.elements: int = pass_.elements + inline
        self.value: int | None = plain_value(node)
        self.start: Start = beginning(node)
        self.ends: dict[str, bool] = ending(node)


class Part:
    """The same of a node that is part of rules, and its text and `weight`, for nodes that many grammars share.

    ``deep`` and ``groups`` are how deep nodes and groups nest in it.
    """

    __slots__ = ("deep", "elements", "ends", "groups", "inline", "made", "names", "printed", "weight")

    def __init__(self, node: Alt) -> None:
        pass_ = _Pass("")
        self.inline, self.made = pass_.measure(node, 2, 1)
        self.elements: int = pass_.elements - 1
        self.names: tuple[str, ...] = tuple(pass_.names)
        assert not pass_.gates and not pass_.repeats and plain_value(node) != MAYBE_EMPTY
        self.ends: dict[str, bool] = ending(node)
        self.printed: tuple[str, tuple[str, ...]] = print_part(node)
        self.weight: int = weight(node)
        self.deep, self.groups = _heights(node)


def share(node: Alt) -> Alt:
    """The node, known as a part of many rules from now on.

    It holds neither gates nor repeats, is never empty, and all rules that it refers to have finite texts.
    """
    node.part = Part(node)
    return node


def look_of(name: str, node: Node) -> Look:
    """What there is to know of a rule. Raises ``CompilerBug`` for one that is faulty by itself."""
    if isinstance(node, (Seq, Alt, Repeat)):
        look = node.look
        if look is None:
            look = node.look = Look(name, node)
        return look
    return Look(name, node)


class _Pass:
    """Checks the nodes of one rule by themselves and gathers what is in them."""

    __slots__ = ("elements", "gates", "name", "names", "repeats")

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, None] = {}
        self.gates: dict[str, None] = {}
        self.repeats: list[Repeat] = []
        self.elements = 1

    def measure(self, node: Node, deep: int, groups: int) -> tuple[int, int]:
        """The elements that a node puts into its rule, and how many rules the engine makes for it."""
        kind = type(node)
        if kind is Lit:
            return self.text(node.text), 0  # type: ignore[union-attr]
        if deep > limits.MAX_NODES_DEEP or groups > limits.MAX_GROUPS:
            raise CompilerBug(
                f"The rule {self.name} nests deeper than {limits.MAX_GROUPS} groups or {limits.MAX_NODES_DEEP} nodes; "
                "cut it into several rules."
            )
        if isinstance(node, Seq):
            return self.parts(node.items, deep, groups, choice=False)
        if isinstance(node, Alt):
            part = node.part
            if (
                part is not None
                and deep > 1
                and deep + part.deep <= limits.MAX_NODES_DEEP
                and groups + part.groups <= limits.MAX_GROUPS
            ):
                self.elements += part.elements
                for name in part.names:
                    self.names[name] = None
                return part.inline, part.made
            return self.choice(node, deep, groups)
        if isinstance(node, Repeat):
            return self.repeat(node, deep, groups)
        if isinstance(node, Chars):
            _check_ranges(self.name, node)
            return 2 * len(node.ranges) or 1, 0
        assert not isinstance(node, Lit)
        self.names[node.name] = None
        if isinstance(node, Gate):
            self.gates[node.name] = None
        return 1, 0

    def parts(self, nodes: tuple[Node, ...], deep: int, groups: int, *, choice: bool) -> tuple[int, int]:
        inline = made = 0
        deep += 1
        for node in nodes:
            # Most nodes are texts and names.
            if type(node) is Lit:
                text = node.text
                inline += len(text) if text.isascii() and "\0" not in text else self.text(text)
            elif type(node) is Ref and deep <= limits.MAX_NODES_DEEP:
                self.names[node.name] = None
                inline += 1
            else:
                grouped = not choice and type(node) is Alt
                below, further = self.measure(node, deep, groups + 1 if grouped else groups)
                inline += below
                made += further
        return inline, made

    def choice(self, node: Alt, deep: int, groups: int) -> tuple[int, int]:
        count = len(node.options)
        if not count:
            raise CompilerBug(f"The rule {self.name} has a choice of nothing.")
        if count > limits.MAX_STARTS:
            raise CompilerBug(
                f"The rule {self.name} has a choice of {count:,}, over {limits.MAX_STARTS:,}; use a tree."
            )
        inline, made = self.parts(node.options, deep, groups, choice=True)
        if deep == 1:
            return inline + count, made
        self.elements += inline + count
        return 1, made + 1

    def repeat(self, node: Repeat, deep: int, groups: int) -> tuple[int, int]:
        name, item, low, high = self.name, node.item, node.min, node.max
        if low < 0 or (high is not None and high < low):
            raise CompilerBug(f"The rule {name} repeats at least {low} and at most {high} times.")
        if max(low, high or 0) > limits.MAX_REPEAT:
            raise CompilerBug(
                f"The rule {name} repeats {max(low, high or 0):,} times; the limit is {limits.MAX_REPEAT:,}."
            )
        if high == 0:
            return 0, 0
        if low == high == 1:
            return self.measure(item, deep + 1, groups)
        grouped = isinstance(item, (Alt, Repeat)) or (isinstance(item, Seq) and len(item.items) > 1)
        inline, made = self.measure(item, deep + 1, groups + grouped)
        repeated = 1
        if grouped:
            if not isinstance(item, Alt):
                self.elements += inline
                inline, made = 1, made + 1
            # The engine counts names that it meets for the first time within the group, too.
            repeated = made + len(_names(item))
        bound = high or low or 1
        if repeated * bound > limits.MAX_REPEATED_RULES:
            raise CompilerBug(
                f"The rule {name} repeats a group of {repeated:,} rules {bound:,} times; name the group as a rule."
            )
        optional = 1 if high is None else high - low
        self.elements += optional * (inline + 3)
        if bound > 1 or high is None:
            self.repeats.append(node)
        return low * inline + 1, made + optional

    def text(self, text: str) -> int:
        if "\0" in text:
            raise CompilerBug(f"The rule {self.name} has a NUL in a literal; write it as an escape of JSON.")
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise CompilerBug(
                f"The rule {self.name} has half a surrogate pair in a literal; write it as an escape of JSON."
            )
        return len(text)


def check_name(name: str) -> None:
    """Raise ``CompilerBug`` for a rule name that the engine doesn't take."""
    if not limits.RULE_NAME.fullmatch(name) or len(name) > limits.MAX_RULE_NAME:
        raise CompilerBug(f"The rule name {quote(name, shown=True)} is none that the engine takes.")


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


def _heights(node: Node) -> tuple[int, int]:
    """How deep nodes nest within a node, and groups in groups."""
    if isinstance(node, Alt) and node.part is not None:
        return node.part.deep, node.part.groups
    deep = groups = 0
    for below in children(node):
        further = _heights(below)
        deep = max(deep, 1 + further[0])
        groups = max(groups, further[1] + isinstance(below, (Alt, Repeat)))
    return deep, groups


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
