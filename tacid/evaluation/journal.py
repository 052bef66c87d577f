"""The file of a run while it is written: a row as soon as there is one, and on from there after an interruption."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tacid.errors import InputError
from tacid.evaluation.rows import Item, Settings, parse_run


class Journal:
    """An open file of a run: the items that are in it already, and where further rows go."""

    def __init__(self, path: Path, file: BinaryIO, items: Mapping[str, Item], *, summed: bool) -> None:
        self.path = path
        self.items = dict(items)
        self.summed = summed
        self._file = file

    def add(self, item: Item) -> None:
        """Write an item's row; it is on the disk when this returns."""
        self._write(item.model_dump(mode="json"))
        self.items[item.id] = item

    def close_with(self, summaries: list[dict[str, Any]]) -> None:
        """Write the summaries, once."""
        if not self.summed:
            for row in summaries:
                self._write(row)
            self.summed = True

    def _write(self, row: Mapping[str, Any]) -> None:
        # ASCII, so that half of a surrogate pair, which a model may write, is a row too.
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def open_journal(path: Path, settings: Settings) -> Iterator[Journal]:
    """Begin a run's file, or go on with it.

    A last line that was broken off is taken away. Raises ``InputError``: it can't be written, another process writes
    it, it is no run, or one with other settings, which are named.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise InputError(f"The run {path} can't be written: {error.strerror}; name another file with --out.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"Another process writes the run {path}; wait for it, or name another file.") from None
        file.seek(0)
        data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if data and not whole:
            raise InputError(f"{path} holds something, and no run; name another file with --out.")
        if len(whole) < len(data):
            file.truncate(len(whole))
        if not whole:
            journal = Journal(path, file, {}, summed=False)
            journal._write(settings.model_dump(mode="json"))
        else:
            text = whole.decode("utf-8", "replace")
            there = parse_run(text, path)
            _same(there.settings, settings, path)
            summed = any(json.loads(line).get("kind") == "summary" for line in text.splitlines() if line.strip())
            journal = Journal(path, file, there.items, summed=summed)
        yield journal


def _same(there: Settings, asked: Settings, path: Path) -> None:
    before, now = there.model_dump(), asked.model_dump()
    for key, value in now.items():
        if before[key] != value:
            raise InputError(
                f"The run {path} was made with {key} {before[key]}, and {value} is asked for; "
                "name another file with --out, or ask as before."
            )


__all__ = ["Journal", "open_journal"]
