"""What one turn is held to: its grammar, the catalogue that it can call from, and the checks of what comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacid.catalogue import AUTO, Catalogue, Choice, LeftOut, Tool
from tacid.chat import Call, Say, Truncated
from tacid.errors import CatalogueError, InputError, RequestError
from tacid.grammar import Grammar, Report, compile_catalogue, compile_schema, compiled_catalogue
from tacid.jsontext import loads, quote
from tacid.reply.reader import ReplyReader, TextReader
from tacid.schema.validate import Validators
from tacid.turn.request import MAX_CALLS, TurnRequest

_NOTHING = Report()
#: The name under which an answer is checked; no tool has it.
_ANSWER = ""


@dataclass(frozen=True)
class Plan:
    """One generation of a turn: prompt, grammar and reader are made from the same ``catalogue``.

    ``grammar`` is none for a plain chat, ``raw`` the client's own. ``widened`` holds the tools whose grammar is wider
    than their schema, ``None`` for the answer. ``compiling`` is the seconds that the grammar took, none where it was
    kept from an earlier turn or there is none.
    """

    request: TurnRequest
    catalogue: Catalogue
    choice: Choice
    grammar: Grammar | None
    validators: Validators
    widened: frozenset[str | None] = field(default_factory=frozenset)
    compiling: float | None = None
    #: Tools that no call can fit, where there is no grammar whose report tells.
    left_out: tuple[LeftOut, ...] = ()

    @property
    def report(self) -> Report:
        """The grammar's report, with the tools that were left out before there was one."""
        report = self.grammar.report if self.grammar is not None else _NOTHING
        before = (*self.request.catalogue.left_out, *self.left_out)
        return replace(report, left_out=(*before, *report.left_out)) if before else report

    @property
    def several(self) -> bool:
        """Whether a list of calls may come."""
        return self.request.max_calls > 1 and any(tool.name not in self.request.execute for tool in self.catalogue)

    def reader(self) -> ReplyReader | TextReader:
        """A new reader of a reply."""
        if not len(self.catalogue):
            return TextReader()
        # Those that are no longer offered too: what an engine without grammars writes of them is a call, not words.
        names = [*(tool.name for tool in self.catalogue), *self.request.execute]
        return ReplyReader(names, value=self.request.answer is not None)

    @property
    def says_held(self) -> bool:
        """Whether the events of an answer wait until it is checked."""
        return None in self.widened or self.choice.mode in ("required", "named")

    def unseen(self, name: str) -> bool:
        """Whether a call of this tool is answered here, and the client never sees it."""
        request = self.request
        return name in request.execute or (request.meta is not None and request.meta.reminds(name))

    def holds(self, name: str) -> bool:
        """Whether a call's events wait until it is checked, since what was given out can't be recalled."""
        return name in self.widened or name in self.request.checks or self.unseen(name)

    def problems(self, done: Call | Say | Truncated) -> tuple[str, ...]:
        """What is wrong with a finished reply."""
        if isinstance(done, Call):
            if done.name not in self.catalogue:
                return (f'there is no tool called "{done.name}"',)
            if self.request.meta is not None and done.name in self.request.meta.names:
                return ()
            if self.choice.mode == "named" and done.name != self.choice.name:
                return (f'a call of "{self.choice.name}" was asked for',)
            found = self.validators.problems(done.name, done.arguments)
            if found:
                return tuple(str(problem) for problem in found)
            check = self.request.checks.get(done.name)
            return check(done.name, done.arguments) if check is not None else ()
        if isinstance(done, Say) and self.choice.mode in ("required", "named"):
            return ("a call was asked for, and none was made",)
        if isinstance(done, Say) and done.complete and self.request.answer is not None:
            try:
                value = loads(done.text, "The answer")
            except InputError as error:
                return (str(error),)
            return tuple(str(problem) for problem in self.validators.problems(_ANSWER, value))
        return ()


async def plan_turn(
    request: TurnRequest, *, without: Collection[str] = (), choice: Choice | None = None, held: bool = True
) -> Plan:
    """The plan of one generation; tools in ``without`` are no longer offered. Compiles in a thread.

    ``held``: the reply is held to a grammar of ours; else there is none, and an answer waits until it is checked.
    Raises ``CatalogueError`` where a call is required and no tool is offered, ``RequestError`` where no call can fit
    any of the tools, ``GrammarError``.
    """
    choice = choice or request.choice
    offered = Catalogue(tuple(tool for tool in request.catalogue if tool.name not in without))
    started = time.perf_counter()
    grammar: Grammar | None = None
    if not len(offered) or choice.mode == "none":
        if choice.mode in ("required", "named"):
            raise CatalogueError("A call is required, but no tool is offered; offer one.")
        return await _without_tools(request, started) if held else _unheld(request, Catalogue(), AUTO)
    settings: dict[str, Any] = {
        "choice": choice,
        "max_calls": min(request.max_calls, MAX_CALLS),
        "alone": frozenset(request.execute),
        "answer": request.answer,
        "max_seconds": request.max_seconds,
        "max_bytes": request.max_bytes,
        "apart": request.meta is not None,
    }
    grammar = compiled_catalogue(offered, **settings)
    took = None
    if grammar is None:
        grammar = await asyncio.to_thread(compile_catalogue, offered, **settings)
        took = time.perf_counter() - started
    left_out = {tool.tool for tool in grammar.report.left_out}
    catalogue = Catalogue(tuple(tool for tool in offered if tool.name not in left_out))
    ours = request.meta.names if request.meta is not None else frozenset[str]()
    if all(tool.name in ours for tool in catalogue):
        # The grammar would be an envelope around nothing but the answer, of which the prompt says no word.
        if all(tool.name in offered or tool.name in ours for tool in request.catalogue):
            raise _nothing_left(grammar.report.left_out)
        if not held:
            return _unheld(request, Catalogue(), AUTO, grammar.report.left_out)
        return await _without_tools(request, started, left_out=grammar.report.left_out)
    if not held:
        # Compiled all the same, since that finds the tools that no call can fit.
        return _unheld(request, catalogue, choice, grammar.report.left_out)
    return Plan(request, catalogue, choice, grammar, _validators(request, catalogue), _widened(grammar), took)


async def _without_tools(request: TurnRequest, started: float, *, left_out: tuple[LeftOut, ...] = ()) -> Plan:
    grammar: Grammar | None = None
    if request.answer is not None:
        grammar = await asyncio.to_thread(
            compile_schema, request.answer, max_seconds=request.max_seconds, max_bytes=request.max_bytes
        )
    took = time.perf_counter() - started if grammar is not None else None
    catalogue = Catalogue()
    validators = _validators(request, catalogue)
    return Plan(request, catalogue, AUTO, grammar, validators, _widened(grammar), took, left_out)


def _nothing_left(left_out: Sequence[LeftOut]) -> RequestError:
    first = left_out[0]
    at = f" at {first.pointer}" if first.pointer else ""
    return RequestError(
        f"No tool is left to offer: no call of {quote(first.tool[:100], shown=True)} can fit its schema "
        f"({first.reason}{at}). Mend it, or leave the tools out.",
        param="tools",
        code="tool_not_compilable",
    )


def _unheld(request: TurnRequest, catalogue: Catalogue, choice: Choice, left_out: tuple[LeftOut, ...] = ()) -> Plan:
    widened = frozenset[str | None]({None} if request.answer is not None else ())
    return Plan(request, catalogue, choice, None, _validators(request, catalogue), widened, left_out=left_out)


def _validators(request: TurnRequest, catalogue: Catalogue) -> Validators:
    if request.answer is None:
        return Validators(catalogue)
    schema = request.answer if isinstance(request.answer, Mapping) else {} if request.answer else {"not": {}}
    return Validators(Catalogue((*catalogue, Tool(_ANSWER, "", schema))))


def _widened(grammar: Grammar | None) -> frozenset[str | None]:
    return frozenset(widening.tool for widening in grammar.report.widenings) if grammar is not None else frozenset()
