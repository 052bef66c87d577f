"""Server-sent events and lines of JSON: how a stream is written (WHATWG HTML, 9.2).

Every frame is one write. Clients split streams into lines in ways of their own, several at whatever Unicode calls a
line break, so that those characters leave as escapes.
"""

from __future__ import annotations

import json
import re
from typing import Any

#: The content type of a stream of events, and the headers that keep proxies from holding it back.
MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}

#: How OpenAI's streams end.
DONE = b"data: [DONE]\n\n"
#: A sign of life: a comment, which no client reads.
BEAT = b": still at work\n\n"

#: Line breaks to Unicode that JSON text may hold raw, and half surrogate pairs, which UTF-8 can't carry.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def json_line(value: Any) -> bytes:
    """A JSON value as UTF-8 in one line, by every client's idea of a line. No line break at its end.

    Raises ``ValueError`` for NaN and infinities.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not text.isascii():
        text = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.encode()


def data(value: Any) -> bytes:
    """One event with a JSON value."""
    return b"data: " + json_line(value) + b"\n\n"


def event(name: str, value: Any) -> bytes:
    """One event with a name, which must be a plain word."""
    return b"event: " + name.encode("ascii") + b"\n" + data(value)


def comment(text: str) -> bytes:
    """A comment: nothing to clients but a sign of life. Line breaks become spaces."""
    return b": " + " ".join(text.split()).encode("utf-8", "replace") + b"\n\n"


__all__ = ["BEAT", "DONE", "HEADERS", "MEDIA_TYPE", "comment", "data", "event", "json_line"]
