"""The turn on an engine of ours: a prompt with every schema, or with an index, and every schema in the grammar."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tacid.catalogue import Catalogue
from tacid.chat import Message, ReplyEvent, Think
from tacid.endpoints.asked import SEVERAL
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import ContextExceeded, EngineError
from tacid.grammar.nodes import Node
from tacid.prompt.render import render
from tacid.prompt.segments import Prompt
from tacid.turn.deferral import Deferring
from tacid.turn.lookalikes import without_lookalikes
from tacid.turn.loop import MAX_RETRIES, Spoken, run_turn
from tacid.turn.plan import Plan, plan_turn
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Begun, Tally, sample
from tacid.turn.think import Thinker


async def run_full(endpoint: LocalEndpoint, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn on a local endpoint (see `tacid.turn.loop.run_turn`), every schema in its prompt."""
    async with aclosing(run_turn(_LocalVoice(endpoint), request)) as events:
        async for event in events:
            yield event


async def run_deferring(endpoint: LocalEndpoint, deferring: Deferring) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """The same with an index in the prompt."""
    async with aclosing(run_turn(_LocalVoice(endpoint, deferring), deferring.request)) as events:
        async for event in events:
            yield event


async def first_prompt(endpoint: LocalEndpoint, request: TurnRequest, deferring: Deferring | None = None) -> Prompt:
    """The prompt that a turn begins with, before anything was thought. Raises what `plan_turn` raises."""
    request = deferring.request if deferring is not None else request
    plan = await plan_turn(request, without=request.withheld)
    think = request.think > 0 and endpoint.family.thinking is not None
    return await _LocalVoice(endpoint, deferring).prompt(plan, request.messages, think=think)


class _LocalVoice:
    """Renders the prompt, lets the model think, and reads what is sampled under the grammar."""

    held = True

    def __init__(self, endpoint: LocalEndpoint, deferring: Deferring | None = None) -> None:
        self._endpoint = endpoint
        self._deferring = deferring

    def stops(self, plan: Plan) -> tuple[str, ...]:
        """In an envelope the client's stop texts are for what is said, not for how it is written."""
        return () if plan.grammar is None else plan.request.sampling.stop

    async def reply(
        self, plan: Plan, messages: tuple[Message, ...], tally: Tally, *, think: bool
    ) -> AsyncGenerator[Spoken, None]:
        """One reply."""
        think = think and self._endpoint.family.thinking is not None
        prompt = await self.prompt(plan, messages, think=think)
        ids = list(await self._endpoint.tokens(prompt))
        try:
            async with aclosing(self._sampled(plan, ids, tally, think=think)) as spoken:
                async for one in spoken:
                    yield one
        except ContextExceeded as error:
            raise await self._explained(error, plan, prompt, messages) from None

    async def prompt(self, plan: Plan, messages: tuple[Message, ...], *, think: bool) -> Prompt:
        """What the model reads before it replies to ``messages``."""
        request = plan.request
        return render(
            messages,
            family=self._endpoint.family,
            facts=request.facts,
            choice=plan.choice,
            answer=request.answer,
            several=plan.several,
            think=think,
            **await self._shown(plan),
        )

    async def _shown(self, plan: Plan) -> dict[str, Any]:
        """The catalogue, and what stands in the prompt for schemas that aren't there: the same in all its replies."""
        deferring = self._deferring
        if deferring is None or not len(plan.catalogue):
            return {"catalogue": plan.catalogue}
        await deferring.leave_out(self._endpoint, {left.tool for left in plan.report.left_out})
        tools = Catalogue(tuple(tool for tool in plan.catalogue if tool.name not in deferring.names))
        return {"catalogue": tools, "index": deferring.index, "spliced": deferring.splices}

    async def _sampled(self, plan: Plan, ids: list[int], tally: Tally, *, think: bool) -> AsyncGenerator[Spoken, None]:
        endpoint, request = self._endpoint, plan.request
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
        # A grammar ends by itself; the end of a turn, written out in a call, is mere text.
        stop = (*request.sampling.stop, *endpoint.family.stop) if plain else ()
        bias = request.sampling.logit_bias
        if not plain:
            bias = (*bias, *await without_lookalikes(endpoint, plan.catalogue, request.answer))
        settings = replace(request.sampling, max_tokens=left, stop=stop, logit_bias=bias)
        opening = None
        if self._deferring is not None:
            opening = _Splice(endpoint, ids, self._deferring)
            settings = self._deferring.sampling(settings)
        reader = plan.reader()
        listing = False
        raw = request.grammar if plain else None
        async with aclosing(sample(endpoint, ids, plan.grammar, settings, tally, raw=raw, opening=opening)) as texts:
            async for text in texts:
                events = reader.feed(text)
                if reader.listing and not listing:
                    listing = True
                    yield SEVERAL
                for event in events:
                    yield event
        if self._deferring is not None and opening is not None:
            self._deferring.keep(opening.begun)
        for event in reader.finish(tally.cut_off):
            yield event

    async def _explained(
        self, error: ContextExceeded, plan: Plan, prompt: Prompt, messages: tuple[Message, ...]
    ) -> ContextExceeded:
        """The error with how much of the prompt is the catalogue, which a client may not have in mind."""
        if not len(plan.catalogue):
            return error
        bare = render(messages, catalogue=Catalogue(), family=self._endpoint.family, facts=plan.request.facts)
        try:
            whole, rest = len(await self._endpoint.tokens(prompt)), len(await self._endpoint.tokens(bare))
        except EngineError:
            return error
        return ContextExceeded(
            f"The prompt has {error.prompt} tokens, {whole - rest} of them for the tools, and the engine's context "
            f"holds {error.context}; shorten it, offer fewer tools, or raise engine.context.",
            prompt=error.prompt,
            context=error.context,
        )


class _Splice:
    """The reply so far as it is read again once it begins a call (see `tacid.turn.steps.Opening`)."""

    def __init__(self, endpoint: LocalEndpoint, ids: Sequence[int], deferring: Deferring) -> None:
        self._endpoint = endpoint
        self._ids = ids
        self._deferring = deferring
        #: Tools whose calls were read again.
        self.begun: tuple[str, ...] = ()

    async def prompt(self, written: str, begun: Sequence[Begun]) -> Sequence[int]:
        """The prompt, then the reply with the schemas of its calls in them."""
        self.begun = tuple(one.tool for one in begun)
        return [*self._ids, *await self._endpoint.text_tokens(self._deferring.spliced(written, begun))]

    def narrowed(self, tool: str) -> Mapping[str, Node] | None:
        """Of our own tools' arguments, those that are of use now."""
        return self._deferring.narrowed(tool)


__all__ = ["MAX_RETRIES", "first_prompt", "run_deferring", "run_full"]
