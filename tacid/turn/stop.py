"""A client's stop texts, looked for in an answer as it is read, so that they never cut an envelope or a call."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Passes text on up to the first stop text; keeps back an end that may yet become one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._kept = ""
        #: The stop text that was met.
        self.met: str | None = None

    def feed(self, text: str) -> str:
        """What may be given out now."""
        if self.met is not None:
            return ""
        if not self._stops:
            return text
        text = self._kept + text
        places = [(place, stop) for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            place, self.met = min(places, key=lambda found: (found[0], -len(found[1])))
            self._kept = ""
            return text[:place]
        keep = max(_overlap(text, stop) for stop in self._stops)
        self._kept = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was kept back, when no more comes."""
        kept, self._kept = self._kept, ""
        return kept


def _overlap(text: str, stop: str) -> int:
    """Characters at the end of ``text`` that ``stop`` begins with; fewer than all of it."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
