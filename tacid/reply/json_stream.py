"""JSON text that arrives in pieces: the inside of a string as decoded text, the extent of an object. Linear time."""

from __future__ import annotations

import re

_ORDINARY = re.compile(r'[^"\\\ud800-\udfff]+')
_HEX = re.compile(r"[0-9A-Fa-f]{0,4}")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STRUCTURE = re.compile(r'[^"\\{}\[\]]+')

_INSIDE = re.compile(r'[^"\\]+')

REPLACEMENT = "\ufffd"


def mend(text: str) -> str:
    """The text as UTF-8 can hold it: halves of surrogate pairs joined, or U+FFFD where they are alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class StringReader:
    """Decodes the inside of one JSON string, from after its opening quote; never gives half a character.

    Tolerant where JSON is strict, since what was given can't be taken back: raw control characters stand for
    themselves, an unknown escape for the text that it is. A lone surrogate, escaped or raw, becomes U+FFFD.
    """

    def __init__(self) -> None:
        self.closed = False
        self._escape = ""
        self._high = 0

    def feed(self, text: str, start: int = 0) -> tuple[str, int]:
        """Decoded text of what came, and the place in ``text`` after what was read: its end, or the closing quote."""
        out: list[str] = []
        place = start
        while place < len(text) and not self.closed:
            if self._escape:
                place = self._in_escape(text, place, out)
            elif match := _ORDINARY.match(text, place):
                self._plain(match.group(), out)
                place = match.end()
            else:
                char = text[place]
                place += 1
                if char == "\\":
                    self._escape = char
                elif char == '"':
                    out.append(self.end())
                    self.closed = True
                else:
                    self._unit(ord(char), out)
        return "".join(out), place

    def end(self) -> str:
        """What is owed when no more comes: U+FFFD for half a surrogate pair. Half an escape is dropped."""
        owed = REPLACEMENT if self._high else ""
        self._high, self._escape = 0, ""
        return owed

    def _in_escape(self, text: str, place: int, out: list[str]) -> int:
        if self._escape == "\\":
            char = text[place]
            self._escape = ""
            if char == "u":
                self._escape = "\\u"
            elif char in _SHORT:
                self._plain(_SHORT[char], out)
            elif "\ud800" <= char <= "\udfff":
                self._plain("\\", out)
                return place
            else:
                self._plain("\\" + char, out)
            return place + 1
        match = _HEX.match(text, place, place + 6 - len(self._escape))
        digits = match.group() if match else ""
        self._escape += digits
        if len(self._escape) == 6:
            unit, self._escape = int(self._escape[2:], 16), ""
            self._unit(unit, out)
        elif place + len(digits) < len(text):
            # No hexadecimal digit where one must stand: the text stands for itself.
            broken, self._escape = self._escape, ""
            self._plain(broken, out)
        return place + len(digits)

    def _plain(self, text: str, out: list[str]) -> None:
        if self._high:
            out.append(REPLACEMENT)
            self._high = 0
        out.append(text)

    def _unit(self, unit: int, out: list[str]) -> None:
        """One UTF-16 code unit: a character, or half of one."""
        if 0xDC00 <= unit <= 0xDFFF and self._high:
            out.append(chr(0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)))
            self._high = 0
        elif 0xD800 <= unit <= 0xDBFF:
            if self._high:
                out.append(REPLACEMENT)
            self._high = unit
        else:
            self._plain(REPLACEMENT if 0xDC00 <= unit <= 0xDFFF else chr(unit), out)


class ObjectReader:
    """Finds the end of one JSON object, from its opening brace; looks at strings and brackets only."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str, start: int = 0) -> int:
        """The place in ``text`` after what belongs to the object: its end, or the closing brace."""
        place = start
        while place < len(text) and not self.closed:
            if self._escaped:
                self._escaped = False
                place += 1
                continue
            if match := (_INSIDE if self._in_string else _STRUCTURE).match(text, place):
                place = match.end()
                continue
            char = text[place]
            place += 1
            if char == '"':
                self._in_string = not self._in_string
            elif char == "\\":
                self._escaped = self._in_string
            elif char in "{[":
                self._depth += 1
            else:
                self._depth -= 1
                self.closed = self._depth <= 0
        return place


class ValueReader:
    """Finds the end of one JSON value inside an object: the brace that closes what is around it."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str, start: int = 0) -> int:
        """The place in ``text`` after what belongs to the value: its end, or the brace that follows it."""
        place = start
        while place < len(text) and not self.closed:
            if self._escaped:
                self._escaped = False
                place += 1
                continue
            if match := (_INSIDE if self._in_string else _STRUCTURE).match(text, place):
                place = match.end()
                continue
            char = text[place]
            if char in "}]" and self._depth == 0:
                self.closed = True
                return place
            place += 1
            if char == '"':
                self._in_string = not self._in_string
            elif char == "\\":
                self._escaped = self._in_string
            else:
                self._depth += 1 if char in "{[" else -1
        return place
