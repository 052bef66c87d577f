"""How characters of a set are written inside a JSON string: raw where JSON lets them be, else as escapes.

A set that holds nearly everything has every spelling that JSON knows. Any other is written canonically
(`tacid.jsontext`), and ``<`` also as the prompt shows it. Half a surrogate pair never comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from tacid.grammar.nodes import Chars, Lit, Node
from tacid.grammar.primitives import CHAR, KEY_ESCAPE
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import json_literal
from tacid.jsontext import escape_char
from tacid.patterns.charset import ALL, Ranges, complement, contains, difference, intersection, ranges_of

_NEVER_RAW = ranges_of([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_HIGH = ((0x10000, 0x10FFFF),)
_SHORT = '"/\\bfnrt'
_MEANT = '"/\\\b\f\n\r\t'
#: Ranges of a class that is written where it is used; above, it has a rule of its own.
_FEW_RANGES = 8
#: Ranges that a set may leave out and still be spelled in every way.
_FEW_GAPS = 8
_HEX = Chars(((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)))
_D = Chars(((0x44, 0x44), (0x64, 0x64)))
#: A character above the first plane, from after ``\\u`` on.
_PAIR = seq(
    _D, Chars(((0x38, 0x39), (0x41, 0x42), (0x61, 0x62))), _HEX, _HEX, Lit("\\u"),
    _D, Chars(((0x43, 0x46), (0x63, 0x66))), _HEX, _HEX,
)  # fmt: skip


def spelled(ranges: Ranges, named: Callable[[Node], Node]) -> Node:
    """One character of a set, which isn't empty; ``named`` makes a rule of a node."""
    if ranges == ALL:
        return CHAR
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return json_literal(chr(ranges[0][0]))
    node = _spellings(ranges)
    return node if isinstance(node, Chars) and len(node.ranges) <= _FEW_RANGES else named(node)


@lru_cache(maxsize=1024)
def _spellings(ranges: Ranges) -> Node:
    """A character of a set in each of its spellings; one node for all grammars."""
    raw = difference(ranges, _NEVER_RAW)
    options: list[Node] = [_class(raw)] if raw else []
    options.extend(_escapes(ranges))
    return alt(options)


def _class(raw: Ranges) -> Chars:
    """The class of a set, by what is in it or by what is not, whichever is shorter."""
    outside = tuple((low, high) for low, high in complement(raw) if (low, high) != (0xD800, 0xDFFF))
    return Chars(outside, negated=True) if len(outside) < len(raw) else Chars(raw)


def _escapes(ranges: Ranges) -> list[Node]:
    gaps = [gap for gap in complement(ranges) if gap[0] > 0x7F]
    if len(gaps) <= _FEW_GAPS // 2 and len(complement(ranges)) <= _FEW_GAPS and not intersection(tuple(gaps), _HIGH):
        return [seq(Lit("\\"), alt(_every_escape(ranges)))]
    options: list[Node] = []
    forced = intersection(ranges, _NEVER_RAW)
    if forced == _NEVER_RAW:
        options.append(KEY_ESCAPE)
    elif forced:
        options.append(seq(Lit("\\"), alt(_canonical(_points(forced)))))
    if contains(ranges, ord("<")):
        options.append(Lit(escape_char("<")))
    return options


def _every_escape(ranges: Ranges) -> list[Node]:
    short = ranges_of((ord(c), ord(c)) for c, meant in zip(_SHORT, _MEANT, strict=True) if contains(ranges, ord(meant)))
    options: list[Node] = [Chars(short)] if short else []
    options.append(seq(Lit("u"), alt((_hex(intersection(ranges, ((0, 0xFFFF),)), 4), _PAIR))))
    return options


def _canonical(points: Iterable[int]) -> list[Node]:
    """What follows the backslash in the shortest escapes of controls, quote and backslash."""
    texts = [escape_char(chr(point))[1:] for point in points]
    short = ranges_of((ord(text), ord(text)) for text in texts if len(text) == 1)
    options: list[Node] = [Chars(short)] if short else []
    for start in ("u000", "u001"):
        last = ranges_of((ord(text[4]), ord(text[4])) for text in texts if text.startswith(start))
        if last:
            options.append(seq(Lit(start), Chars(last)))
    return options


def _points(ranges: Ranges) -> Iterable[int]:
    return (point for low, high in ranges for point in range(low, high + 1))


def _hex(ranges: Ranges, digits: int) -> Node:
    """The numbers of a set as so many hexadecimal digits, of either case."""
    if digits == 0:
        return seq()
    unit = 16 ** (digits - 1)
    groups: dict[Ranges, list[int]] = {}
    for digit in range(16):
        low = digit * unit
        inner = tuple(
            (max(a, low) - low, min(b, low + unit - 1) - low) for a, b in ranges if a < low + unit and b >= low
        )
        if inner:
            groups.setdefault(inner, []).append(digit)
    return alt(seq(_digits(found), _hex(inner, digits - 1)) for inner, found in groups.items())


def _digits(numbers: list[int]) -> Node:
    letters = [char for number in numbers for char in {f"{number:x}", f"{number:X}"}]
    ranges = ranges_of((ord(char), ord(char)) for char in letters)
    return Lit(letters[0]) if len(letters) == 1 else Chars(ranges)
