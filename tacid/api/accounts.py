"""Accounts: one JSON line a request in a file of its own, which is rotated by its size.

`logging.handlers.RotatingFileHandler` behind a `QueueListener` doesn't do: it writes through buffers, so that a line
may take several writes and a full disk leaves half of one; it neither sees that its file was removed nor counts losses.
"""

from __future__ import annotations

import fcntl
import logging
import os
import queue
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from tacid.api.logs import Lines, now
from tacid.chat import Call, Usage
from tacid.errors import InputError
from tacid.turn.request import TurnResult

#: Seconds between two words in the log about lines that were lost.
TELL_EVERY = 60.0

_LOG = logging.getLogger("tacid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one request took. Tokens are summed over all hops.

    ``endpoint`` is the route that was asked (``/v1/chat/completions``), ``mode`` how the catalogue was shown, ``why``
    the reason, both ``None`` where nothing was shown; ``saved_tokens`` is what the prompt of `full` would have been
    longer, ``None`` where nobody knows; ``tools_called`` are the names in their order; ``outcome`` is what the log of
    requests says.
    """

    endpoint: str
    outcome: str
    streamed: bool = False
    mode: str | None = None
    why: str | None = None
    hops: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    saved_tokens: int | None = None
    tools_offered: int = 0
    tools_called: tuple[str, ...] = ()
    time: str = field(default_factory=now)

    def to_json(self) -> dict[str, Any]:
        """The fields by their names, ``time`` first."""
        return {"time": self.time, **asdict(self), "tools_called": list(self.tools_called)}


def account(endpoint: str, outcome: str, asked: Mapping[str, Any], result: object, usage: object) -> Account:
    """The account of a request (``asked``: ``streamed``, ``tools_offered``), of its turn and usage if it had any."""
    turn = result if isinstance(result, TurnResult) else None
    tokens = usage if isinstance(usage, Usage) else Usage()
    return Account(
        endpoint=endpoint,
        outcome=outcome,
        **asked,
        mode=turn.mode if turn is not None else None,
        why=turn.mode_why if turn is not None else None,
        hops=turn.infos if turn is not None else 0,
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        cached_tokens=tokens.cached,
        saved_tokens=turn.saved if turn is not None else None,
        tools_called=tuple(done.name for done in turn.completions if isinstance(done, Call)) if turn else (),
    )


class Accounts(Lines):
    """Adds JSON lines to a file, each by one call of the system; nothing here makes a request wait or fail.

    A file that would grow beyond ``max_bytes`` is called ``path.1`` first, what was called so ``path.2``, up to
    ``path.kept``. A file that was removed, or moved away by another program, is made anew. Lines that can't be written,
    or that find too many waiting, are lost, counted in `lost`, and told in the log once a minute. Several processes may
    write to one file. Raises ``InputError`` where the file can't be opened.
    """

    def __init__(self, path: Path, max_bytes: int = 64 * 1024 * 1024, kept: int = 3) -> None:
        self._path = path.absolute()
        self._max_bytes = max_bytes
        self._kept = kept
        self._why = ""
        self._told = 0
        self._told_at = -TELL_EVERY
        self._telling = Lock()
        try:
            descriptor = self._opened()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(
                f"The file {path} can't be written: {why}; check --tool-metrics-out (tools.metrics_out)."
            ) from None
        super().__init__(descriptor, owned=True)
        self._torn = self._is_torn()

    @property
    def lost(self) -> int:
        """Lines that were lost so far."""
        return self._lost

    def write(self, record: Mapping[str, Any]) -> None:
        """Have a line written; never waits and never fails."""
        before = self._lost
        super().write(record)
        if self._lost > before:
            self._tell("too many lines wait, or one is no JSON")

    def _run(self) -> None:
        while True:
            try:
                line = self._waiting.get(timeout=TELL_EVERY if self._lost > self._told else None)
            except queue.Empty:
                self._tell(self._why)
                continue
            if line is None:
                break
            if not self._put(line):
                self._lost += 1
                self._tell(self._why)
        self._tell(self._why, last=True)

    def _tell(self, why: str, *, last: bool = False) -> None:
        with self._telling:
            lost = self._lost - self._told
            if lost <= 0 or (monotonic() - self._told_at < TELL_EVERY and not last):
                return
            self._told += lost
            self._told_at = monotonic()
        _LOG.warning("%d lines of the accounts in %s were lost: %s", lost, self._path, why)

    def _put(self, data: bytes) -> bool:
        try:
            self._settle(len(data))
            before = os.fstat(self._descriptor)
            data = b"\n" + data if self._torn else data
            written = os.write(self._descriptor, data)
        except OSError as error:
            self._why = error.strerror or str(error)
            return False
        self._torn = written < len(data) and not self._taken_back(before, written)
        if written < len(data):
            self._why = "there was room for half a line only"
        return written == len(data)

    def _taken_back(self, before: os.stat_result, written: int) -> bool:
        """Whether half a line could be cut off again; not where another process has written behind it."""
        with suppress(OSError):
            if stat.S_ISREG(before.st_mode) and os.fstat(self._descriptor).st_size == before.st_size + written:
                os.ftruncate(self._descriptor, before.st_size)
                return True
        return False

    def _settle(self, size: int) -> None:
        """Have the descriptor be of the file that has the path now, with room for so many bytes."""
        if not self._is_there():
            self._open_again()
        found = os.fstat(self._descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_size > 0 and found.st_size + size > self._max_bytes:
            self._rotate()

    def _rotate(self) -> None:
        try:
            # The lock goes with the descriptor, so nobody else renames until the new file is there.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process is at it; the next line goes to its new file
        if self._is_there():
            for number in range(self._kept - 1, 0, -1):
                with suppress(FileNotFoundError):
                    self._numbered(number).replace(self._numbered(number + 1))
            if self._kept > 0:
                self._path.replace(self._numbered(1))
            else:
                self._path.unlink()
        self._open_again()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False

    def _opened(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)

    def _open_again(self) -> None:
        descriptor, self._descriptor = self._descriptor, self._opened()
        os.close(descriptor)
        self._torn = self._is_torn()

    def _is_torn(self) -> bool:
        """Whether the file ends within a line, as one does whose machine lost its power."""
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return False
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
        return False
