"""Rules as GBNF text. The only place that knows how GBNF spells anything.

Nodes hold the characters to be matched (JSON escapes are characters like any other by now); this escapes them for
GBNF alone. The forms that build b10434 refuses never come out: ``\\-`` in a class, an empty right side, ``{,n}``,
a line break within a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from string import hexdigits

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar.limits import MAX_GRAMMAR_BYTES
from tacid.grammar.nodes import Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq

EMPTY_TEXT = '""'
_LITERAL = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CLASS = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "[": "\\[", "]": "\\]", "-": "\\x2D", "^": "\\x5E"}

# How tightly a piece of text holds together, from alternatives to what a repeat may follow.
_ALT, _SEQ, _ATOM = 0, 1, 2


def print_rules(rules: Mapping[str, Node], root: str = "root") -> str:
    """GBNF text of ``root`` and of what it refers to, root first, the others in the order of ``rules``.

    A gate prints as the literal newline; its rule is left out unless something refers to it too. Where ``root`` has
    another name, the text opens with a rule ``root`` that refers to it. Raises ``CompilerBug``: a rule that is not
    there, nodes too deep to print; ``GrammarError``: a text beyond `MAX_GRAMMAR_BYTES`.
    """
    printed = _printed(rules, root)
    lines = [f"{root} ::= {printed.pop(root)}\n"]
    if root != "root":
        if "root" in printed:
            raise CompilerBug(f"The rule {root} can't stand at the root: it refers to the rule root.")
        lines.insert(0, f"root ::= {root}\n")
    lines += [f"{name} ::= {printed[name]}\n" for name in rules if name in printed]
    text = "".join(lines)
    size = len(text) if text.isascii() else len(text.encode())
    if size > MAX_GRAMMAR_BYTES:
        raise GrammarError(f"The grammar has {size:,} bytes; the limit is {MAX_GRAMMAR_BYTES:,}. Offer fewer tools.")
    return text


def print_node(node: Node) -> str:
    """GBNF text of one node, as it stands on the right of a rule. Raises ``CompilerBug`` for nodes too deep."""
    return _rule(node)[0]


def print_part(node: Alt) -> tuple[str, tuple[str, ...]]:
    """GBNF text of a choice of several, without parentheses, and the names in it."""
    names: list[str] = []
    return _spell(node, names)[0], tuple(dict.fromkeys(names))


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below this one that it can match: none of a reference, a gate, or a repeat of no times."""
    if isinstance(node, Seq):
        return node.items
    if isinstance(node, Alt):
        return node.options
    if isinstance(node, Repeat):
        return (node.item,) if node.max != 0 else ()
    return ()


def _printed(rules: Mapping[str, Node], root: str) -> dict[str, str]:
    """The texts of ``root`` and of what it leads to."""
    printed: dict[str, str] = {}
    names = [root]
    while names:
        name = names.pop()
        if name in printed:
            continue
        if name not in rules:
            raise CompilerBug(f"The rule {name} is referred to and not there.")
        printed[name], further = _rule(rules[name])
        names.extend(further)
    return printed


def _rule(node: Node) -> tuple[str, tuple[str, ...]]:
    """The text of a node as a rule, and the names in it; both are kept with the node."""
    if isinstance(node, (Seq, Alt, Repeat)) and node.printed is not None:
        return node.printed
    names: list[str] = []
    try:
        printed = _spell(node, names)[0], tuple(dict.fromkeys(names))
    except RecursionError:
        raise CompilerBug("A node is nested too deep to print; cut it into named rules.") from None
    if isinstance(node, (Seq, Alt, Repeat)):
        node.printed = printed
    return printed


def _spell(node: Node, names: list[str]) -> tuple[str, int]:
    """The text of a node and how tightly it holds together; names met are put into ``names``."""
    if isinstance(node, Seq):
        return _sequence(node, names)
    if isinstance(node, Alt):
        if node.part is not None:
            text, within = node.part.printed
            names.extend(within)
            return text, _ALT
        if len(node.options) == 1:
            return _spell(node.options[0], names)
        return " | ".join([_spell(option, names)[0] for option in node.options]), _ALT
    if isinstance(node, Ref):
        names.append(node.name)
        return node.name, _ATOM
    if isinstance(node, Lit):
        return _literal(node.text), _ATOM
    if isinstance(node, Chars):
        return _chars(node), _ATOM
    if isinstance(node, Gate):
        return '"\\n"', _ATOM
    return _repeat(node, names)


def _sequence(node: Seq, names: list[str]) -> tuple[str, int]:
    pieces: list[str] = []
    tight = _ATOM
    run = ""
    for item in _flat(node):
        if type(item) is Lit:
            run += item.text
            continue
        if run:
            pieces.append(_literal(run))
            run, tight = "", _ATOM
        if type(item) is Ref:
            names.append(item.name)
            pieces.append(item.name)
            tight = _ATOM
        else:
            text, tight_here = _spell(item, names)
            if text != EMPTY_TEXT:
                pieces.append(text if tight_here > _ALT else f"({text})")
                tight = tight_here
    if run:
        pieces.append(_literal(run))
        tight = _ATOM
    if len(pieces) > 1:
        return " ".join(pieces), _SEQ
    if not pieces:
        return EMPTY_TEXT, _ATOM
    return (pieces[0] if tight > _ALT else pieces[0][1:-1]), tight


def _flat(node: Seq) -> Iterable[Node]:
    for item in node.items:
        if type(item) is Seq:
            return _opened(node)
    return node.items


def _opened(node: Seq) -> Iterator[Node]:
    for item in node.items:
        if isinstance(item, Seq):
            yield from _opened(item)
        else:
            yield item


def _repeat(node: Repeat, names: list[str]) -> tuple[str, int]:
    if node.max == 0:
        return EMPTY_TEXT, _ATOM
    text, tight = _spell(node.item, names)
    if text == EMPTY_TEXT:
        return EMPTY_TEXT, _ATOM
    if node.min == node.max == 1:
        return text, tight
    if tight < _ATOM:
        text = f"({text})"
    return text + _bounds(node.min, node.max), _SEQ


def _bounds(least: int, most: int | None) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is not None:
        return short
    if most is None:
        return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _literal(text: str) -> str:
    if text.isprintable():
        if "\\" in text:
            text = text.replace("\\", "\\\\")
        if '"' in text:
            text = text.replace('"', '\\"')
        return f'"{text}"'
    return '"' + _joined([_LITERAL.get(char) or _shown(char) for char in text]) + '"'


@lru_cache(maxsize=1024)
def _chars(node: Chars) -> str:
    if not node.ranges and node.negated:
        return "."
    parts = []
    for low, high in node.ranges:
        parts.append(_class_char(low))
        if high > low:
            parts.append(("-" if high > low + 1 else "") + _class_char(high))
    return ("[^" if node.negated else "[") + _joined(parts) + "]"


def _joined(parts: list[str]) -> str:
    """The parts as one; XGrammar takes all hexadecimal digits after ``\\x`` for its own, but four after ``\\u``."""
    for index, after in enumerate(parts[1:]):
        if after[0] in hexdigits and parts[index][-4:-2] == "\\x":
            parts[index] = f"{parts[index][:-4]}\\u00{parts[index][-2:]}"
    return "".join(parts)


def _class_char(point: int) -> str:
    char = chr(point)
    # Beyond ASCII a number says more than a glyph at the edge of a range.
    return _CLASS.get(char) or (char if " " <= char <= "~" else _escape(point))


def _shown(char: str) -> str:
    return char if char.isprintable() else _escape(ord(char))


def _escape(point: int) -> str:
    if point < 0x100:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
