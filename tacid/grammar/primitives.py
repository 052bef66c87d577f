"""The rules of JSON itself, which every grammar has at hand and none carries unless it uses them.

Strings hold any character but controls, quote and backslash, or an escape; an escape of a lone surrogate is refused,
since no text has one. Numbers are JSON's (RFC 8259), with exponents whose numbers a double can hold.
"""

from __future__ import annotations

from tacid.grammar.nodes import Chars, Lit, Node, Ref, Repeat
from tacid.grammar.shapes import alt, optional, seq

VALUE = Ref("value")
STRING = Ref("string")
CHAR = Ref("char")
INTEGER = Ref("integer")
NUMBER = Ref("number")
ARRAY = Ref("array")
OBJECT = Ref("object")
BOOLEAN = Ref("boolean")
NULL = Lit("null")
#: What is left of a key that is told apart from others already, closing quote included.
KEY_REST = Ref("key-rest")
#: The escape of a character that JSON can't hold raw, in its shortest spelling.
KEY_ESCAPE = Ref("key-escape")
#: What is left of a key that is something else already by being longer.
KEY_MORE = Ref("key-more")
#: What is left of a key that ends here, or goes on with an escape, where a declared name does neither.
KEY_OFF = Ref("key-off")
FRACTION = Ref("fraction")
EXPONENT = Ref("exponent")
#: The exponent after several digits, which add to its size.
SHORT_EXPONENT = Ref("short-exponent")
#: Magnitudes below a ten thousandth, and from 10,000,000,000,000,000 on, with an exponent.
TINY = Ref("tiny")
HUGE = Ref("huge")
#: A number's magnitude, without sign.
UNSIGNED = Ref("unsigned")

DIGIT = Chars(((0x30, 0x39),))
DIGITS = Repeat(DIGIT, 0, None)
_FIRST = Chars(((0x31, 0x39),))
NATURAL = alt((Lit("0"), seq(_FIRST, DIGITS)))
MINUS = optional(Lit("-"))


def _chars(text: str) -> Chars:
    return Chars(tuple((ord(char), ord(char)) for char in sorted(text)))


def _several(item: Node, separator: Node, opening: str, closing: str) -> Node:
    more = Repeat(seq(separator, item), 0, None)
    return seq(Lit(opening), optional(seq(item, more)), Lit(closing))


_HEX = Chars(((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)))
_PAIR_LOW = seq(Chars(((0x43, 0x46), (0x63, 0x66))), _HEX, _HEX)
_D = Chars(((0x44, 0x44), (0x64, 0x64)))
_UNICODE = alt(
    (
        seq(Chars(((0x30, 0x39), (0x41, 0x43), (0x45, 0x46), (0x61, 0x63), (0x65, 0x66))), Repeat(_HEX, 3, 3)),
        seq(_D, Chars(((0x30, 0x37),)), _HEX, _HEX),
        seq(_D, Chars(((0x38, 0x39), (0x41, 0x42), (0x61, 0x62))), _HEX, _HEX, Lit("\\u"), _D, _PAIR_LOW),
    )
)
_RAW = Chars(((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)), negated=True)
_TO_307 = alt(
    (
        seq(Chars(((0x30, 0x32),)), Repeat(DIGIT, 0, 2)),
        seq(Chars(((0x34, 0x39),)), optional(DIGIT)),
        seq(Lit("3"), optional(alt((Chars(((0x31, 0x39),)), seq(Lit("0"), optional(Chars(((0x30, 0x37),)))))))),
    )
)


def _range(first: str, last: str) -> Node:
    return Chars(((ord(first), ord(last)),))


_TO_323 = alt(
    (
        seq(_range("1", "2"), Repeat(DIGIT, 1, 2)),
        seq(_range("4", "9"), DIGIT),
        seq(Lit("3"), DIGIT),
        seq(Lit("3"), _range("0", "1"), DIGIT),
        seq(Lit("32"), _range("0", "3")),
    )
)
_16_TO_307 = alt(
    (
        seq(Lit("1"), _range("6", "9")),
        seq(_range("2", "9"), DIGIT),
        seq(_range("1", "2"), DIGIT, DIGIT),
        seq(Lit("30"), _range("0", "7")),
    )
)

PRIMITIVES: dict[str, Node] = {
    "value": alt((OBJECT, ARRAY, STRING, NUMBER, BOOLEAN, NULL)),
    "object": _several(seq(STRING, Lit(":"), VALUE), Lit(","), "{", "}"),
    "array": _several(VALUE, Lit(","), "[", "]"),
    "string": seq(Lit('"'), Repeat(CHAR, 0, None), Lit('"')),
    "char": alt((_RAW, seq(Lit("\\"), alt((_chars('"\\/bfnrt'), seq(Lit("u"), _UNICODE)))))),
    "number": seq(MINUS, UNSIGNED),
    "unsigned": alt(
        (
            seq(DIGIT, optional(FRACTION), optional(EXPONENT)),
            seq(_FIRST, Repeat(DIGIT, 1, None), optional(FRACTION), optional(SHORT_EXPONENT)),
        )
    ),
    "fraction": seq(Lit("."), Repeat(DIGIT, 1, None)),
    "exponent": seq(_chars("Ee"), alt((seq(Lit("-"), Repeat(DIGIT, 1, 3)), seq(optional(Lit("+")), _TO_307)))),
    "short-exponent": seq(_chars("Ee"), optional(_chars("+-")), Repeat(DIGIT, 1, 2)),
    "tiny": alt(
        (
            seq(
                _FIRST,
                optional(FRACTION),
                _chars("Ee"),
                Lit("-"),
                alt((seq(optional(Lit("0")), _range("5", "9")), _TO_323)),
            ),
            Lit("5e-324"),
        )
    ),
    "huge": seq(_FIRST, optional(FRACTION), _chars("Ee"), optional(Lit("+")), _16_TO_307),
    "integer": seq(MINUS, NATURAL),
    "boolean": alt((Lit("true"), Lit("false"))),
    "key-rest": seq(Repeat(CHAR, 0, None), Lit('"')),
    "key-more": seq(CHAR, KEY_REST),
    "key-off": alt((Lit('"'), seq(KEY_ESCAPE, KEY_REST))),
    "key-escape": seq(
        Lit("\\"),
        alt(
            (
                _chars('"\\bfnrt'),
                seq(Lit("u00"), alt((seq(Lit("0"), _chars("01234567bef")), seq(Lit("1"), _chars("0123456789abcdef"))))),
            )
        ),
    ),
}
