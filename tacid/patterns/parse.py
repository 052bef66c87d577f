"""Regular expressions of ECMA-262 (22.2.1, Unicode mode) as trees, with the lenient forms of its Annex B.

Read as JSON Schema says (core, 6.4): over code points, case counts, ``^`` and ``$`` are the ends of the whole text.
Where people's engines disagree about a form that Unicode mode forbids (``\\A``, ``\\Z``, ``[[:alpha:]]``, ``(?i)``,
``{,3}``), the pattern isn't read at all rather than guessed at.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tacid.patterns.charset import ALL, NONE, Ranges, chars_of, complement, ranges_of, union
from tacid.patterns.properties import property_set
from tacid.patterns.syntax import EMPTY, Back, Cat, Edge, End, Look, Or, Rep, Set, Start, Tree, cat

#: Characters of a pattern, groups within groups, and the largest count of a repeat that are read.
MAX_PATTERN = 20_000
MAX_DEPTH = 60
MAX_COUNT = 1_000_000_000

DIGIT: Final = ranges_of([(0x30, 0x39)])
WORD: Final = ranges_of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
#: WhiteSpace and LineTerminator of ECMA-262 (12.2, 12.3).
SPACE: Final = union(
    chars_of("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), ranges_of([(0x2000, 0x200A)])
)
_LINE_ENDS: Final = chars_of("\n\r\u2028\u2029")
_SHORTHANDS: Final = {
    "d": DIGIT,
    "D": complement(DIGIT),
    "w": WORD,
    "W": complement(WORD),
    "s": SPACE,
    "S": complement(SPACE),
}
_CONTROLS: Final = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_NO_LEAST = re.compile(r"\{,[0-9]+\}")
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_GROUP_NAME = re.compile(r"\(\?P?<(?![=!])([^>]*)>")
_POSIX = re.compile(r"\[[:.=]\^?[a-z]+[:.=]\]")
_HEX2, _HEX4 = re.compile(r"[0-9A-Fa-f]{2}"), re.compile(r"[0-9A-Fa-f]{4}")
_BRACED = re.compile(r"\{([0-9A-Fa-f]+)\}")
_LOW = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"\{([A-Za-z0-9_]+)(?:=([A-Za-z0-9_]+))?\}|([CLMNPSZ])")
_LOOKS: Final = {"(?=": (False, False), "(?!": (False, True), "(?<=": (True, False), "(?<!": (True, True)}


class PatternError(ValueError):
    """A pattern that can't be read; the message is a clause that says why."""


@lru_cache(maxsize=1024)
def parse(pattern: str) -> Tree:
    """The tree of a pattern. Raises `PatternError` for what ECMA-262 doesn't allow, or what is not known here."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern has {len(pattern):,} characters, over {MAX_PATTERN:,}")
    parser = _Parser(pattern)
    tree = parser.disjunction(0)
    if parser.at < len(pattern):
        raise PatternError("a parenthesis closes what none opened")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.made: dict[int, Tree] = {}
        self.names: dict[str, list[int]] = {}
        #: Names and number of all groups, also those still to come.
        self.total = _count_groups(text)
        self.named = set(_GROUP_NAME.findall(text))

    def peek(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def take(self, token: str) -> bool:
        if self.peek(token):
            self.at += len(token)
            return True
        return False

    def disjunction(self, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise PatternError(f"groups nest deeper than {MAX_DEPTH}")
        options = [self.alternative(depth)]
        while self.take("|"):
            options.append(self.alternative(depth))
        return options[0] if len(options) == 1 else Or(tuple(dict.fromkeys(options)))

    def alternative(self, depth: int) -> Tree:
        items: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.term(depth))
        return cat(*items) if items else EMPTY

    def term(self, depth: int) -> Tree:
        char = self.text[self.at]
        if char in "*+?":
            raise PatternError(f"nothing stands before {char} that could be repeated")
        if char == "^":
            self.at += 1
            return Start()
        if char == "$":
            self.at += 1
            return End()
        if self.peek("\\b") or self.peek("\\B"):
            self.at += 2
            return Edge(self.text[self.at - 1] == "B")
        if _QUANTIFIER.match(self.text, self.at):
            raise PatternError("nothing stands before { that could be repeated")
        if _NO_LEAST.match(self.text, self.at):
            raise PatternError("ECMA-262 has no repeat without a least number")
        behind = self.peek("(?<=") or self.peek("(?<!")
        return self.quantified(self.atom(depth), behind)

    def quantified(self, atom: Tree, behind: bool) -> Tree:
        found = _QUANTIFIER.match(self.text, self.at)
        if not found:
            return atom
        if behind:
            raise PatternError("a look-behind is repeated")
        self.at = found.end()
        if found[1]:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[1]]
        else:
            least = _count(found[2])
            most = least if not found[3] else _count(found[4]) if found[4] else None
        if most is not None and most < least:
            raise PatternError(f"a repeat is at least {least} and at most {most} times")
        if self.at < len(self.text) and self.text[self.at] in "*+?":
            raise PatternError("a repeat is repeated without a group")
        return Rep(atom, least, most)

    def atom(self, depth: int) -> Tree:
        char = self.text[self.at]
        if char == "(":
            return self.group(depth)
        if char == "[":
            return Set(self.char_class())
        if char == ".":
            self.at += 1
            return Set(complement(_LINE_ENDS))
        if char == "\\":
            return self.escape()
        self.at += 1
        return Set(_one(ord(char)))

    def group(self, depth: int) -> Tree:
        for opening, (behind, negated) in _LOOKS.items():
            if self.take(opening):
                return Look(self.body(depth), behind, negated)
        if self.take("(?:"):
            return self.body(depth)
        named = _GROUP_NAME.match(self.text, self.at)
        if named:
            if not _NAME.fullmatch(named[1]):
                raise PatternError("a group has a name that is none")
            self.at = named.end()
        elif self.peek("(?"):
            raise PatternError(f"ECMA-262 has no group that opens with {self.text[self.at : self.at + 3]}")
        else:
            self.at += 1
        self.groups += 1
        number = self.groups
        if named:
            self.names.setdefault(named[1], []).append(number)
        self.made[number] = body = self.body(depth)
        return body

    def body(self, depth: int) -> Tree:
        tree = self.disjunction(depth + 1)
        if not self.take(")"):
            raise PatternError("a parenthesis is not closed")
        return tree

    def escape(self) -> Tree:
        self.at += 1
        if self.at >= len(self.text):
            raise PatternError("a backslash ends the pattern")
        char = self.text[self.at]
        if char in "123456789":
            return self.numbered()
        if char == "k" and self.named:
            found = re.compile(r"k<([^>]*)>").match(self.text, self.at)
            if not found or found[1] not in self.named:
                raise PatternError("a back reference names no group")
            self.at = found.end()
            numbers = self.names.get(found[1], [])
            return Back(cat(*(self.made[n] for n in numbers if n in self.made)) if len(numbers) == 1 else _ANY_BACK)
        return Set(self.char_or_set())

    def numbered(self) -> Tree:
        found = re.compile(r"[0-9]+").match(self.text, self.at)
        assert found is not None
        number = _count(found[0])
        if number > self.total:
            raise PatternError(f"\\{found[0]} refers to no group")
        self.at = found.end()
        # A group that comes later, or that this stands in, has matched nothing yet, or something in an earlier round.
        return Back(self.made.get(number, _ANY_BACK))

    def char_or_set(self) -> Ranges:
        """What an escape stands for, from the character after the backslash on."""
        char = self.text[self.at]
        self.at += 1
        if char in _SHORTHANDS:
            return _SHORTHANDS[char]
        if char in "pP":
            return self.property(char == "P")
        point = self.char_escape(char)
        return _one(point)

    def property(self, negated: bool) -> Ranges:
        found = _PROPERTY.match(self.text, self.at)
        known = property_set(found[1] or found[3], found[2]) if found else None
        if found is None or known is None:
            raise PatternError("a property of Unicode that isn't known here")
        self.at = found.end()
        return complement(known) if negated else known

    def char_escape(self, char: str) -> int:
        """The code point of an escape; its first character has been read."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0" and not self.text[self.at : self.at + 1].isdigit():
            return 0
        if char == "c" and self.text[self.at : self.at + 1].isascii() and self.text[self.at : self.at + 1].isalpha():
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        if char == "x" and (found := _HEX2.match(self.text, self.at)):
            self.at = found.end()
            return int(found[0], 16)
        if char == "u":
            return self.unicode_escape()
        if char.isascii() and char.isalnum():
            raise PatternError(f"ECMA-262 has no escape \\{char}")
        return ord(char)

    def unicode_escape(self) -> int:
        if found := _BRACED.match(self.text, self.at):
            point = int(found[1], 16)
            if point > 0x10FFFF:
                raise PatternError("an escape is beyond Unicode")
            self.at = found.end()
            return point
        found = _HEX4.match(self.text, self.at)
        if not found:
            raise PatternError("\\u without its four digits")
        self.at = found.end()
        point = int(found[0], 16)
        if 0xD800 <= point <= 0xDBFF and (low := _LOW.match(self.text, self.at)):
            self.at = low.end()
            point = 0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return point

    def char_class(self) -> Ranges:
        self.at += 1
        negated = self.take("^")
        pairs: list[tuple[int, int]] = []
        while not self.take("]"):
            if _POSIX.match(self.text, self.at):
                raise PatternError("ECMA-262 has no classes by name within a class")
            one = self.class_atom()
            if self.peek("-") and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                other = self.class_atom()
                if isinstance(one, int) and isinstance(other, int):
                    if other < one:
                        raise PatternError("a range of characters is reversed")
                    pairs.append((one, other))
                    continue
                # Annex B: with a shorthand on either side, the hyphen is itself.
                pairs += [*_pairs(one), (0x2D, 0x2D), *_pairs(other)]
                continue
            pairs += _pairs(one)
        found = ranges_of(pairs)
        return complement(found) if negated else found

    def class_atom(self) -> int | Ranges:
        if self.at >= len(self.text):
            raise PatternError("a class is not closed")
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return ord(char)
        if self.at >= len(self.text):
            raise PatternError("a class is not closed")
        char = self.text[self.at]
        if char == "b":
            self.at += 1
            return 8
        if char in "123456789" or char == "B":
            raise PatternError(f"ECMA-262 has no escape \\{char} in a class")
        if char in _SHORTHANDS or char in "pP":
            return self.char_or_set()
        self.at += 1
        return self.char_escape(char)


def _one(point: int) -> Ranges:
    return NONE if 0xD800 <= point <= 0xDFFF else ((point, point),)


def _pairs(one: int | Ranges) -> Ranges:
    return ((one, one),) if isinstance(one, int) else one


#: What a back reference may stand for where its group's tree isn't known.
_ANY_BACK: Final = Rep(Set(ALL), 0, None)


def _count(digits: str) -> int:
    return min(int(digits[:12]), MAX_COUNT)


def _count_groups(text: str) -> int:
    """How many capturing groups a pattern has."""
    total, index, in_class = 0, 0, False
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(" and (text[index + 1 : index + 2] != "?" or _GROUP_NAME.match(text, index)):
            total += 1
        index += 1
    return total


__all__ = ["DIGIT", "SPACE", "WORD", "Cat", "PatternError", "parse"]
