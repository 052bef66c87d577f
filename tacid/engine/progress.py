"""How a long transfer is shown: something that hears bytes and notes.

The one of `rich` draws a bar on standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


class Watcher(Protocol):
    """Hears of a transfer. Counts are in bytes."""

    def note(self, text: str) -> None:
        """What is being done now, as a short sentence without a full stop."""

    def at(self, done: int, total: int) -> None:
        """How far it is; may go back where something has to be fetched again."""


class Quiet:
    """A watcher that says nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def at(self, done: int, total: int) -> None:
        """Say nothing."""


class Bar:
    """A watcher that draws a bar with bytes, speed and the time left; notes stand above it."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=None)

    def note(self, text: str) -> None:
        """Print the note above the bar."""
        self._progress.console.print(text, style="dim", highlight=False, markup=False)

    def at(self, done: int, total: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=done, total=total)


@contextmanager
def bar(title: str, console: Console | None = None) -> Iterator[Watcher]:
    """A bar on standard error (or ``console``) while the context lasts.

    Where no terminal is there, it is drawn once, at the end.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console or Console(stderr=True)) as progress:
        yield Bar(progress, title)
