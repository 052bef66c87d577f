"""The loop of a turn, whatever makes its replies: checked, told once, hidden hops, marks."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from tacid.catalogue import AUTO, Choice
from tacid.chat import (
    Call,
    CallDelta,
    CallStart,
    Completion,
    Message,
    ReplyEvent,
    Say,
    SayDelta,
    Think,
    ThinkDelta,
    Truncated,
)  # fmt: skip
from tacid.endpoints.asked import Several
from tacid.errors import CallInvalid
from tacid.turn.plan import Plan, plan_turn
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Tally
from tacid.turn.stop import StopFilter

#: Times that a reply which fails its check is sampled again.
MAX_RETRIES = 1

#: What a voice gives of one reply, in order: thoughts, then an answer or calls. `Several` stands before calls that are
#: one list. A `Call` without a `CallStart` is one that came whole.
Spoken: TypeAlias = ReplyEvent | Several


class Voice(Protocol):
    """What makes the replies of a turn."""

    #: Whether replies are held to a grammar of ours.
    held: bool

    def reply(
        self, plan: Plan, messages: tuple[Message, ...], tally: Tally, *, think: bool
    ) -> AsyncGenerator[Spoken, None]:
        """One reply to ``messages``; what it took is in ``tally`` afterwards."""
        ...

    def stops(self, plan: Plan) -> tuple[str, ...]:
        """The client's stop texts that are to be looked for in what is said; the others are looked for already."""
        ...


async def run_turn(voice: Voice, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn; the last event is its `TurnResult`.

    Events of a call are held back until it is checked where what holds it is wider than its schema, where a check of
    the request's has a say, and where the call is carried out here: what was given out can't be recalled. A single
    call, or an answer, that fails is told to the model once, with the field, and sampled again.
    Raises ``CallInvalid`` where that fails too and isn't to be handed on with a mark, ``CatalogueError`` where no
    tool is left to choose from, and ``EngineError``.
    """
    plan = await plan_turn(request, without=request.withheld, held=voice.held)
    if request.on_report is not None:
        request.on_report(plan.report)
    tally = Tally()
    thought = _Thought()
    messages = request.messages
    problems: tuple[str, ...] = ()
    invalid: dict[str, tuple[str, ...]] = {}
    retries = hops = infos = 0
    thinking = request.think > 0
    while True:
        reply = _Reply(plan)
        spoken = _until_stop(voice.reply(plan, messages, tally, think=thinking), voice.stops(plan), reply)
        async with aclosing(_take(spoken, reply)) as events:
            async for event in events:
                for one in thought.before(event):
                    yield one
        reply.stop = reply.stop or (tally.stop_word if tally.stop_word in request.sampling.stop else None)
        problems += reply.wrong
        only = reply.single
        if reply.wrong and only is not None:
            if retries < MAX_RETRIES and not reply.heard:
                retries += 1
                messages = (*messages, *_refused(only, reply.wrong))
                thinking = False
                continue
            executed = isinstance(only, Call) and only.name in request.execute
            if request.on_invalid == "error" or executed:
                raise CallInvalid(_again(only, reply.wrong, retries))
            invalid[(only.id or "") if isinstance(only, Call) else ""] = reply.wrong
            for event in reply.release():
                for one in thought.before(event):
                    yield one
        elif isinstance(only, Call) and (told := _told(request, only)) is not None:
            messages = (*messages, *_answered(only, told))
            continue
        elif isinstance(only, Call) and only.name in request.execute:
            result = await request.execute[only.name](only)
            messages = (*messages, *_answered(only, result))
            about = request.meta is not None and only.name in request.meta.names
            infos += about
            hops += not about
            plan = await _after_hop(request, plan, hops, voice)
            thinking = request.think > 0
            continue
        for one in thought.end():
            yield one
        invalid.update(reply.invalid)
        if invalid and request.on_invalid == "error":
            raise CallInvalid(next(iter(_listed(invalid))))
        yield TurnResult(
            (*thought.done, *reply.completions),
            tally.usage,
            tally.forced_tokens,
            tally.timings,
            plan.report,
            retries,
            problems,
            invalid,
            hops + infos,
            reply.stop,
            plan.compiling,
            outside=tally.outside,
            infos=infos,
        )
        return


class _Thought:
    """What was thought in all replies of a turn, given as one `Think` before the first thing that is given out."""

    def __init__(self) -> None:
        self.done: list[Completion] = []
        self._text = ""
        self._last: Think | None = None

    def before(self, event: ReplyEvent) -> Iterator[ReplyEvent]:
        """What is given out for ``event``, in order."""
        if isinstance(event, ThinkDelta):
            self._text += event.text
            yield event
        elif isinstance(event, Think):
            self._last = event
        else:
            yield from self.end()
            yield event

    def end(self) -> Iterator[ReplyEvent]:
        """The thought, once, if there was one."""
        if self._last is not None and not self.done:
            self.done.append(Think(self._text, self._last.complete))
            yield self.done[0]


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
    #: Whether anything of it was given out.
    heard: bool = False

    @property
    def single(self) -> Call | Say | Truncated | None:
        """The reply where it is one call or answer, words before the call aside."""
        done = self.completions
        if len(done) == 2 and isinstance(done[0], Say):
            done = done[1:]
        only = done[0] if len(done) == 1 else None
        return only if isinstance(only, (Call, Say, Truncated)) else None

    def release(self) -> Iterator[ReplyEvent]:
        """What was held back."""
        held, self.held = self.held, []
        yield from held


async def _take(spoken: AsyncGenerator[Spoken, None], reply: _Reply) -> AsyncGenerator[ReplyEvent, None]:
    """Give out what may be given out of one reply; the rest is in ``reply``."""
    plan = reply.plan
    hold = plan.says_held
    listing = False
    identity = ""
    hidden: Call | None = None
    async with aclosing(spoken):
        async for event in spoken:
            if isinstance(event, (ThinkDelta, Think)):
                yield event
                continue
            if isinstance(event, Several):
                listing = True
                continue
            if isinstance(event, CallStart):
                hold = plan.holds(event.name)
                identity = _identity()
                event = CallStart(event.name, identity)
            elif isinstance(event, SayDelta):
                hold = plan.says_held
            if not isinstance(event, (Say, Call, Truncated)):
                if hold:
                    reply.held.append(event)
                else:
                    reply.heard = True
                    yield event
                continue
            if isinstance(event, Call):
                if not identity:
                    identity = _identity()
                    reply.held += [CallStart(event.name, identity), CallDelta(event.text)]
                event, identity = replace(event, id=identity), ""
                if listing and event.name in plan.request.execute:
                    # Never held to a grammar of ours, which lets none stand in a list.
                    reply.held.clear()
                    hidden = hidden or event
                    continue
            elif isinstance(event, Truncated) and event.name in plan.request.execute:
                reply.held.clear()
                event = Truncated(event.raw)
            wrong = plan.problems(event)
            reply.completions.append(event)
            if listing and isinstance(event, Call):
                if wrong:
                    reply.invalid[event.id or ""] = wrong
            else:
                reply.wrong = wrong
                ours = isinstance(event, Call) and plan.unseen(event.name)
                if wrong or ours:
                    reply.held.append(event)
                    continue
            reply.heard = True
            for held in reply.release():
                yield held
            yield event
    if hidden is not None and not reply.completions:
        # Nothing but calls that are answered here: the first of them counts.
        reply.completions.append(hidden)
        reply.wrong = plan.problems(hidden)


def _identity() -> str:
    return f"call_{secrets.token_hex(12)}"


async def _until_stop(
    spoken: AsyncGenerator[Spoken, None], stops: tuple[str, ...], reply: _Reply
) -> AsyncGenerator[Spoken, None]:
    """The same up to the first stop text in what is said, which is kept out of it."""
    passing = StopFilter(stops)
    said = ""
    async with aclosing(spoken):
        async for event in spoken:
            if isinstance(event, SayDelta):
                text = passing.feed(event.text)
                said += text
                if text:
                    yield SayDelta(text)
                if passing.met is not None:
                    reply.stop = passing.met
                    yield Say(said)
                    return
            elif isinstance(event, Say):
                if rest := passing.finish():
                    said += rest
                    yield SayDelta(rest)
                yield Say(said, event.complete)
            else:
                yield event


async def _after_hop(request: TurnRequest, plan: Plan, hops: int, voice: Voice) -> Plan:
    """The plan after a call was carried out unseen; at the cap nothing more can be called so."""
    ours = frozenset(request.execute)
    others = any(tool.name not in ours for tool in request.catalogue)
    choice: Choice = plan.choice
    if choice.mode == "named" and choice.name in ours:
        choice = AUTO
    if choice.mode == "required" and not others:
        choice = AUTO
    meta = request.meta.names if request.meta is not None else frozenset[str]()
    without = ours - meta if hops >= request.max_hops else frozenset[str]()
    without |= request.withheld
    if without == _withheld(plan) and choice == plan.choice:
        return plan
    return await plan_turn(request, without=without, choice=choice, held=voice.held)


def _withheld(plan: Plan) -> frozenset[str]:
    """The tools of ours that a plan doesn't offer."""
    return frozenset(name for name in plan.request.execute if name not in plan.catalogue)


def _told(request: TurnRequest, call: Call) -> str | None:
    """What a call is answered with instead of being given out."""
    return request.meta.reminder(call) if request.meta is not None else None


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


def _again(only: Call | Say | Truncated, wrong: tuple[str, ...], retries: int) -> str:
    what = f'The model called "{only.name}" with arguments' if isinstance(only, Call) else "The model gave an answer"
    return (
        f"{what} that {'do' if isinstance(only, Call) else 'does'}n't fit{', twice' if retries else ''}: "
        f"{'; '.join(wrong)}. Put the request more clearly, or take a larger model."
    )


def _listed(invalid: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for wrong in invalid.values():
        yield f"One of the calls has arguments that don't fit: {'; '.join(wrong)}. Ask for one call at a time."


__all__ = ["MAX_RETRIES", "Spoken", "Voice", "run_turn"]
