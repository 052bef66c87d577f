"""A reader of GBNF text, for tests: as strict as build b10434, and as small as what we print needs."""

from __future__ import annotations

import re

from tacid.grammar.nodes import EMPTY, Alt, Chars, Lit, Node, Ref, Repeat, Seq

_TOKEN = re.compile(
    r'"(?P<lit>(?:[^"\\\n]|\\.)*)"|\[(?P<cls>(?:[^\]\\\n]|\\.)+)\]|(?P<name>[A-Za-z0-9-]+)|(?P<rep>[*+?]|\{\d+(?:,\d*)?\})'
    r"|(?P<op>[()|.])|(?P<space> +)"
)
_ONE = re.compile(r"\\x([0-9A-F]{2})|\\u([0-9A-F]{4})|\\U([0-9A-F]{8})|\\(.)|(.)", re.DOTALL)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "[": "[", "]": "]"}


def read_gbnf(text: str) -> dict[str, Node]:
    """The rules of a grammar text. Raises ``ValueError`` for what we never print."""
    rules: dict[str, Node] = {}
    for line in text.removesuffix("\n").split("\n"):
        name, separator, right = line.partition(" ::= ")
        if not separator or name in rules:
            raise ValueError(line)
        rules[name] = _Reader(right).whole()
    return rules


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(text[at:])
            kind = match.lastgroup or ""
            if kind != "space":
                self.tokens.append((kind, match.group(kind)))
            at = match.end()
        self.tokens.append(("end", ""))
        self.tokens.reverse()

    def whole(self) -> Node:
        node = self.choice()
        if self.tokens.pop() != ("end", ""):
            raise ValueError("something is left over")
        return node

    def choice(self) -> Node:
        options = [self.sequence()]
        while self.tokens[-1] == ("op", "|"):
            self.tokens.pop()
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.tokens[-1] not in (("end", ""), ("op", "|"), ("op", ")")):
            kind, text = self.tokens.pop()
            if kind == "rep":
                items[-1] = _repeat(items[-1], text)
            elif kind == "lit":
                items.append(Lit("".join(map(chr, _points(text)))))
            elif kind == "cls":
                items.append(_chars(text))
            elif kind == "name":
                items.append(Ref(text))
            elif text == ".":
                items.append(Chars((), negated=True))
            else:
                items.append(self.choice())
                self.tokens.pop()
        if not items:
            raise ValueError("an empty sequence")
        return (items[0] if items != [Lit("")] else EMPTY) if len(items) == 1 else Seq(tuple(items))


def _repeat(item: Node, text: str) -> Repeat:
    short = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(text)
    if short is not None:
        return Repeat(item, *short)
    low, comma, high = text[1:-1].partition(",")
    return Repeat(item, int(low), int(high) if high else None if comma else int(low))


def _points(text: str) -> list[int]:
    points = []
    for match in _ONE.finditer(text):
        number = match[1] or match[2] or match[3]
        points.append(int(number, 16) if number else ord(_PLAIN[match[4]] if match[4] else match[5]))
    return points


def _chars(text: str) -> Chars:
    negated = text.startswith("^")
    ranges: list[tuple[int, int]] = []
    parts = re.findall(r"\\(?:x..|u....|U........|.)|.", text[negated:], re.DOTALL)
    while parts:
        (low,) = _points(parts.pop(0))
        if parts and parts[0] == "-":
            (high,) = _points(parts[1])
            del parts[:2]
        else:
            high = low
        if ranges and ranges[-1][1] == low - 1 and low == high and ranges[-1][0] == ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return Chars(tuple(ranges), negated)
