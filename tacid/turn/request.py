"""What a turn is asked, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tacid.catalogue import AUTO, Catalogue, Choice
from tacid.chat import Completion, Message, Sampling, Usage
from tacid.grammar import Report

#: Judges a call after its schema: the sentences that say what is wrong with it, none if nothing is.
Check: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn: the conversation, the (narrowed) catalogue, and how to sample.

    ``facts`` are lines of the system turn; ``check`` is asked after the schema (the typed protocol, say).
    """

    messages: tuple[Message, ...]
    catalogue: Catalogue
    facts: tuple[str, ...] = ()
    choice: Choice = AUTO
    sampling: Sampling = field(default_factory=Sampling)
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The last event of a turn.

    ``usage`` is summed over all requests to the engine; ``forced_tokens`` are those of the written tokens about
    which the grammar left no choice; ``timings`` are the engine's own, in milliseconds; ``retries`` counts calls
    that failed their check and were sampled again, ``problems`` says why.
    """

    completion: Completion
    usage: Usage
    forced_tokens: int
    timings: Mapping[str, float]
    report: Report
    retries: int = 0
    problems: tuple[str, ...] = ()
