"""Rules as GBNF text. The only place that knows how GBNF spells anything.

Nodes hold the characters to be matched (JSON escapes are characters like any other by now); this escapes them for
GBNF alone. The forms that build b10434 refuses never come out: ``\\-`` in a class, an empty right side, ``{,n}``,
a line break within a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

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
    wanted = _reached(rules, root)
    lines = [f"{root} ::= {print_node(rules[root])}\n"]
    if root != "root":
        if "root" in wanted:
            raise CompilerBug(f"The rule {root} can't stand at the root: it refers to the rule root.")
        lines.insert(0, f"root ::= {root}\n")
    lines += [f"{name} ::= {print_node(node)}\n" for name, node in rules.items() if name in wanted and name != root]
    text = "".join(lines)
    size = len(text.encode())
    if size > MAX_GRAMMAR_BYTES:
        raise GrammarError(f"The grammar has {size:,} bytes; the limit is {MAX_GRAMMAR_BYTES:,}. Offer fewer tools.")
    return text


def print_node(node: Node) -> str:
    """GBNF text of one node, as it stands on the right of a rule. Raises ``CompilerBug`` for nodes too deep."""
    try:
        return _spell(node)[0]
    except RecursionError:
        raise CompilerBug("A node is nested too deep to print; cut it into named rules.") from None


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below this one that it can match: none of a reference, a gate, or a repeat of no times."""
    if isinstance(node, Seq):
        return node.items
    if isinstance(node, Alt):
        return node.options
    if isinstance(node, Repeat):
        return (node.item,) if node.max != 0 else ()
    return ()


def _reached(rules: Mapping[str, Node], root: str) -> set[str]:
    wanted: set[str] = set()
    names = [root]
    while names:
        name = names.pop()
        if name in wanted:
            continue
        if name not in rules:
            raise CompilerBug(f"The rule {name} is referred to and not there.")
        wanted.add(name)
        nodes = [rules[name]]
        while nodes:
            node = nodes.pop()
            if isinstance(node, Ref):
                names.append(node.name)
            else:
                nodes.extend(children(node))
    return wanted


def _spell(node: Node) -> tuple[str, int]:
    """The text of a node and how tightly it holds together."""
    if isinstance(node, Lit):
        return _literal(node.text), _ATOM
    if isinstance(node, Chars):
        return _chars(node), _ATOM
    if isinstance(node, Ref):
        return node.name, _ATOM
    if isinstance(node, Gate):
        return '"\\n"', _ATOM
    if isinstance(node, Seq):
        return _sequence(node)
    if isinstance(node, Alt):
        spelled = [_spell(option) for option in node.options]
        return (" | ".join(text for text, _ in spelled), _ALT) if len(spelled) > 1 else spelled[0]
    return _repeat(node)


def _sequence(node: Seq) -> tuple[str, int]:
    pieces: list[tuple[str, int]] = []
    run: list[str] = []
    for item in (*_flat(node), None):
        if isinstance(item, Lit):
            run.append(item.text)
            continue
        if run:
            pieces.append((_literal("".join(run)), _ATOM))
            run = []
        if item is not None:
            pieces.append(_spell(item))
    pieces = [piece for piece in pieces if piece[0] != EMPTY_TEXT] or [(EMPTY_TEXT, _ATOM)]
    if len(pieces) == 1:
        return pieces[0]
    return " ".join(text if tight > _ALT else f"({text})" for text, tight in pieces), _SEQ


def _flat(node: Seq) -> Iterator[Node]:
    for item in node.items:
        if isinstance(item, Seq):
            yield from _flat(item)
        elif not (isinstance(item, Lit) and not item.text):
            yield item


def _repeat(node: Repeat) -> tuple[str, int]:
    text, tight = _spell(node.item)
    if text == EMPTY_TEXT or node.max == 0:
        return EMPTY_TEXT, _ATOM
    if (node.min, node.max) == (1, 1):
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
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_LITERAL.get(char) or _shown(char) for char in text) + '"'


@lru_cache(maxsize=1024)
def _chars(node: Chars) -> str:
    if not node.ranges and node.negated:
        return "."
    parts = []
    for low, high in node.ranges:
        parts.append(_class_char(low))
        if high > low:
            parts.append(("-" if high > low + 1 else "") + _class_char(high))
    return ("[^" if node.negated else "[") + "".join(parts) + "]"


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
