"""The full turn: every schema in the prompt, every schema in the grammar, one reply."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from tacid.catalogue import AUTO, Choice
from tacid.chat import (
    Call,
    CallStart,
    Completion,
    Message,
    ReplyEvent,
    Sampling,
    Say,
    SayDelta,
    Think,
    Truncated,
)  # fmt: skip
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import CallInvalid
from tacid.prompt.render import render
from tacid.reply.reader import ReplyReader, TextReader
from tacid.turn.plan import Plan, plan_turn
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Tally, sample
from tacid.turn.stop import StopFilter
from tacid.turn.think import Thinker

#: Times that a reply which fails its check is sampled again.
MAX_RETRIES = 1


async def run_full(endpoint: LocalEndpoint, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn; the last event is its `TurnResult`.

    Events of a call are held back until it is checked where its grammar is wider than its schema, where a check of
    the request's has a say, and where the call is carried out here: what was given out can't be recalled. A single
    call, or an answer under a schema, that fails is told to the model once, with the field, and sampled again.
    Raises ``CallInvalid`` where that fails too and isn't to be handed on with a mark, ``CatalogueError`` where no
    tool is left to choose from, and ``EngineError``.
    """
    plan = await plan_turn(request)
    tally = Tally()
    thinker = Thinker(endpoint) if request.think > 0 and endpoint.family.thinking is not None else None
    messages = request.messages
    done: list[Completion] = []
    problems: tuple[str, ...] = ()
    invalid: dict[str, tuple[str, ...]] = {}
    retries = hops = 0
    thinking = thinker is not None
    while True:
        prompt = render(
            messages,
            catalogue=plan.catalogue,
            family=endpoint.family,
            facts=request.facts,
            choice=plan.choice,
            answer=request.answer,
            several=plan.several,
            think=thinking,
        )
        ids = list(await endpoint.tokens(prompt))
        left = request.sampling.max_tokens
        if thinker is not None and thinking:
            before = tally.usage.completion
            async with aclosing(thinker.think(ids, request.sampling, min(request.think, left), tally)) as thoughts:
                async for thought in thoughts:
                    yield thought
            left = max(1, left - (tally.usage.completion - before))
        reply = _Reply(plan)
        sampling = replace(request.sampling, max_tokens=left)
        async with aclosing(_take(endpoint, ids, reply, sampling, tally)) as events:
            async for event in events:
                if thinker is not None and not done and not isinstance(event, Think):
                    done.append(Think(thinker.text, thinker.complete))
                    yield done[0]
                yield event
        problems += reply.wrong
        only = reply.single
        if reply.wrong and only is not None:
            if retries < MAX_RETRIES:
                retries += 1
                messages = (*messages, *_refused(only, reply.wrong))
                thinking = False
                continue
            executed = isinstance(only, Call) and only.name in request.execute
            if request.on_invalid == "error" or executed:
                raise CallInvalid(_twice(only, reply.wrong))
            invalid[(only.id or "") if isinstance(only, Call) else ""] = reply.wrong
            for event in reply.release():
                yield event
        elif isinstance(only, Call) and only.name in request.execute:
            result = await request.execute[only.name](only)
            messages = (*messages, *_answered(only, result))
            hops += 1
            plan = await _after_hop(request, plan, hops)
            thinking = thinker is not None
            continue
        if thinker is not None and not done:
            done.append(Think(thinker.text, thinker.complete))
            yield done[0]
        invalid.update(reply.invalid)
        if invalid and request.on_invalid == "error":
            raise CallInvalid(next(iter(_listed(invalid))))
        yield TurnResult(
            (*done, *reply.completions),
            tally.usage,
            tally.forced_tokens,
            tally.timings,
            plan.report,
            retries,
            problems,
            invalid,
            hops,
            reply.stop,
            plan.compiling,
        )
        return


@dataclass
class _Reply:
    """One reply as it is read: what was completed, what is held back, and what is wrong with it."""

    plan: Plan
    completions: list[Completion] = field(default_factory=list)
    held: list[ReplyEvent] = field(default_factory=list)
    #: What is wrong with a reply that is one call, or an answer.
    wrong: tuple[str, ...] = ()
    #: What is wrong with calls of a list, by id.
    invalid: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stop: str | None = None

    @property
    def single(self) -> Call | Say | Truncated | None:
        """The reply where it is one call or answer; its last events were not given out if it is wrong or ours."""
        only = self.completions[0] if len(self.completions) == 1 else None
        return only if isinstance(only, (Call, Say, Truncated)) else None

    def release(self) -> Iterator[ReplyEvent]:
        """What was held back."""
        held, self.held = self.held, []
        yield from held


async def _take(
    endpoint: LocalEndpoint, ids: list[int], reply: _Reply, sampling: Sampling, tally: Tally
) -> AsyncGenerator[ReplyEvent, None]:
    """Sample one reply and give out what may be given out; the rest is in ``reply``."""
    plan = reply.plan
    reader = plan.reader()
    plain = plan.grammar is None
    # In an envelope the client's stop texts are for what is said, not for how it is written.
    stops = StopFilter(() if plain else sampling.stop)
    stop = (*(sampling.stop if plain else ()), *endpoint.family.stop)
    hold = None in plan.widened
    listing = False
    identity = ""
    raw = plan.request.grammar if plain else None
    settings = replace(sampling, stop=stop)
    async with aclosing(sample(endpoint, ids, plan.grammar, settings, tally, raw=raw)) as stream:
        async for event in _events(reader, stream, tally, stops):
            if isinstance(event, CallStart):
                hold = plan.holds(event.name)
                identity = f"call_{secrets.token_hex(12)}"
                event = CallStart(event.name, identity)
            elif isinstance(event, SayDelta):
                hold = None in plan.widened
            if not isinstance(event, (Say, Call, Truncated)):
                if hold:
                    reply.held.append(event)
                else:
                    yield event
                continue
            if isinstance(event, Call):
                event = replace(event, id=identity or f"call_{secrets.token_hex(12)}")
            listing = listing or reader.listing
            wrong = plan.problems(event)
            reply.completions.append(event)
            if listing:
                if wrong:
                    reply.invalid[event.id or "" if isinstance(event, Call) else ""] = wrong
                for held in reply.release():
                    yield held
                yield event
                continue
            reply.wrong = wrong
            ours = isinstance(event, Call) and event.name in plan.request.execute
            if not wrong and not ours:
                for held in reply.release():
                    yield held
                yield event
            else:
                reply.held.append(event)
    reply.stop = stops.met or (tally.stop_word if tally.stop_word in sampling.stop else None)


async def _events(
    reader: ReplyReader | TextReader, stream: AsyncGenerator[str, None], tally: Tally, stops: StopFilter
) -> AsyncGenerator[ReplyEvent, None]:
    said = ""
    async for text in stream:
        for event in reader.feed(text):
            if isinstance(event, SayDelta):
                passed = stops.feed(event.text)
                said += passed
                if passed:
                    yield SayDelta(passed)
                if stops.met is not None:
                    yield Say(said)
                    return
            else:
                yield event
    for event in reader.finish(tally.cut_off):
        if isinstance(event, SayDelta):
            passed = stops.feed(event.text)
            said += passed
            if passed:
                yield SayDelta(passed)
        elif isinstance(event, Say):
            if stops.met is None and (rest := stops.finish()):
                said += rest
                yield SayDelta(rest)
            yield Say(said, event.complete or stops.met is not None)
        else:
            yield event


async def _after_hop(request: TurnRequest, plan: Plan, hops: int) -> Plan:
    """The plan after a call was carried out unseen; at the cap nothing more can be called so."""
    ours = frozenset(request.execute)
    others = any(tool.name not in ours for tool in request.catalogue)
    choice: Choice = plan.choice
    if choice.mode == "named" and choice.name in ours:
        choice = AUTO
    if choice.mode == "required" and not others:
        choice = AUTO
    without = ours if hops >= request.max_hops else frozenset[str]()
    if without == _withheld(plan) and choice == plan.choice:
        return plan
    return await plan_turn(request, without=without, choice=choice)


def _withheld(plan: Plan) -> frozenset[str]:
    """The tools of ours that a plan doesn't offer."""
    return frozenset(name for name in plan.request.execute if name not in plan.catalogue)


def _refused(only: Call | Say | Truncated, wrong: tuple[str, ...]) -> tuple[Message, ...]:
    reasons = "; ".join(wrong)
    if isinstance(only, Call):
        told = f"This call was refused: {reasons}. Call again with arguments that fit."
        return _answered(replace(only, id="refused-1"), told)
    said = only.text if isinstance(only, Say) else ""
    return (
        Message("assistant", said),
        Message("user", f"This answer was refused: {reasons}. Answer again so that it fits."),
    )


def _answered(call: Call, result: str) -> tuple[Message, ...]:
    return (Message("assistant", calls=(call,)), Message("tool", result, name=call.name, call_id=call.id))


def _twice(only: Call | Say | Truncated, wrong: tuple[str, ...]) -> str:
    what = f'The model called "{only.name}" with arguments' if isinstance(only, Call) else "The model gave an answer"
    return (
        f"{what} that {'do' if isinstance(only, Call) else 'does'}n't fit, twice: {'; '.join(wrong)}. "
        "Put the request more clearly, or take a larger model."
    )


def _listed(invalid: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for wrong in invalid.values():
        yield f"One of the calls has arguments that don't fit: {'; '.join(wrong)}. Ask for one call at a time."


__all__ = ["MAX_RETRIES", "run_full"]
