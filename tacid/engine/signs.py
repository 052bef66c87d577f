"""What a client has seen of its engine's life: when it last got on, how fast it reads, and what its slots hold."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from tacid.chat import Usage

#: Prompts that took fewer tokens than this say nothing about speed.
MEASURED = 32
#: Slots whose prompt is remembered, and readings of which the slowest counts.
MAX_SLOTS, READINGS = 64, 8


@dataclass(frozen=True, slots=True)
class Held:
    """A prompt that a slot has in its cache, with what was sampled after it; ``tokens`` is how many these are."""

    prompt: tuple[int | str, ...]
    tokens: int


class Ended(Protocol):
    """What is asked of a completion's end (`tacid.engine.client.End`)."""

    @property
    def timings(self) -> Mapping[str, float]: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def slot(self) -> int | None: ...


@dataclass
class Signs:
    """The signs of life of one engine. Times are seconds of ``time.monotonic``."""

    #: When it last read or sampled something.
    last: float = field(default_factory=time.monotonic)
    #: Completions that are under way.
    open: int = 0
    #: What slots hold, by their number; the one that was used last comes last.
    held: OrderedDict[int, Held] = field(default_factory=OrderedDict)
    _readings: deque[float] = field(default_factory=lambda: deque(maxlen=READINGS))

    def progress(self) -> None:
        """The engine has got on."""
        self.last = time.monotonic()

    @property
    def silence(self) -> float:
        """Seconds since it last got on."""
        return time.monotonic() - self.last

    @property
    def speed(self) -> float | None:
        """Tokens a second that it reads: the slowest of the last readings; none before the first."""
        return min(self._readings, default=None)

    @contextmanager
    def completing(self) -> Iterator[None]:
        """A completion is under way."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    def finished(self, prompt: Sequence[int | str], sampled: Sequence[int], end: Ended) -> None:
        """A completion of ``prompt`` came to its end after ``sampled``."""
        if end.timings.get("prompt_n", 0) >= MEASURED and end.timings.get("prompt_per_second", 0) > 0:
            self._readings.append(end.timings["prompt_per_second"])
        slot = end.slot
        if slot is None or slot < 0:
            return
        if all(isinstance(part, str) for part in prompt):
            prompt = ["".join(str(part) for part in prompt)]  # texts alone are tokenised as one
        # The last one that was sampled has not been read, so it isn't in the cache.
        self.held[slot] = Held((*prompt, *sampled[:-1]), max(0, end.usage.prompt + end.usage.completion - 1))
        self.held.move_to_end(slot)
        if len(self.held) > MAX_SLOTS:
            self.held.popitem(last=False)
