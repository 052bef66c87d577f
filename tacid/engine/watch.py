"""The one prober of an engine: judges by what it gets done whether it is wedged, for ``/health`` says 200 even then.

Nothing is asked while the client sees the engine get on, and nothing until it has been silent for
``engine.probe_after``. Then the slots are looked at. A busy slot must read or sample something within a deadline that
follows from the speed measured before, so that a long prompt is never taken for a wedge. Where all are idle, the slot
that was used last is asked for one token after the very prompt that it holds: nothing in its cache is lost, and the
order in which slots are reused stays. A slot that holds what we don't know is left alone; that the slots were told at
all is then what counts, for it is the sampling thread that tells.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from tacid.chat import Sampling
from tacid.config import EngineConfig
from tacid.engine.flags import batch_size
from tacid.engine.process import Engine
from tacid.errors import EngineDied, EngineError

#: Seconds that every answer may take beside what is expected of it.
PATIENCE = 3.0
#: How many times longer than measured a batch may take: reading slows down in a long context and on a busy machine.
SLACK = 8.0
#: Seconds that a batch is taken to need before one was measured; it is chosen so (`tacid.engine.flags.batch_size`).
UNMEASURED = 1.0
#: llama-server's own batch, which an engine that isn't ours may have.
FOREIGN_BATCH = 2048
_POLL = 0.2
_SLEEPS = "--sleep-idle-seconds"


class Watch:
    """Watches one engine that is ready. ``started`` is how many seconds its start took: waking may take as long.

    ``shared``: others ask the engine too, and what they do isn't seen here.
    """

    def __init__(self, engine: Engine, config: EngineConfig, *, started: float = 0.0, shared: bool = False) -> None:
        self._engine = engine
        self._client = engine.client
        self._signs = engine.client.signs
        self._signs.progress()
        self._after = config.probe_after
        self._started = started
        self._shared = shared or not engine.ours
        known = engine.ours and engine.model is not None
        self._batch = batch_size(engine.model, config) if known and engine.model is not None else FOREIGN_BATCH
        self._may_sleep = any(argument.partition("=")[0].replace("_", "-") == _SLEEPS for argument in config.extra_args)

    async def wedged(self) -> str:
        """Wait until the engine counts as wedged; the reason as a clause. An engine that has ended isn't judged."""
        while True:
            if (rest := self._after - self._signs.silence) > 0:
                await asyncio.sleep(rest)
            elif self._may_sleep and not self._signs.open:
                await asyncio.sleep(min(self._after, PATIENCE))  # asking would wake it
            elif (reason := await self._probe()) is not None:
                return f"it was wedged ({reason})"

    async def recovered(self) -> None:
        """Wait until an engine that counted as wedged gets on again."""
        while True:
            if await self._probe() is None and self._signs.silence < self._after:
                return
            await asyncio.sleep(_POLL)

    async def _probe(self) -> str | None:
        """Ask for a sign of life; none where there was one, else what was missed."""
        begun, patience = time.monotonic(), self._patience()
        missed = "it tells nothing about its slots"
        try:
            async with asyncio.timeout(patience):
                slots = await self._client.slots()
                if any(slot.get("is_processing") for slot in slots):
                    missed = "its busy slots get nothing done"
                    await self._moved(slots)
                else:
                    missed = "an idle slot samples nothing"
                    await self._sampled(slots)
        except (TimeoutError, EngineDied) as error:
            if isinstance(error, EngineDied):
                await asyncio.sleep(_POLL)  # an end is found out by those who wait for it
            if self._signs.last > begun or await self._has_ended():
                return None
            return f"no progress for {self._signs.silence:.0f} seconds: {missed}"
        except EngineError:
            pass  # a refusal is an answer
        self._signs.progress()
        return None

    async def _has_ended(self) -> bool:
        return not (self._engine.alive if self._engine.ours else await self._client.is_there())

    def _patience(self) -> float:
        patience = PATIENCE + self._started
        if self._signs.open or self._shared:
            speed = self._signs.speed
            patience += SLACK * (UNMEASURED if speed is None else self._batch / speed)
        return patience

    async def _moved(self, slots: Sequence[Mapping[str, Any]]) -> None:
        before = _marks(slots)
        while True:
            await asyncio.sleep(_POLL)
            if _marks(await self._client.slots()) != before:
                return

    async def _sampled(self, slots: Sequence[Mapping[str, Any]]) -> None:
        chosen = self._choice(slots)
        if chosen is None:
            return
        slot, prompt = chosen
        sampling = Sampling(max_tokens=1, temperature=0.0)
        async with aclosing(self._client.complete(prompt, grammar=None, sampling=sampling, id_slot=slot)) as pieces:
            async for _ in pieces:
                pass

    def _choice(self, slots: Sequence[Mapping[str, Any]]) -> tuple[int, Sequence[int | str]] | None:
        """A slot and what it holds; none where asking could cost somebody a cache."""
        held = self._signs.held
        holding = {slot.get("id"): slot.get("n_prompt_tokens", 0) for slot in slots if "id_task" in slot}
        if not holding and self._engine.ours and slots:
            return int(slots[0].get("id", 0)), [0]  # none was ever used
        if not held:
            return None
        last = next(reversed(held))
        known = held[last]
        if abs(holding.get(last, -2) - known.tokens) > 1:
            return None
        return last, known.prompt


def _marks(slots: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """What changes in slots when something is read or sampled."""
    marks = []
    for slot in slots:
        token = slot.get("next_token")
        token = token[0] if isinstance(token, list) and token else token
        decoded = token.get("n_decoded") if isinstance(token, Mapping) else None
        read = (slot.get("n_prompt_tokens"), slot.get("n_prompt_tokens_processed"))
        marks.append((slot.get("id"), slot.get("is_processing"), slot.get("id_task"), *read, decoded))
    return marks
