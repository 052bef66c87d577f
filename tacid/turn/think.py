"""A reasoning model's thought: unheld, bounded, before the reply, which the grammar then holds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from tacid.chat import Sampling, ThinkDelta
from tacid.endpoints.local import LocalEndpoint
from tacid.turn.steps import Tally, sample


class Thinker:
    """Lets a model think before its reply; ``text`` is all that it thought, ``complete`` whether it came to an end."""

    def __init__(self, endpoint: LocalEndpoint) -> None:
        assert endpoint.family.thinking is not None
        self._endpoint = endpoint
        self._frame = endpoint.family.thinking
        self.text = ""
        self.complete = True

    async def think(
        self, ids: list[int], sampling: Sampling, limit: int, tally: Tally
    ) -> AsyncGenerator[ThinkDelta, None]:
        """Sample a thought of at most ``limit`` tokens after ``ids``, and put it and its end there.

        Raises ``EngineError``.
        """
        stops = (self._frame.end, *self._endpoint.family.stop)
        settings = replace(sampling, max_tokens=limit, stop=stops)
        thought = ""
        async with aclosing(sample(self._endpoint, ids, None, settings, tally)) as stream:
            async for text in stream:
                shown = text if thought else text.lstrip("\n")
                thought += text
                if shown:
                    self.text += shown
                    yield ThinkDelta(shown)
        self.complete = not tally.cut_off
        tally.cut_off = False
        ids += await self._endpoint.text_tokens(thought.rstrip("\n") + "\n")
        ids += await self._endpoint.client.tokenize(self._frame.end + self._frame.after, special=True)
