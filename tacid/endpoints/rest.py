"""When engines may rest: after so many seconds without use, where a client asked for that (Ollama's ``keep_alive``).

Nothing rests by itself. What a client asked for last holds for all, until the engines have rested.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable


class Rest:
    """Counts who uses the engines, and calls ``rest`` once nobody has for as long as was asked.

    `asked` takes seconds, infinite for never. Ask and use it in the event loop.
    """

    def __init__(self, rest: Callable[[], None]) -> None:
        self._rest = rest
        self._after: float | None = None
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0

    @property
    def idle(self) -> bool:
        """Whether nobody uses them now."""
        return self._users == 0

    @property
    def left(self) -> float:
        """Seconds until they rest, if nobody uses them from now on; infinite where nobody asked for it."""
        if self._after is None:
            return math.inf
        return self._after if self._users else max(0.0, self._since + self._after - time.monotonic())

    def asked(self, seconds: float) -> None:
        """They shall rest so many seconds after they were last used, counted from the next use's end."""
        self._after = None if math.isinf(seconds) else max(0.0, seconds)
        if self._after is None:
            self._stop()

    def used(self) -> None:
        """Somebody begins to use them."""
        self._users += 1
        self._stop()

    def left_by_one(self) -> None:
        """Somebody has done with them."""
        self._users -= 1
        if self._users == 0:
            self.look()

    def look(self) -> None:
        """Count from now on, where nobody uses them; at once where no time is left."""
        self._stop()
        if self._users or self._after is None:
            return
        self._since = time.monotonic()
        if self._after == 0.0:
            self._now()
        else:
            self._timer = asyncio.get_running_loop().call_later(self._after, self._now)

    def _now(self) -> None:
        self._timer = None
        self._after = None
        self._rest()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


__all__ = ["Rest"]
