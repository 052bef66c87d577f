"""The full turn: every schema in the prompt, every schema in the grammar, one reply of an engine of ours."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from tacid.chat import Message, ReplyEvent, Think
from tacid.endpoints.asked import SEVERAL
from tacid.endpoints.local import LocalEndpoint
from tacid.prompt.render import render
from tacid.turn.loop import MAX_RETRIES, Spoken, run_turn
from tacid.turn.plan import Plan
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Tally, sample
from tacid.turn.think import Thinker


async def run_full(endpoint: LocalEndpoint, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn on a local endpoint (see `tacid.turn.loop.run_turn`)."""
    async with aclosing(run_turn(_LocalVoice(endpoint), request)) as events:
        async for event in events:
            yield event


class _LocalVoice:
    """Renders the prompt, lets the model think, and reads what is sampled under the grammar."""

    held = True

    def __init__(self, endpoint: LocalEndpoint) -> None:
        self._endpoint = endpoint

    def stops(self, plan: Plan) -> tuple[str, ...]:
        """In an envelope the client's stop texts are for what is said, not for how it is written."""
        return () if plan.grammar is None else plan.request.sampling.stop

    async def reply(
        self, plan: Plan, messages: tuple[Message, ...], tally: Tally, *, think: bool
    ) -> AsyncGenerator[Spoken, None]:
        """One reply."""
        endpoint, request = self._endpoint, plan.request
        think = think and endpoint.family.thinking is not None
        prompt = render(
            messages,
            catalogue=plan.catalogue,
            family=endpoint.family,
            facts=request.facts,
            choice=plan.choice,
            answer=request.answer,
            several=plan.several,
            think=think,
        )
        ids = list(await endpoint.tokens(prompt))
        left = request.sampling.max_tokens
        if think:
            thinker = Thinker(endpoint)
            before = tally.usage.completion
            async with aclosing(thinker.think(ids, request.sampling, min(request.think, left), tally)) as thoughts:
                async for thought in thoughts:
                    yield thought
            yield Think(thinker.text, thinker.complete)
            left = max(1, left - (tally.usage.completion - before))
        plain = plan.grammar is None
        stop = (*(request.sampling.stop if plain else ()), *endpoint.family.stop)
        settings = replace(request.sampling, max_tokens=left, stop=stop)
        reader = plan.reader()
        listing = False
        raw = request.grammar if plain else None
        async with aclosing(sample(endpoint, ids, plan.grammar, settings, tally, raw=raw)) as texts:
            async for text in texts:
                events = reader.feed(text)
                if reader.listing and not listing:
                    listing = True
                    yield SEVERAL
                for event in events:
                    yield event
        for event in reader.finish(tally.cut_off):
            yield event


__all__ = ["MAX_RETRIES", "run_full"]
