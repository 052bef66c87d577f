"""The nouns of a conversation: messages in, a typed reply out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Say:
    """An answer in words. ``text`` is decoded; ``complete`` is false where it was cut off."""

    text: str
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool: ``arguments`` are parsed; ``text`` is their JSON as the model wrote it."""

    name: str
    arguments: Mapping[str, Any]
    text: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Truncated:
    """A reply cut off in mid-call, or before it was certain what it is. ``raw`` is what was written."""

    raw: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Think:
    """What a reasoning model thought before its reply. ``complete`` is false where it was ended at the bound."""

    text: str
    complete: bool = True


Completion: TypeAlias = Say | Call | Think | Truncated


@dataclass(frozen=True, slots=True)
class SayDelta:
    """More decoded text of an answer; never half a character."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkDelta:
    """More of what the model thinks; never half a character."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    """The name of the tool has become certain. ``id`` is that of the `Call` to come, where the turn gives ids."""

    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of the arguments, as raw JSON text."""

    text: str


ReplyEvent: TypeAlias = ThinkDelta | SayDelta | CallStart | CallDelta | Completion


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    An assistant's message holds ``content``, ``calls``, or both; a tool's message answers the call ``call_id``
    of the tool ``name``.
    """

    role: Role
    content: str = ""
    calls: tuple[Call, ...] = ()
    name: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a turn. ``prompt`` counts all of the prompt, ``cached`` the part that the engine had read before."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.cached + other.cached, self.completion + other.completion)


#: ``max_tokens`` that leaves the length to an endpoint which bounds it by itself; never for a local one.
UNBOUNDED = 0


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample. ``None`` leaves a setting to the engine. ``logit_bias`` holds (token id or text, bias).

    ``stop`` ends an answer before the first of these texts, in the answer as it is read, never in a call.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    logit_bias: tuple[tuple[int | str, float], ...] = field(default=())
