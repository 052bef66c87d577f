"""Sampling one reply under one grammar: one request, or several where the grammar has gates.

A gate is what is too large for the engine to take with every request: a list of values, or the arguments of each tool
of a large catalogue. The text up to it is sampled under the whole grammar, the choice under the gate's own rules (of
all gates, where several may stand there), and what follows under the rest of the whole grammar; the prompt only grows,
so that the engine's prompt cache holds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from tacid.chat import Sampling, Usage
from tacid.endpoints.local import LocalEndpoint
from tacid.engine.client import End, Piece
from tacid.errors import EngineError, GrammarRefused
from tacid.grammar import Grammar
from tacid.grammar.nodes import Node
from tacid.grammar.printer import print_rules
from tacid.grammar.walk import Walk

#: Where a gate stands in the printed grammar: a character that canonical JSON text never holds raw.
GATE_STOP = "\n"
#: Gates that one reply may pass; each costs two requests.
MAX_GATES = 64

_SUMMED = ("prompt_ms", "predicted_ms", "prompt_n", "predicted_n", "cache_n")


@dataclass
class Tally:
    """What the requests of one turn cost together, and whether the last one was cut off."""

    usage: Usage = field(default_factory=Usage)
    timings: dict[str, float] = field(default_factory=dict)
    forced_tokens: int = 0
    cut_off: bool = False
    #: Whether the engine wrote what isn't in the grammar that it was sent.
    outside: bool = False
    #: The text that ended the last request, "" if none did.
    stop_word: str = ""

    def add(self, end: End) -> None:
        """Count one finished request."""
        self.usage = self.usage + end.usage
        self.cut_off = end.reason == "length"
        self.stop_word = end.stopping_word
        for key in _SUMMED:
            value = end.timings.get(key)
            if isinstance(value, (int, float)):
                self.timings[key] = round(self.timings.get(key, 0) + value, 3)


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that was begun: its tool, and how many characters stand before its arguments."""

    tool: str
    at: int


class Opening(Protocol):
    """What happens once a tool's name is certain and its arguments, set apart in the grammar, are still to come."""

    async def prompt(self, written: str, begun: Sequence[Begun]) -> Sequence[int]:
        """The token ids after which the reply goes on, of which ``written`` is there, with these calls in it."""
        ...

    def narrowed(self, tool: str) -> Mapping[str, Node] | None:
        """Rules of the tool's arguments in place of the grammar's own, of whose texts they take some; none: those."""
        ...


async def sample(
    endpoint: LocalEndpoint,
    ids: Sequence[int],
    grammar: Grammar | None,
    sampling: Sampling,
    tally: Tally,
    *,
    raw: str | None = None,
    opening: Opening | None = None,
) -> AsyncGenerator[str, None]:
    """The text of one reply, as it is sampled after ``ids``; afterwards ``tally`` has the cost.

    ``raw`` is GBNF of somebody else's, where there is no ``grammar`` of ours. ``opening`` is asked for the prompt
    from the first tool on whose arguments the grammar sets apart. Ends when the reply is whole, or at
    ``sampling.max_tokens``, where ``tally.cut_off`` is set.
    Raises ``EngineError``.
    """
    before, tally.outside = tally.outside, False
    try:
        if grammar is None or not grammar.gates:
            text = grammar.text if grammar else raw
            walk = Walk(grammar.rules) if grammar else None
            async with aclosing(_request(endpoint, ids, text, sampling, sampling.stop, tally)) as pieces:
                async for piece in pieces:
                    _walk(walk, piece, tally)
                    yield piece.text
            return
        gated = _Gated(endpoint, ids, sampling, tally, grammar.apart, opening)
        async with aclosing(gated.under(grammar.rules, grammar.text)) as texts:
            async for one in texts:
                yield one
    finally:
        # An earlier reply of the turn that left its grammar says nothing of this one.
        tally.outside = tally.outside or before


class _Gated:
    """One reply under a grammar with gates: what is written of it, how many tokens are left, and gates to pass."""

    def __init__(
        self,
        endpoint: LocalEndpoint,
        ids: Sequence[int],
        sampling: Sampling,
        tally: Tally,
        apart: Mapping[str, str],
        opening: Opening | None,
    ) -> None:
        self._apart = apart
        self._opening = opening
        self._begun: list[Begun] = []
        self._endpoint = endpoint
        self._ids = ids
        self._sampling = sampling
        self._tally = tally
        self._written = ""
        self._left = sampling.max_tokens
        self._gates = MAX_GATES

    async def under(self, rules: Mapping[str, Node], text: str) -> AsyncGenerator[str, None]:
        """What is sampled under these rules, printed as ``text``, those behind their gates included."""
        walk = Walk(rules)
        while True:
            at_gate = False
            async with aclosing(self._asked(text)) as pieces:
                async for piece in pieces:
                    _walk(walk, piece, self._tally)
                    yield piece.text
                    at_gate = piece.end is not None and piece.end.stopping_word == GATE_STOP
            if not at_gate or not walk.gates or self._left <= 0:
                return
            self._gates -= 1
            if self._gates < 0:
                raise EngineError(f"The reply holds more than {MAX_GATES} choices from long lists; ask for less.")
            begun = len(self._written)
            choice = self._choice(walk)
            async with aclosing(self.under(choice, print_rules(choice))) as texts:
                async for one in texts:
                    yield one
            if self._left <= 0 or self._tally.cut_off or self._tally.outside:
                return
            if not walk.pass_gate(self._written[begun:]):
                self._tally.outside = True
                return
            if last := _last_of(walk):
                # Nothing is left to choose, so nobody is asked.
                self._written += last
                yield last
                return
            text = print_rules(walk.rest())

    def _choice(self, walk: Walk) -> Mapping[str, Node]:
        """The rules behind the gates here; a tool's name is certain where they are its arguments."""
        tool = self._apart.get(walk.gates[0]) if len(walk.gates) == 1 else None
        if tool is None:
            return walk.choice()
        self._begun.append(Begun(tool, len(self._written)))
        narrowed = self._opening.narrowed(tool) if self._opening is not None else None
        return walk.choice() if narrowed is None else narrowed

    async def _asked(self, text: str) -> AsyncGenerator[Piece, None]:
        if self._begun and self._opening is not None:
            so_far = await self._opening.prompt(self._written, self._begun)
        else:
            so_far = [*self._ids, *await self._endpoint.text_tokens(self._written)]
        limits = replace(self._sampling, max_tokens=self._left)
        stop = (*self._sampling.stop, GATE_STOP)
        async with aclosing(_request(self._endpoint, so_far, text, limits, stop, self._tally)) as pieces:
            async for piece in pieces:
                self._written += piece.text
                self._left -= len(piece.tokens)
                yield piece


async def _request(
    endpoint: LocalEndpoint,
    ids: Sequence[int],
    grammar: str | None,
    sampling: Sampling,
    stop: Sequence[str],
    tally: Tally,
) -> AsyncGenerator[Piece, None]:
    written, ended = 0, False
    try:
        async with aclosing(endpoint.generate(ids, grammar=grammar, sampling=sampling, stop=stop)) as stream:
            async for piece in stream:
                written += len(piece.tokens)
                if piece.end is not None:
                    ended = True
                    tally.add(piece.end)
                yield piece
    except GrammarRefused as error:
        error.grammar = grammar
        raise
    finally:
        if not ended:
            # Broken off by us: the engine tells no figures then.
            tally.usage = tally.usage + Usage(len(ids) if written else 0, 0, written)


def _last_of(walk: Walk) -> str:
    """The text that has to come and is the last, or nothing where there is a choice."""
    last = walk.forced()
    ahead = walk.copy()
    ended = bool(last) and ahead.feed(last) and ahead.complete
    return last if ended and not ahead.gates and not ahead.allowed().ranges else ""


def _walk(walk: Walk | None, piece: Piece, tally: Tally) -> None:
    """Move ``walk`` on by this piece; count its tokens where the grammar left no choice about them."""
    if walk is None or not piece.text or tally.outside:
        return
    forced = walk.forced().startswith(piece.text)
    if not walk.feed(piece.text):
        tally.outside = True
    elif forced:
        tally.forced_tokens += len(piece.tokens)


__all__ = ["GATE_STOP", "MAX_GATES", "Begun", "Opening", "Tally", "sample"]
