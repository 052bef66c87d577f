"""Which engine, and which of its slots, a turn gets: a free one that has read most of it, else a place in the queue."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tacid.endpoints.backend import Backend, Served
from tacid.endpoints.identity import Identity
from tacid.endpoints.rest import Rest
from tacid.errors import Busy, EngineDied, EngineError, EngineStartError, RequestError

#: Seconds after which somebody who was told that all is busy may ask again.
RETRY_AFTER = 2.0
#: Seconds between two looks, of one who waits, at whether there is an engine at all.
LOOK = 1.0
#: Seconds for which an engine that has just failed a request is passed over, where there is another one.
SUSPECT = 3.0

_LOG = logging.getLogger("tacid")


@dataclass
class _Slot:
    """A slot of an engine: who has it, and what it read last (keys of conversations, the most telling first)."""

    backend: Backend
    index: int
    taken: bool = False
    keys: tuple[str, ...] = ()
    used: float = 0.0


@dataclass(eq=False)
class _Waiter:
    """Somebody who waits for a slot to begin with ``keys``."""

    keys: tuple[str, ...]
    slot: asyncio.Future[_Slot]


@dataclass(frozen=True, slots=True)
class Lease:
    """A slot for as long as a turn takes."""

    backend: str
    served: Served


class Pool:
    """Engines that serve the same model, and the fair queue before them.

    The first one that is ready says which model that is; one that serves another is not let in (``refused`` says why).
    A turn goes to the slot that has its conversation, else to the engine with most slots free.
    Who waits is served by turns: one request of each who waits, in the order in which they came. ``queue`` is how many
    may wait; ``on_depth`` hears how many do.
    """

    def __init__(
        self, backends: Iterable[Backend], *, queue: int, on_depth: Callable[[int], None] | None = None
    ) -> None:
        self.backends = tuple(backends)
        self._queue = queue
        self._on_depth = on_depth or (lambda _: None)
        self._slots: dict[tuple[str, int], _Slot] = {}
        self._waiting: OrderedDict[str, deque[_Waiter]] = OrderedDict()
        self._clock = itertools.count(1)
        self._model: tuple[str, Identity] | None = None
        self._suspects: dict[str, float] = {}
        #: Why an engine isn't let in, by its name.
        self.refused: dict[str, str] = {}
        for backend in self.backends:
            backend.on_ready = self._serve
        #: When the engines may rest.
        self.rest = Rest(self._let_rest)

    @property
    def depth(self) -> int:
        """How many wait."""
        return sum(len(queue) for queue in self._waiting.values())

    def usable(self, backend: Backend) -> bool:
        """Whether an engine can be asked now: it is ready and serves the pool's model."""
        if not backend.ready:
            return False
        identity = backend.served.identity
        if len(self.backends) == 1 or identity is None:
            return True
        if self._model is None:
            self._model = (backend.name, identity)
        name, model = self._model
        differs = identity.differs(model)
        if differs is None:
            self.refused.pop(backend.name, None)
            return True
        why = (
            f'"{backend.name}" serves {identity} and "{name}" {model}: {differs}; a pool is made of engines that serve '
            "the same model, so start it with that one, or leave it out of endpoints."
        )
        if self.refused.get(backend.name) != why:
            self.refused[backend.name] = why
            _LOG.error("The engine %s", why)
        return False

    async def ready(self, patience: float | None) -> Served:
        """The first engine that is ready. Raises the first one's error where none is in time."""
        if not self.backends:
            raise RequestError("Only an engine of this server's own can do this, and it has none; ask another server.")
        for backend in self.backends:
            if self.usable(backend):
                return backend.served
        waiting = {asyncio.create_task(backend.wait_ready(patience)): backend for backend in self.backends}
        try:
            failed: EngineError | None = None
            pending = set(waiting)
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    try:
                        served = task.result()
                    except EngineError as error:
                        failed = failed or error
                        continue
                    if self.usable(waiting[task]):
                        return served
            raise failed or EngineStartError(
                f"The engine {next(iter(self.refused.values()), 'is not ready; ask again')}"
            )
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def known(self, patience: float | None) -> Served:
        """What is served, also by an engine that rests, which isn't started for this. Raises as `ready` does."""
        resting = next((backend.served for backend in self.backends if backend.resting), None)
        if resting is not None and not any(self.usable(backend) for backend in self.backends):
            return resting
        return await self.ready(patience)

    @asynccontextmanager
    async def visit(self, patience: float | None) -> AsyncGenerator[Served, None]:
        """An engine that is ready and doesn't rest as long as the context lasts, without a slot. Raises as `ready`."""
        self.rest.used()
        try:
            yield await self.ready(patience)
        finally:
            self.rest.left_by_one()

    async def unload(self) -> bool:
        """Let the engines rest as soon as nobody uses them; at once, and until their memory is free, where that is now.

        False where none of them was started here, so that none can be ended here.
        """
        if all(backend.supervisor.spec.kind == "url" for backend in self.backends):
            return False
        self.rest.asked(0.0)
        self.rest.look()
        if self.rest.idle:
            await asyncio.gather(*(backend.supervisor.resting() for backend in self.backends))
        return True

    def _let_rest(self) -> None:
        for backend in self.backends:
            backend.supervisor.let_rest()

    @asynccontextmanager
    async def lease(self, keys: Sequence[str], *, who: str = "", patience: float | None) -> AsyncGenerator[Lease, None]:
        """A slot, as long as the context lasts.

        ``keys`` say what the turn's prompt begins with, the most telling first; the slot that read the same last is
        preferred. ``who`` is whose turn it is in the queue; ``patience`` the seconds to wait for an engine that isn't
        ready. Raises ``Busy`` where too many wait, ``EngineDied``, ``EngineStartError``.
        """
        async with self.visit(patience):
            slot = self._free(keys) if not self._waiting else None
            if slot is not None:
                slot.taken = True
            else:
                slot = await self._wait(keys, who, patience)
            slot.keys = tuple(keys)
            try:
                served = slot.backend.served
                endpoint = replace(served.endpoint, slot=slot.index)
                yield Lease(slot.backend.name, replace(served, endpoint=endpoint))
            except EngineDied:
                self._suspects[slot.backend.name] = time.monotonic()
                slot.keys = ()
                raise
            finally:
                self._give_back(slot)

    def _give_back(self, slot: _Slot) -> None:
        slot.taken = False
        slot.used = next(self._clock)
        self._serve()

    async def _wait(self, keys: Sequence[str], who: str, patience: float | None) -> _Slot:
        if self.depth >= self._queue:
            raise Busy(
                f"{self.depth:,} requests wait already, as many as may; try again in a moment.",
                retry_after=RETRY_AFTER,
            )
        waiter = _Waiter(tuple(keys), asyncio.get_running_loop().create_future())
        self._waiting.setdefault(who, deque()).append(waiter)
        self._on_depth(self.depth)
        try:
            while True:
                done, _ = await asyncio.wait({waiter.slot}, timeout=LOOK)
                if done:
                    return waiter.slot.result()
                # No slot became free in the usual way: an engine may have come back, or all may be gone.
                await self.ready(patience)
                self._serve()
        except BaseException:
            if waiter.slot.done():
                self._give_back(waiter.slot.result())
            raise
        finally:
            queue = self._waiting.get(who)
            if queue is not None and waiter in queue:
                queue.remove(waiter)
                if not queue:
                    del self._waiting[who]
            self._on_depth(self.depth)

    def _serve(self) -> None:
        """Hand free slots to those who wait, by turns."""
        for who in list(self._waiting):
            waiter = self._waiting[who][0]
            slot = self._free(waiter.keys)
            if slot is None:
                return
            slot.taken = True
            waiter.slot.set_result(slot)
            self._waiting[who].popleft()
            if self._waiting[who]:
                self._waiting.move_to_end(who)
            else:
                del self._waiting[who]

    def _free(self, keys: Sequence[str]) -> _Slot | None:
        """The best free slot of the engines that can be asked."""
        usable = [backend for backend in self.backends if self.usable(backend)]
        recent = time.monotonic() - SUSPECT
        trusted = [backend for backend in usable if self._suspects.get(backend.name, 0.0) < recent]
        best: tuple[tuple[bool, float, int, float], _Slot] | None = None
        for backend in trusted or usable:
            slots = [self._slot(backend, index) for index in range(backend.served.slots)]
            busy = sum(slot.taken for slot in slots) / len(slots)
            for slot in slots:
                if slot.taken:
                    continue
                shared = next((len(keys) - place for place, key in enumerate(keys) if key in slot.keys), 0)
                # The same conversation is worth a busier engine; the same tools alone are read again soon enough.
                rank = (not (keys and keys[0] in slot.keys), busy, -shared, slot.used)
                if best is None or rank < best[0]:
                    best = (rank, slot)
        return best[1] if best is not None else None

    def _slot(self, backend: Backend, index: int) -> _Slot:
        key = (backend.name, index)
        if key not in self._slots:
            self._slots[key] = _Slot(backend, index)
        return self._slots[key]


__all__ = ["Lease", "Pool"]
