"""Keeps an engine running: starts it, watches it, ends it where it is wedged, and starts it again.

An engine that isn't ours (kind ``url``) is watched in the same way and joined again when it comes back; it is never
ended. One that nobody needs can be let rest: it is ended, its memory is free, and who asks for it next starts it again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from tacid.config import EngineConfig
from tacid.engine.find import EngineSpec
from tacid.engine.process import Engine, start_engine
from tacid.engine.watch import Watch
from tacid.errors import EngineAbsent, EngineDied, EngineError, EngineStartError, InputError, ModelError

#: Seconds before a start, by how many times the engine ended within the window; the last one holds for all further.
DELAYS = (0.0, 0.5, 1.0, 2.0, 4.0)
#: Seconds between two looks at whether an engine that isn't ours is still there.
LOOK = 1.0
#: Seconds after a failure within which nobody's request tries again.
RETRY = 3.0
#: Seconds after which nobody waits any more for an engine that isn't ours and isn't there.
GONE = 10.0

_T = TypeVar("_T")
StateName: TypeAlias = Literal["starting", "ready", "wedged", "restarting", "failed", "resting", "stopped"]

_WORDS: dict[StateName, str] = {
    "starting": "is starting; ask again in a moment",
    "ready": "is ready",
    "wedged": "is being ended because it gets nothing done; ask again in a moment",
    "restarting": "is being started again; ask again in a moment",
    "failed": "would not stay up and was given up; correct what is wrong, and the next request tries again",
    "resting": "rests; the next request starts it",
    "stopped": "was stopped, because tacid is ending",
}
_FOREIGN_WORDS: dict[StateName, str] = {
    "wedged": "gets nothing done; start it again, and it is joined by itself",
    "restarting": "can't be used; start it again, and it is joined by itself",
}


@dataclass(frozen=True, slots=True)
class State:
    """How an engine is, since when (``time.monotonic``), and why (a clause or a sentence without its full stop)."""

    name: StateName
    since: float
    reason: str = ""


class Supervisor:
    """An engine that is kept running while the context lasts; entering doesn't wait until it is ready.

    ``on_change`` hears each new state, in the event loop, and must not block. The parameters are those of
    `tacid.engine.process.start_engine`; at a ``socket`` others may ask the engine as well.
    """

    def __init__(
        self,
        spec: EngineSpec,
        model: Path | None,
        config: EngineConfig,
        *,
        flash_attention: bool | None = None,
        socket: Path | None = None,
        on_change: Callable[[State], None] | None = None,
    ) -> None:
        self.spec = spec
        self.model = model
        self.config = config
        #: How many engines have been ready so far, and so which one this is.
        self.lives = 0
        self._flash_attention = flash_attention
        self._socket = socket
        self._on_change = on_change or (lambda _: None)
        self._state = State("starting", time.monotonic())
        self._engine: Engine | None = None
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._unneeded = asyncio.Event()
        self._down = asyncio.Event()
        self._rests = 0
        self._ends: deque[float] = deque()
        self._failures = 0
        self._absent: float | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        await _cancelled(self._task)

    @property
    def state(self) -> State:
        """How the engine is."""
        return self._state

    @property
    def restarts(self) -> int:
        """How often the engine has become ready again, other than from a rest."""
        return max(0, self.lives - 1 - self._rests)

    @property
    def engine(self) -> Engine:
        """The engine that is ready. Raises ``EngineStartError`` or ``EngineDied``: what is wrong, what is done."""
        if self._engine is None or self._state.name != "ready":
            raise self._error()
        if not self._engine.alive:
            raise EngineDied(f"{self._name} has ended and {_WORDS['restarting']}.")
        return self._engine

    def let_rest(self) -> bool:
        """End an engine of ours that is ready, until `wait_ready` is called; whether it rests then.

        From here on it counts as resting; `resting` says when its memory is free. Requests in flight break off: see
        first that there are none.
        """
        if self._state.name == "ready" and self._engine is not None and self._engine.ours:
            self._wanted.clear()
            self._down.clear()
            self._unneeded.set()
            self._become("resting")
        return self._state.name == "resting"

    async def resting(self) -> None:
        """Wait until an engine that was let rest has ended, or is wanted again."""
        while self._state.name == "resting" and not self._down.is_set():
            down, changed = asyncio.ensure_future(self._down.wait()), asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait({down, changed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                down.cancel()
                changed.cancel()

    async def wait_ready(self, seconds: float | None = None) -> Engine:
        """The engine, as soon as it is ready; one that was given up is tried again, one that rests is started.

        ``seconds`` is how long to wait, none for no bound. Raises what ``engine`` raises when the time is over, or at
        once where the engine has just been given up, or isn't ours and has been gone for a while.
        """
        asked = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if self._state.name == "ready" and self._engine is not None and self._engine.alive:
                        return self._engine
                    if self._state.name == "failed":
                        if self._state.since >= asked or asked - self._state.since < RETRY:
                            raise self._error()
                        self._wanted.set()
                    elif self._state.name == "resting":
                        self._wanted.set()
                    elif self._state.name == "stopped" or self._gone_for() > GONE:
                        raise self._error()
                    await self._changed.wait()
        except TimeoutError:
            return self.engine

    def _gone_for(self) -> float:
        return 0.0 if self._absent is None else time.monotonic() - self._absent

    def _error(self) -> EngineError:
        state = self._state
        words = _FOREIGN_WORDS.get(state.name) if self.spec.kind == "url" else None
        why = f" ({state.reason})" if state.reason else ""
        message = f"{self._name} {words or _WORDS[state.name]}{why}."
        return EngineStartError(message) if state.name in ("starting", "failed", "resting") else EngineDied(message)

    @property
    def _name(self) -> str:
        return self.spec.name[:1].upper() + self.spec.name[1:]

    def _become(self, name: StateName, reason: str = "") -> None:
        same = name == self._state.name
        self._state = State(name, self._state.since if same else time.monotonic(), reason)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if not same:
            self._on_change(self._state)

    async def _run(self) -> None:
        try:
            while True:
                reason, lasting = await self._once()
                if self._state.name == "resting":
                    await self._rest()
                else:
                    await self._before_next(reason, lasting=lasting)
        finally:
            self._engine = None
            self._become("stopped")

    async def _once(self) -> tuple[str, bool]:
        """One life of the engine: why it ended, and whether trying again by itself is of no use."""
        begun = time.monotonic()
        try:
            async with start_engine(
                self.spec,
                self.model,
                self.config,
                on_progress=self._progress,
                flash_attention=self._flash_attention,
                socket=self._socket,
            ) as engine:
                self._engine = engine
                self._failures = 0
                self._absent = None
                self.lives += 1
                shared = self._socket is not None
                watch = Watch(engine, self.config, started=time.monotonic() - begun, shared=shared)
                self._become("ready")
                try:
                    reason = await self._life(engine, watch)
                finally:
                    self._engine = None
                    self._unneeded.clear()
                if self._state.name != "resting":
                    self._become("restarting", reason)
                return reason, False
        except (ModelError, InputError) as error:
            return _clause(error), True
        except EngineAbsent as error:
            self._failures += 1
            self._absent = self._absent or begun
            return _clause(error), False
        except Exception as error:  # whatever it was: who keeps an engine running doesn't end of a surprise
            self._failures += 1
            self._absent = None
            return _clause(error), False

    async def _life(self, engine: Engine, watch: Watch) -> str:
        """Until the engine has ended, had to be ended, or isn't needed for now; why."""
        end = asyncio.create_task(self._end(engine))
        try:
            while True:
                reason = await _first(end, watch.wedged())
                if reason is None:
                    return end.result()
                self._become("wedged", reason)
                if engine.ours:
                    engine.kill(f"{reason}, so it was ended")
                    return reason
                await _first(end, watch.recovered())
                if not end.done():
                    self._become("ready")
        finally:
            await _cancelled(end)

    async def _end(self, engine: Engine) -> str:
        """Wait until the engine has ended by itself, or is let rest; why."""
        if not engine.ours:
            return await _gone(engine)
        end = asyncio.create_task(engine.ended())
        try:
            unneeded = await _first(end, self._unneeded.wait())
            return "nobody needs it" if unneeded else end.result()
        finally:
            await _cancelled(end)

    async def _rest(self) -> None:
        """Wait until somebody asks for the engine."""
        self._down.set()
        await self._wanted.wait()
        self._rests += 1
        self._become("starting")

    async def _before_next(self, reason: str, *, lasting: bool) -> None:
        """Wait as long as is due before the next start: a moment, or until somebody asks."""
        now = time.monotonic()
        self._ends.append(now)
        while self._ends[0] < now - self.config.restart_window:
            self._ends.popleft()
        ended = max(len(self._ends), self._failures)
        if self.spec.kind == "url":
            self._become("restarting", reason)
            await asyncio.sleep(min(LOOK, DELAYS[min(ended, len(DELAYS)) - 1]))
        elif lasting or ended > self.config.restarts:
            self._wanted.clear()
            self._become("failed", reason)
            await self._wanted.wait()
            self._become("restarting", reason)
        else:
            self._become("restarting", reason)
            await asyncio.sleep(DELAYS[min(ended, len(DELAYS)) - 1])

    def _progress(self, words: str) -> None:
        if self._state.name == "starting" and words != "Ready":
            self._become("starting", words)


async def _gone(engine: Engine) -> str:
    """Wait until nothing listens any more where an engine that isn't ours was."""
    while True:
        if not await engine.client.is_there():
            return f"nothing answers at {engine.client.url}"
        await asyncio.sleep(LOOK)


async def _first(end: asyncio.Task[str], other: Coroutine[Any, Any, _T]) -> _T | None:
    """The result of ``other``; none where ``end`` comes before it."""
    task = asyncio.ensure_future(other)
    try:
        await asyncio.wait({end, task}, return_when=asyncio.FIRST_COMPLETED)
        return None if end.done() else task.result()
    finally:
        await _cancelled(task)


async def _cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains


def _clause(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
