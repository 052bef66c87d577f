"""JSON text as tacid reads and writes it: one spelling for prompt and grammar, bounds for what comes in.

Canonical text is compact, keeps the order of keys and writes letters raw (RFC 8259). The prompt writes some
characters as escapes though they may stand raw (`shown_escaped`): invisible ones, and ``<``, which opens the markers
of chat templates. The grammar takes those characters in either spelling, so that a model may copy what it reads.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import Any, TypeAlias

from tacid.errors import InputError

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

#: Nesting of lists and objects that a document may have.
MAX_DEPTH = 200
#: Bytes that a document may have.
MAX_BYTES = 16 * 1024 * 1024

#: Paths of descriptors that this process was given open.
_GIVEN = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/[0-9]+")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_MUST_ESCAPE = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')


def escape_char(char: str) -> str:
    """The escape of one character: the short one where JSON has it, else ``\\uXXXX`` (a pair above the BMP)."""
    if char in _SHORT:
        return _SHORT[char]
    point = ord(char)
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"


def must_escape(char: str) -> bool:
    """Whether JSON text in UTF-8 can't hold this character raw: quote, backslash, controls, lone surrogates."""
    return _MUST_ESCAPE.match(char) is not None


def shown_escaped(char: str) -> bool:
    """Whether the prompt shows this character as an escape though JSON allows it raw.

    ``<``, and everything that a person can't see or that turns the direction of a line: Unicode categories Cc, Cf,
    Zl, Zp, private use (Co), and what is no character (Cn), whose bytes the words of a model may lack altogether.
    """
    return char == "<" or unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn")


def quote(text: str, *, shown: bool = False) -> str:
    """The JSON string of a text, quotes included; with ``shown`` as the prompt writes it."""
    if text.isascii() and not (shown and ("<" in text or "\x7f" in text)):
        return json.dumps(text)
    body = "".join(escape_char(c) if must_escape(c) or (shown and shown_escaped(c)) else c for c in text)
    return f'"{body}"'


def dumps(value: Any, *, shown: bool = False) -> str:
    """Canonical text of a JSON value: compact, keys in their order; with ``shown`` as the prompt writes it.

    Raises ``ValueError`` for NaN and infinities, ``TypeError`` for what is no JSON value.
    """
    if not shown:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text if text.isascii() else _SURROGATE.sub(lambda found: escape_char(found[0]), text)
    if isinstance(value, str):
        return quote(value, shown=True)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(k, shown=True)}:{dumps(v, shown=True)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(dumps(v, shown=True) for v in value) + "]"
    return json.dumps(value, allow_nan=False)


def loads(text: str | bytes, what: str, *, unique_keys: bool = False) -> Any:
    """Parse a JSON document from outside. ``what`` names it in the error.

    A key that an object has twice counts the last time, unless ``unique_keys``. Raises ``InputError``: over
    `MAX_BYTES`, no UTF-8, not JSON, nested deeper than `MAX_DEPTH`, NaN, infinities, a key twice.
    """
    if len(text) > MAX_BYTES:
        raise InputError(f"{what} has {len(text):,} bytes; the limit is {MAX_BYTES:,}. Split it or cut it down.")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{what} is not UTF-8 text (byte {error.start:,}); save it as UTF-8.") from None
    too_deep = InputError(f"{what} nests lists and objects too deep; the limit is {MAX_DEPTH}.")
    try:
        hook = _unique if unique_keys else None
        value = json.loads(text, parse_constant=_refuse_number, parse_float=_finite, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at")
        raise InputError(f"{what} is not JSON: {reason} at line {error.lineno}, column {error.colno}.") from None
    except _NoNumber as error:
        raise InputError(f"{what} is not JSON: {error}.") from None
    except _Twice as error:
        raise InputError(f"{what} has the key {error} twice in one object; keep one.") from None
    except ValueError:
        raise InputError(f"{what} holds a whole number with too many digits; write it as a text.") from None
    except RecursionError:
        raise too_deep from None
    if deeper_than(value, MAX_DEPTH):
        raise too_deep
    return value


def deeper_than(value: Any, most: int) -> bool:
    """Whether lists and objects nest deeper than ``most`` in a parsed document."""
    level = [value]
    for _ in range(most):
        level = [
            below
            for item in level
            if isinstance(item, (dict, list))
            for below in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return any(isinstance(item, (dict, list)) for item in level)


def load_file(path: Path, what: str, *, unique_keys: bool = False) -> Any:
    """Read and parse a JSON file, as `loads` does.

    A pipe or a device is no file, unless it has been opened for this process: ``/dev/stdin``, ``/dev/fd/63``. Raises
    ``InputError`` that names the path: missing, unreadable, no file, huge, not JSON.
    """
    named = f"The {what} {path}"
    try:
        with open(path, "rb", opener=_open_given if _GIVEN.fullmatch(os.fspath(path)) else open_regular) as file:
            data = file.read(MAX_BYTES + 1)
            size = len(data) if len(data) <= MAX_BYTES else max(len(data), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise InputError(f"{named} does not exist; check the path.") from None
    except OSError as error:
        raise InputError(f"{named} can't be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{quote(named, shown=True)} is no path; check it.") from None
    if size > MAX_BYTES:
        raise InputError(f"{named} has {size:,} bytes; the limit is {MAX_BYTES:,}. Split it or cut it down.")
    return loads(data, named, unique_keys=unique_keys)


def _open_given(path: str, flags: int) -> int:
    return os.open(path, flags)


def open_regular(path: str, flags: int) -> int:
    """An opener for `open` that takes regular files alone and waits for nobody. Raises ``OSError``."""
    # An ordinary open of a pipe that nobody writes to waits for ever.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is no regular file; write it to one")


class _Twice(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(quote(next(key for key in keys if keys.count(key) > 1)[:40], shown=True))
    return found


class _NoNumber(ValueError):
    pass


def _refuse_number(text: str) -> float:
    raise _NoNumber(f"{text[:40]} is no JSON number, or one too large")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)
