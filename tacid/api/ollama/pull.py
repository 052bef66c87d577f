"""``/api/pull``: a pinned model fetched by the server, its progress as lines. Source: Ollama's docs/api.md.

Only pins can be had, one at a time, and only where ``server.pull`` allows it. A client that goes away ends the fetch;
the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from tacid.api.messages import want_bool
from tacid.api.ollama.show import normal_name, wanted_model
from tacid.engine.download import fetch
from tacid.engine.pins import PINS, Pin
from tacid.errors import Busy, ModelUnknown
from tacid.jsontext import quote

#: Seconds between two lines of progress, and between two of the same kind where nothing gets on.
INTERVAL, SILENCE = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What shall be fetched, and whether the client wants to hear how it goes."""

    pin: Pin
    stream: bool


def parse_pull(body: Mapping[str, Any], *, allowed: bool) -> PullRequest:
    """The request in a body of ``/api/pull``.

    Raises ``RequestError``; ``ModelUnknown`` with the names that there are; ``HTTPException`` 403 where it isn't
    allowed.
    """
    name = wanted_model(body)
    stream = want_bool(body, "stream")
    names = ", ".join(pin.name for pin in PINS)
    if not allowed:
        raise HTTPException(
            403,
            f"Models aren't fetched for clients here; set server.pull = true to allow it, or fetch one on the server: "
            f"tacid model pull NAME. There are {names}.",
        )
    wanted = normal_name(name)
    pin = next((pin for pin in PINS if wanted in (pin.name, *pin.aliases)), None)
    if pin is None:
        raise ModelUnknown(f"No model is called {quote(name[:200], shown=True)}; there are {names}.")
    return PullRequest(pin, stream is None or stream)


class _Ended(BaseException):
    """Nobody wants it any more. No ``Exception``, so that no source of models takes it for a failure of its own."""


class Puller:
    """Fetches pins into a folder, one at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._fetching: Pin | None = None

    async def pull(self, pin: Pin, *, served: str | None = None) -> AsyncGenerator[dict[str, Any], None]:
        """The lines of one fetch, the last of them ``{"status": "success"}``; closing it ends the fetch.

        ``served`` is the model that is served, said where it is another one. Raises ``Busy`` while another is fetched,
        ``DownloadError``.
        """
        if self._fetching is not None:
            raise Busy(
                f"The model {self._fetching.name} is being fetched; try again when it is there.", retry_after=30.0
            )
        self._fetching = pin
        watcher = _Progress(pin)
        task = asyncio.create_task(asyncio.to_thread(_fetch, pin, self._directory, watcher))
        task.add_done_callback(self._done)
        try:
            yield {"status": "pulling manifest"}
            told, silent = watcher.line(), 0.0
            while not task.done():
                await asyncio.wait({task}, timeout=INTERVAL)
                line = watcher.line()
                silent = 0.0 if line != told else silent + INTERVAL
                if line != told or silent >= SILENCE:
                    told, silent = line, 0.0
                    yield line
            task.result()
            yield {"status": "verifying sha256 digest"}
            if served is not None and served != pin.name:
                yield {"status": f"fetched; {served} is served until model.name is {pin.name}"}
            yield {"status": "success"}
        finally:
            watcher.unwanted.set()

    def _done(self, task: asyncio.Task[Path | None]) -> None:
        # The thread has really ended: only then may the next one begin.
        self._fetching = None
        if not task.cancelled():
            task.exception()


def _fetch(pin: Pin, directory: Path, watcher: _Progress) -> Path | None:
    try:
        return fetch(pin, directory, watcher)
    except _Ended:
        return None


class _Progress:
    """How far a fetch is, told by its thread (`tacid.engine.progress.Watcher`); ends it where nobody wants it."""

    def __init__(self, pin: Pin) -> None:
        self.unwanted = threading.Event()
        self._pin = pin
        self._note = ""
        self._at: tuple[int, int] | None = None

    def note(self, text: str) -> None:
        """What is being done now."""
        self._look()
        self._note = text

    def at(self, done: int, total: int) -> None:
        """How far it is, in bytes."""
        self._look()
        self._at = (done, total)

    def line(self) -> dict[str, Any]:
        """The line for a client, in the words and fields by which Ollama's draws its bar."""
        if self._at is None:
            return {"status": self._note.lower() if self._note else "pulling manifest"}
        done, total = self._at
        digest = self._pin.sha256
        return {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": total, "completed": done}

    def _look(self) -> None:
        if self.unwanted.is_set():
            raise _Ended


__all__ = ["INTERVAL", "PullRequest", "Puller", "parse_pull"]
