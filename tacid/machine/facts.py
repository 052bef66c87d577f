"""What the machine says about itself: lines for the system turn, and the facts that `facts_get` answers with."""

from __future__ import annotations

import os
import platform
import socket
import unicodedata
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tacid.jsontext import escape_char, quote, shown_escaped
from tacid.machine.services import ServiceList

#: Characters that the list of services may have in the words of the prompt.
BUDGET = 2000
#: Characters of one description in them.
MAX_WORDS = 100

_MAX_FILE = 65_536
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.@_-")
Short = Annotated[str, StringConstraints(max_length=256)]


def facts(services: ServiceList | None, *, budget: int = BUDGET) -> tuple[str, ...]:
    """Lines for the system turn: the services of this machine with what they are for.

    A list longer than ``budget`` characters is cut, and the last line says how many more there are; the schema holds
    them all. Descriptions are data: one line each, cut, without control characters. The same list gives the same lines.
    """
    if services is None or not services.names:
        return ()
    lines = ["Services of this machine:"]
    left = budget
    for index, name in enumerate(services.names):
        words = _escaped(one_line(services.descriptions.get(name, "")))
        line = f"- {_shown(name)}: {words}" if words else f"- {_shown(name)}"
        left -= len(line) + 1
        if left < 0:
            lines.append(f"- and {len(services.names) - index:,} more that are not listed here")
            break
        lines.append(line)
    return tuple(lines)


def one_line(text: str, most: int = MAX_WORDS) -> str:
    """A text from outside as words of one line: spaces for white space, nothing invisible, ``most`` characters."""
    cleaned = "".join(
        " " if char.isspace() else "" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") else char
        for char in text[: 20 * most]
    )
    words = " ".join(cleaned.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _shown(name: str) -> str:
    return name if _PLAIN.issuperset(name) else quote(name, shown=True)


def _escaped(text: str) -> str:
    """As the prompt writes texts from outside: no ``<`` of a marker stands raw."""
    return "".join(escape_char(char) if shown_escaped(char) else char for char in text)


class MachineFacts(BaseModel):
    """The facts of a machine, bounded and free of secrets. What can't be told is null."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hostname: Short | None
    system: Short | None = Field(description="Name and version of the operating system.")
    kernel: Short | None
    architecture: Short | None
    cores: int | None = Field(description="Processors that may be used.")
    memory_mib: int | None = Field(description="Memory in MiB.")


def read_facts(root: Path = Path("/")) -> MachineFacts:
    """The facts of this machine; ``root`` is where its ``etc`` and ``proc`` are."""
    return MachineFacts(
        hostname=_short(socket.gethostname()),
        system=_system(root),
        kernel=_short(platform.release()),
        architecture=_short(platform.machine()),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=_memory(root),
    )


def _short(text: str) -> str | None:
    return one_line(text, 256) or None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


def _system(root: Path) -> str | None:
    """``PRETTY_NAME`` of os-release(5)."""
    for place in ("etc/os-release", "usr/lib/os-release"):
        for line in _read(root / place).splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "PRETTY_NAME":
                return _short(value.strip().strip("\"'"))
    return None


def _memory(root: Path) -> int | None:
    """``MemTotal`` of proc_meminfo(5), which is in KiB."""
    for line in _read(root / "proc/meminfo").splitlines():
        key, _, value = line.partition(":")
        number = value.strip().partition(" ")[0]
        if key == "MemTotal" and number.isascii() and number.isdigit() and len(number) < 16:
            return int(number) // 1024
    return None


__all__ = ["MachineFacts", "facts", "one_line", "read_facts"]
