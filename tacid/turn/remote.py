"""The turn on an endpoint that speaks OpenAI's chat protocol: one that holds our grammar, or one that needs none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from tacid.chat import CallDelta, Message, ReplyEvent, SayDelta, ThinkDelta, Usage
from tacid.endpoints.asked import Asked
from tacid.endpoints.remote import RemoteEndpoint
from tacid.endpoints.tools import ToolsEndpoint
from tacid.engine.client import End
from tacid.errors import GrammarError
from tacid.turn.loop import Spoken, run_turn
from tacid.turn.plan import Plan
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Tally


async def run_remote(
    endpoint: ToolsEndpoint | RemoteEndpoint, request: TurnRequest
) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn on such an endpoint (see `tacid.turn.loop.run_turn`)."""
    async with aclosing(run_turn(_ChatVoice(endpoint), request)) as events:
        async for event in events:
            yield event


class _ChatVoice:
    """Asks the endpoint once for each reply."""

    def __init__(self, endpoint: ToolsEndpoint | RemoteEndpoint) -> None:
        self._endpoint = endpoint
        self.held = isinstance(endpoint, ToolsEndpoint)

    def stops(self, plan: Plan) -> tuple[str, ...]:
        """All of them: other servers don't say which text they met, and cut calls at it."""
        return plan.request.sampling.stop

    async def reply(
        self, plan: Plan, messages: tuple[Message, ...], tally: Tally, *, think: bool
    ) -> AsyncGenerator[Spoken, None]:
        """One reply."""
        request = plan.request
        if plan.grammar is not None and plan.grammar.gates:
            raise GrammarError(
                f'A list in these tools is too long for one grammar, and the endpoint "{self._endpoint.name}" takes '
                "one a reply; offer fewer values, or ask a local endpoint."
            )
        asked = Asked(
            messages=messages,
            catalogue=plan.catalogue,
            choice=plan.choice,
            sampling=replace(request.sampling, stop=()),
            answer=request.answer,
            facts=request.facts,
            grammar=plan.grammar.text if plan.grammar is not None else request.grammar,
            max_calls=request.max_calls if plan.several else 1,
            alone=frozenset(request.execute),
            think=think,
        )
        pieces, ended = 0, False
        try:
            async with aclosing(self._endpoint.reply(asked)) as events:
                async for event in events:
                    if isinstance(event, End):
                        ended = True
                        tally.add(event)
                        continue
                    pieces += isinstance(event, (SayDelta, CallDelta, ThinkDelta))
                    yield event
        finally:
            if not ended:
                # Broken off by us: nobody tells figures then.
                tally.usage = tally.usage + Usage(completion=pieces)


__all__ = ["run_remote"]
