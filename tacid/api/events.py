"""The events of one turn as a reply needs them: made ahead of a slow client, bounded in time, with signs of life."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Self

from tacid.api.request import Beat, WireEvent
from tacid.catalogue import LeftOut
from tacid.chat import ReplyEvent
from tacid.errors import TooSlow
from tacid.turn.request import TurnResult

#: Events that wait for a slow client before the engine waits too.
MAX_AHEAD = 256


class Events:
    """Iterates over the events of ``work``, which runs in a task of its own; `Beat` whenever nothing comes for long.

    ``limit`` bounds the whole, ``heartbeat`` the silence, both in seconds. ``on_first`` hears how many seconds after
    ``started`` (`time.perf_counter`) the first event came, ``on_result`` the result. Raises ``TooSlow`` and what
    ``work`` raises. `aclose` ends the work.
    """

    def __init__(
        self,
        work: AsyncGenerator[ReplyEvent | TurnResult, None],
        *,
        limit: float,
        heartbeat: float,
        started: float | None,
        on_first: Callable[[float], None],
        on_result: Callable[[TurnResult], None],
    ) -> None:
        self._work = work
        self._limit = limit
        self._heartbeat = heartbeat
        self._started = time.perf_counter() if started is None else started
        self._on_first: Callable[[float], None] | None = on_first
        self._on_result = on_result
        self._ahead: asyncio.Queue[ReplyEvent | TurnResult | Exception | None] = asyncio.Queue(MAX_AHEAD)
        self._task: asyncio.Task[None] | None = None
        self._bound: asyncio.Timeout | None = None
        self._why: Exception | None = None
        self._ended = False
        #: The tools that the turn leaves out, as soon as that is known: before the first event.
        self.left_out: tuple[LeftOut, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the next event is there already, so that what was written can wait for it."""
        return not self._ahead.empty()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WireEvent:
        if self._ended:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(self._pump())
        try:
            event = self._ahead.get_nowait()
        except asyncio.QueueEmpty:
            try:
                async with asyncio.timeout(self._heartbeat):
                    event = await self._ahead.get()
            except TimeoutError:
                return Beat()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        if isinstance(event, Exception):
            self._ended = True
            raise event
        if self._on_first is not None:
            self._on_first(time.perf_counter() - self._started)
            self._on_first = None
        if isinstance(event, TurnResult):
            self._on_result(event)
        return event

    def end(self, why: Exception) -> None:
        """End the work now; ``why`` is raised after what it gave so far."""
        self._why = self._why or why
        if self._bound is not None:
            with suppress(RuntimeError):  # it has just ended by itself
                self._bound.reschedule(asyncio.get_running_loop().time())

    async def aclose(self) -> None:
        """End the work, and wait until it has ended."""
        self._ended = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        else:
            await self._work.aclose()

    async def _pump(self) -> None:
        try:
            async with asyncio.timeout(self._limit if self._why is None else 0) as self._bound, aclosing(self._work):
                async for event in self._work:
                    await self._ahead.put(event)
            await self._ahead.put(None)
        except TimeoutError as error:
            late = TooSlow(f"The reply took more than {self._limit:g} seconds; ask for less at once.")
            await self._ahead.put((self._why or late) if self._bound and self._bound.expired() else error)
        except Exception as error:
            await self._ahead.put(error)
