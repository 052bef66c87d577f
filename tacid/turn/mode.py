"""How much of the catalogue a turn's prompt shows, and the turn on an engine of ours taken so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

from tacid.catalogue import Catalogue
from tacid.chat import ReplyEvent
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import EngineError
from tacid.prompt.words import tool_lines
from tacid.turn.deferral import Deferral, Deferring
from tacid.turn.full import first_prompt, run_deferring, run_full
from tacid.turn.request import Sparing, TurnRequest, TurnResult


async def run_local(endpoint: LocalEndpoint, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn on a local endpoint in the mode that `settle` finds (see `tacid.turn.loop.run_turn`).

    Raises ``RequestError`` where the mode's own tools are called like one of the request's.
    """
    request, how, why = await settle(endpoint, request)
    if how is None:
        async with aclosing(run_full(endpoint, request)) as events:
            async for event in events:
                yield replace(event, mode_why=why) if isinstance(event, TurnResult) else event
        return
    deferring = await Deferring.begin(endpoint, request, how)
    # Beside the turn, since a tokenizer needs a while for what isn't read.
    saved = asyncio.create_task(_saved(endpoint, deferring))
    try:
        async with aclosing(run_deferring(endpoint, deferring)) as events:
            async for event in events:
                if isinstance(event, TurnResult):
                    fetched = tuple(deferring.new)
                    event = replace(event, mode=how.mode, mode_why=why, fetched=fetched, saved=await saved)
                yield event
    finally:
        saved.cancel()
        await asyncio.wait({saved})


async def count(endpoint: LocalEndpoint, request: TurnRequest) -> int:
    """The tokens of the prompt that a turn begins with. Raises what `run_local` raises."""
    request, how, _ = await settle(endpoint, request)
    deferring = await Deferring.begin(endpoint, request, how) if how is not None else None
    return len(await endpoint.tokens(await first_prompt(endpoint, request, deferring)))


async def settle(endpoint: LocalEndpoint, request: TurnRequest) -> tuple[TurnRequest, Deferral | None, str]:
    """The turn as it is asked, how its schemas are spared (none: they are all shown), and why."""
    modes, tools = request.modes, request.catalogue
    marked = any(tool.deferred for tool in tools)
    if modes.mode == "full" and not marked:
        return request, None, "configured"
    if not len(tools) or request.choice.mode == "none":
        return request, None, "no_tools"
    named = request.choice.name
    if request.choice.mode == "named" and named is not None and named in tools and named not in request.execute:
        return replace(request, catalogue=Catalogue((tools[named],), tools.left_out)), None, "one_tool"
    if len(tools) == 1:
        return request, None, "one_tool"
    mode, why = await _auto(endpoint, request) if modes.mode == "auto" else (modes.mode, "configured")
    if marked and mode == "full":
        mode, why = modes.instead, "defer_loading"
    if mode == "full":
        return request, None, why
    always = {*modes.always, *request.execute, *(tool.name for tool in tools if marked and not tool.deferred)}
    if all(tool.name in always for tool in tools):
        return request, None, "all_visible"
    tokens = min(modes.tokens, modes.context // 4) if modes.context else modes.tokens
    how = Deferral(
        mode=mode,
        always=frozenset(always),
        style=modes.index,
        tokens=tokens,
        max_hops=modes.max_hops,
        fetched=modes.fetched,
        temperature=modes.temperature,
        remind=modes.remind,
    )
    return request, how, why


async def _auto(endpoint: LocalEndpoint, request: TurnRequest) -> tuple[Literal["full"] | Sparing, str]:
    """By the tokens of the whole prompt, and of its tools, against the context and the budget."""
    modes = request.modes
    if await endpoint.count(tool_lines(request.catalogue)) > modes.budget:
        return modes.instead, "budget"
    prompt = len(await endpoint.tokens(await first_prompt(endpoint, request)))
    room = modes.context - min(request.sampling.max_tokens, modes.context // 4)
    if modes.context and prompt > room:
        return modes.instead, "context"
    return "full", "fits"


async def _saved(endpoint: LocalEndpoint, deferring: Deferring) -> int:
    """Tokens that the tools would have had in full, less those that they have in the index; 0 where nobody can tell."""
    index = deferring.index
    shown = "\n".join(filter(None, (tool_lines(index.whole), *index.lines)))
    try:
        return await endpoint.count(tool_lines(deferring.asked.catalogue)) - await endpoint.count(shown)
    except EngineError:
        return 0


__all__ = ["count", "run_local", "settle"]
