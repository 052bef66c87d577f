"""Logs: one JSON line a request, one for every call. What others wrote is only ever a JSON string (RFC 8259).

Lines are written by a thread of their own: a full disk or a reader that hangs loses lines, and never holds up a
request. Lines that were lost are counted in the next one that gets through.
"""

from __future__ import annotations

import hashlib
import logging
import os
import queue
import threading
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacid.chat import Call
from tacid.errors import InputError, TacidError
from tacid.jsontext import dumps

#: Lines that may wait to be written.
MAX_WAITING = 10_000


def now() -> str:
    """The time as RFC 3339 writes it, in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Lines:
    """Writes JSON lines to a file descriptor, each by one call of the system, in the order they came."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor = descriptor
        self._owned = owned
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._lost = 0
        self._torn = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tacid-log", daemon=True)
        self._thread.start()

    def write(self, record: Mapping[str, Any]) -> None:
        """Have a record written; never waits and never fails."""
        try:
            # ASCII only, so that no terminal that shows the log acts on what somebody wrote.
            line = _ascii(dumps(dict(record))).encode("ascii") + b"\n"
            self._waiting.put_nowait(line)
        except (queue.Full, ValueError, TypeError, RecursionError):
            self._lost += 1

    def close(self, within: float = 2.0) -> None:
        """Write what waits, for so many seconds at most, and end. Once is enough; more does no harm."""
        if self._closed:
            return
        self._closed = True
        try:
            self._waiting.put(None, timeout=within)
        except queue.Full:
            return  # the reader hangs; the thread ends with the process
        self._thread.join(within)
        if self._owned and not self._thread.is_alive():
            os.close(self._descriptor)

    def _run(self) -> None:
        while (line := self._waiting.get()) is not None:
            if lost := self._lost:
                line = dumps({"time": now(), "event": "lines lost", "lost": lost}).encode() + b"\n" + line
            if self._put(line):
                self._lost -= lost
            else:
                self._lost += 1

    def _put(self, data: bytes) -> bool:
        if self._torn:
            data = b"\n" + data
        whole = len(data)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            self._torn = self._torn or 0 < len(data) < whole
            return False
        self._torn = False
        return True


def _ascii(text: str) -> str:
    # Only inside strings can there be anything else, and there an escape means the same.
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        char if char.isascii() and char != "\x7f" else "".join(f"\\u{unit:04x}" for unit in _units(char))
        for char in text
    )


def _units(char: str) -> list[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def open_lines(path: Path | None) -> Lines:
    """Lines that are added to a file, or go to standard error. Raises ``InputError`` that names the file."""
    if path is None:
        return Lines(2)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise InputError(f"The file {path} can't be written: {error.strerror}; check server.audit.") from None
    return Lines(descriptor, owned=True)


def call_record(call: Call, *, valid: bool, key: str | None, model: str | None, contents: bool) -> dict[str, Any]:
    """The audit record of one call; its arguments only with ``contents``."""
    text = call.text or dumps(dict(call.arguments))
    record: dict[str, Any] = {
        "time": now(),
        "event": "call",
        "key": key,
        "model": model,
        "tool": call.name,
        "arguments_sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "valid": valid,
    }
    if contents:
        record["arguments"] = text
    return record


def failure(error: BaseException, *, contents: bool) -> dict[str, Any]:
    """The record of an error: its class and where it was raised; the words of others' errors only with ``contents``."""
    frames = traceback.extract_tb(error.__traceback__)
    record: dict[str, Any] = {
        "time": now(),
        "event": "failure",
        "error": type(error).__qualname__,
        "where": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-20:]],
    }
    if contents or isinstance(error, TacidError):
        record["message"] = str(error)
    return record


class LogHandler(logging.Handler):
    """Sends what Python's logging has to say to the same lines."""

    def __init__(self, lines: Lines, *, contents: bool) -> None:
        super().__init__()
        self._lines = lines
        self._contents = contents

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, with where its error was raised if it has one."""
        try:
            message = record.getMessage()
        except Exception:  # a format that doesn't fit its arguments
            message = record.msg
        fields = {
            "time": now(),
            "event": "log",
            "level": record.levelname.lower(),
            # uvicorn calls a logger of everything after the errors in it.
            "logger": record.name.removesuffix(".error"),
            "message": str(message),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields = failure(record.exc_info[1], contents=self._contents) | fields
        self._lines.write(fields)


def attach(lines: Lines, *, contents: bool) -> None:
    """Have what tacid and uvicorn log by Python's logging written as lines; uvicorn needs ``log_config=None``."""
    for name in ("tacid", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [LogHandler(lines, contents=contents)]
        logger.setLevel(logging.INFO)
        logger.propagate = False
