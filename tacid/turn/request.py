"""What a turn is asked, and what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from tacid.catalogue import AUTO, Catalogue, Choice, Schema
from tacid.chat import Call, Completion, Message, Sampling, Say, Think, Truncated, Usage
from tacid.grammar import MAX_BYTES, MAX_SECONDS, Report
from tacid.prompt.index import IndexStyle

#: Judges a call after its schema: the sentences that say what is wrong with it, none if nothing is.
Check: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[str, ...]]
#: Carries a call out that the client never sees; gives the result's text for the model.
Executor: TypeAlias = Callable[[Call], Awaitable[str]]

#: Calls that one reply may hold.
MAX_CALLS = 8


#: How a prompt can be spared schemas (see `tacid.turn.deferral`).
Sparing: TypeAlias = Literal["deferred", "direct"]
ToolMode: TypeAlias = Literal["full", "deferred", "direct", "auto"]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A schema that was fetched in an earlier turn, when the conversation had so many messages."""

    name: str
    after: int


@dataclass(frozen=True, slots=True)
class Modes:
    """How much of the catalogue is shown.

    ``instead`` is what ``auto``, and a tool that is marked to be deferred, take in place of ``full``. ``auto`` takes it
    above ``budget`` tokens of tools, and where the prompt would not leave room in a ``context`` of so many tokens (0:
    unknown). For the rest see `tacid.turn.deferral.Deferral`.
    """

    mode: ToolMode = "full"
    instead: Sparing = "direct"
    budget: int = 2048
    context: int = 0
    always: frozenset[str] = frozenset()
    index: IndexStyle = "line"
    tokens: int = 2048
    max_hops: int = 3
    temperature: float | None = None
    remind: bool = False
    fetched: tuple[Fetched, ...] = ()


class Meta(Protocol):
    """Tools of a turn that are about its tools, whose arguments are then set apart in the grammar.

    They are carried out like others in ``execute``, whatever their arguments, but counted for themselves.
    """

    @property
    def names(self) -> frozenset[str]:
        """What they are called."""
        ...

    def withheld(self) -> frozenset[str]:
        """Those of them that are no longer offered."""
        ...

    def reminds(self, name: str) -> bool:
        """Whether a call of this tool would be answered by `reminder`."""
        ...

    def reminder(self, call: Call) -> str | None:
        """What a call of another tool is answered with instead of being given out, if it is."""
        ...


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn: the conversation, the (narrowed) catalogue, and how to sample.

    ``facts`` are lines of the system turn; ``checks`` are asked after the schema, by tool (the typed protocol, say).
    ``max_calls``: with more than one, the grammar admits a list of two to so many calls beside the one call.
    ``answer``: the schema that an answer is held to, instead of free words. ``think``: thinking tokens at most, 0 for
    none. ``execute``: tools of the catalogue that are answered here, as hidden hops, at most ``max_hops`` of them;
    they are never part of a list. ``on_invalid``: what becomes of a call of another tool that fails its check twice:
    an error, or handed on with a mark. ``on_report`` hears of the grammar's report before the reply begins, and may
    raise. ``grammar`` holds a client's own GBNF, only without tools and ``answer``. ``max_seconds`` and ``max_bytes``
    bound what is compiled (see `tacid.grammar.compile_catalogue`). ``meta``: the tools of ``execute`` about tools.
    ``modes`` say how much of the catalogue the prompt shows, on an engine of ours.
    """

    messages: tuple[Message, ...]
    catalogue: Catalogue
    facts: tuple[str, ...] = ()
    choice: Choice = AUTO
    sampling: Sampling = field(default_factory=Sampling)
    checks: Mapping[str, Check] = field(default_factory=dict)
    max_calls: int = 1
    answer: Schema | None = None
    think: int = 0
    execute: Mapping[str, Executor] = field(default_factory=dict)
    max_hops: int = 4
    on_invalid: Literal["error", "mark"] = "error"
    grammar: str | None = None
    max_seconds: float = MAX_SECONDS
    max_bytes: int = MAX_BYTES
    on_report: Callable[[Report], None] | None = None
    modes: Modes = field(default_factory=Modes)
    meta: Meta | None = None

    @property
    def withheld(self) -> frozenset[str]:
        """The tools about tools that aren't offered now."""
        return self.meta.withheld() if self.meta is not None else frozenset()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The last event of a turn.

    ``completions`` are what the client sees, in order: a thought or none, then an answer, or one or more calls, or a
    cut-off call. ``usage`` is summed over all requests to the engine; ``forced_tokens`` are those of the written
    tokens about which the grammar left no choice; ``timings`` are the engine's own, in milliseconds; ``retries``
    counts replies that failed their check and were sampled again, ``problems`` says why. ``invalid``: the ids of calls
    that failed twice and were handed on, each with what is wrong ("" stands for the answer). ``hops`` counts calls
    that were carried out unseen, ``infos`` those of them about tools. ``stop`` is the client's stop text that ended
    the answer. ``compiling`` is the seconds that the grammar took, none where it was kept from an earlier turn.
    ``endpoint`` is the name of what made the reply, where somebody chose it. ``outside``: the engine wrote what isn't
    in the grammar that it was sent. ``mode`` is how much of the catalogue was shown, and why; ``saved`` the prompt's
    tokens that this spared; ``fetched`` the tools whose schemas were fetched.
    """

    completions: tuple[Completion, ...]
    usage: Usage
    forced_tokens: int
    timings: Mapping[str, float]
    report: Report
    retries: int = 0
    problems: tuple[str, ...] = ()
    invalid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hops: int = 0
    stop: str | None = None
    compiling: float | None = None
    endpoint: str | None = None
    outside: bool = False
    infos: int = 0
    mode: str = "full"
    mode_why: str = ""
    saved: int = 0
    fetched: tuple[str, ...] = ()

    @property
    def completion(self) -> Say | Call | Truncated:
        """The reply without its thought: the answer, or the first call."""
        return next(done for done in self.completions if not isinstance(done, Think))
