"""The account of tool modes: a JSON line for each request for a reply, in a file that is rotated by its size."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacid.api.logs import Lines, now
from tacid.chat import Call, Usage
from tacid.errors import InputError
from tacid.turn.request import TurnResult

#: Bytes after which a new file is begun, and older files that are kept (``FILE.1`` is the last one).
MAX_BYTES = 64 * 1024 * 1024
KEPT = 3


class Accounts(Lines):
    """Lines in a file, each written by one call of the system by a thread of its own, which also rotates the file.

    A file that somebody moved or removed is begun again. Raises ``InputError`` that names the file.
    """

    def __init__(self, path: Path, *, most: int = MAX_BYTES, kept: int = KEPT) -> None:
        self._path = path
        self._most = most
        self._kept = kept
        try:
            descriptor = self._open()
        except OSError as error:
            raise InputError(f"The file {path} can't be written: {error.strerror}; check tools.metrics_out.") from None
        super().__init__(descriptor, owned=True)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(self._path, flags, 0o600)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _put(self, data: bytes) -> bool:
        # What goes wrong here loses no line: it goes to the file that is open.
        with suppress(OSError):
            self._renew(len(data))
        return super()._put(data)

    def _renew(self, coming: int) -> None:
        there = os.fstat(self._descriptor)
        if there.st_nlink and not (there.st_size and there.st_size + coming > self._most):
            return
        if there.st_nlink:
            for number in range(self._kept - 1, 0, -1):
                with suppress(FileNotFoundError):
                    self._numbered(number).replace(self._numbered(number + 1))
            self._path.replace(self._numbered(1))
        descriptor = self._open()
        os.close(self._descriptor)
        self._descriptor = descriptor


def turn_account(result: TurnResult) -> dict[str, Any]:
    """What a turn's line says beside tokens and outcome."""
    return {
        "tool_mode": result.mode,
        "why": result.mode_why,
        "get_tool_info_hops": result.infos,
        "tokens_saved": result.saved,
        "called": [done.name for done in result.completions if isinstance(done, Call)],
    }


def account(path: str, outcome: str, asked: Mapping[str, Any], turn: Mapping[str, Any], usage: Usage) -> dict[str, Any]:
    """One line. ``asked`` is what is known from the request, ``turn`` a `turn_account`, or empty where there was none.

    Tokens are summed over hops.
    """
    return {
        "time": now(),
        "endpoint": path,
        **asked,
        **{key: turn.get(key) for key in ("tool_mode", "why", "get_tool_info_hops", "tokens_saved", "called")},
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "cached_tokens": usage.cached,
        "outcome": outcome,
    }


__all__ = ["Accounts", "account", "turn_account"]
