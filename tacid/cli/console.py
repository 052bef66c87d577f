"""What a person sees at the terminal: results to standard output, everything else to standard error."""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from tacid.jsontext import escape_char

#: Colour and progress only where a terminal is; `NO_COLOR` is honoured by rich.
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_HALF = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Text from outside, fit for a terminal: no escape sequences, nothing that turns the line's direction."""
    return _UNSAFE.sub("�", text)


def any_text() -> None:
    """Let standard output and error take every text: what their encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def emit(value: Any) -> None:
    """Print a JSON value on one line, for scripts; always JSON, whatever standard output can encode."""
    wide = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8" if sys.stdout is not None else True
    text = json.dumps(value, ensure_ascii=not wide)
    typer.echo(_HALF.sub(lambda half: escape_char(half[0]), text))


def say(text: str, style: str = "") -> None:
    """Print one line of ours or of others' to standard output."""
    out.print(Text(clean(text), style=style))


def notice(text: str, style: str = "yellow") -> None:
    """Print one line to standard error: what a person should know beside the result."""
    err.print(Text(clean(text), style=style))


def write(text: str) -> None:
    """Write part of an answer, as it comes."""
    sys.stdout.write(clean(text))
    sys.stdout.flush()


@contextmanager
def waiting(text: str) -> Iterator[Any]:
    """Show on a terminal what is being waited for; ``update`` of the value changes the words."""
    with err.status(text) as status:
        yield status


def tree(value: Any, indent: int = 1) -> Iterator[str]:
    """The lines of a JSON value as a person reads it: members by name, list items numbered."""
    pad = "  " * indent
    if isinstance(value, dict):
        pairs = [(f"{key}: ", item) for key, item in value.items()]
    else:
        pairs = [(f"{index}. ", item) for index, item in enumerate(value, 1)]
    for label, item in pairs:
        if isinstance(item, (dict, list)) and item:
            yield pad + label.rstrip()
            yield from tree(item, indent + 1)
        else:
            yield pad + label + _plain(item)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value.replace("\n", "⏎") or '""'
    if isinstance(value, (dict, list)):
        return "(nothing)"
    return {None: "null", True: "true", False: "false"}.get(value, str(value))
