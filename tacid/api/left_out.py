"""Tools that a request offered and that its turn leaves out: how the client and the log are told, or the refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tacid.catalogue import LeftOut
from tacid.errors import RequestError
from tacid.jsontext import quote

#: The header of a reply for whose turn a tool was left out.
HEADER = "tacid-warning"
#: Characters of the header, and tools that are told of; proxies and clients bear no more than a few thousand bytes.
MAX_HEADER = 1000
MAX_TOLD = 32


def sentence(tool: LeftOut) -> str:
    """Which tool, which field of its parameters, and why."""
    at = f" (at {tool.pointer})" if tool.pointer else ""
    return f"The tool {quote(tool.tool[:100], shown=True)} was left out{at}: {tool.reason.rstrip('.')}."


def refuse(tools: Sequence[LeftOut]) -> None:
    """Raises ``RequestError`` that names the first of ``tools``."""
    for tool in tools:
        raise RequestError(
            f"{sentence(tool).replace(' was left out', ' can not be offered', 1)} Mend it, or leave it out.",
            param="tools",
        )


def headers(tools: Sequence[LeftOut]) -> dict[str, str]:
    """The header that names ``tools``, in ASCII; none where there are none."""
    if not tools:
        return {}
    text = " ".join(sentence(tool) for tool in tools[:MAX_TOLD])
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(char if char.isprintable() else " " for char in plain)
    return {HEADER: plain if len(plain) <= MAX_HEADER else plain[: MAX_HEADER - 3] + "..."}


def listed(tools: Sequence[LeftOut]) -> list[dict[str, Any]]:
    """The same for the extra field of a reply."""
    return [asdict(tool) for tool in tools[:MAX_TOLD]]


__all__ = ["HEADER", "headers", "listed", "refuse", "sentence"]
