"""The local endpoint: an engine whose sampler we hold. It gives text, piece by piece, under a grammar."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from tacid.chat import Sampling
from tacid.engine.client import EngineClient, Piece
from tacid.prompt.families import Family
from tacid.prompt.segments import Prompt

#: Token lists of segments that are kept, so that a catalogue is tokenised once and not once a turn.
MAX_CACHED_SEGMENTS = 64


@dataclass
class LocalEndpoint:
    """An engine, and the turn markers that its model was trained with.

    ``family`` says how a prompt is framed; ``model`` and ``build`` name both for people. ``slot`` is the engine's slot
    that requests go to, none where the engine chooses. ``on_progress`` hears how many tokens of a prompt are read, and
    how many it has.
    """

    client: EngineClient
    family: Family
    model: str = ""
    build: str = ""
    slot: int | None = None
    on_progress: Callable[[int, int], None] | None = None
    _tokens: OrderedDict[tuple[str, bool], list[int]] = field(default_factory=OrderedDict, repr=False)

    async def tokens(self, prompt: Prompt) -> list[int]:
        """The token ids of a prompt: our segments with control tokens, all others as mere text.

        Raises ``EngineError``.
        """
        ids: list[int] = []
        for segment in prompt.segments:
            ids += await self._segment(segment.text, segment.special)
        return ids

    async def _segment(self, text: str, special: bool) -> list[int]:
        key = (text, special)
        if key in self._tokens:
            self._tokens.move_to_end(key)
            return self._tokens[key]
        ids = await self.client.tokenize(text, special=special)
        self._tokens[key] = ids
        if len(self._tokens) > MAX_CACHED_SEGMENTS:
            self._tokens.popitem(last=False)
        return ids

    async def count(self, text: str) -> int:
        """How many tokens text that isn't ours has, kept like a segment of a prompt. Raises ``EngineError``."""
        return len(await self._segment(text, False))

    async def text_tokens(self, text: str) -> list[int]:
        """The token ids of text that isn't ours, without control tokens and uncached."""
        return await self.client.tokenize(text, special=False) if text else []

    async def generate(
        self, ids: Sequence[int], *, grammar: str | None, sampling: Sampling, stop: Sequence[str] = ()
    ) -> AsyncGenerator[Piece, None]:
        """Sample after ``ids`` under ``grammar``; the last piece has an ``end``. Closing it stops the engine.

        Raises ``GrammarRefused``, ``ContextExceeded``, ``EngineDied``.
        """
        stream = self.client.complete(
            list(ids),
            grammar=grammar,
            sampling=sampling,
            stop=tuple(stop),
            id_slot=self.slot,
            on_progress=self.on_progress,
        )
        try:
            async for piece in stream:
                yield piece
        finally:
            await stream.aclose()
