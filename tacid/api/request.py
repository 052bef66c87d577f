"""What every surface parses into, and what their encoders are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tacid.api.faults import Fault
from tacid.catalogue import AUTO, Catalogue, Choice, Schema
from tacid.chat import Message, ReplyEvent, Sampling
from tacid.turn.request import ToolMode, TurnResult


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may hold at most; each excess is an error that names the limit."""

    messages: int = 2000
    tools: int = 1024
    #: Bytes of one tool's schema, or of the schema of an answer, as JSON.
    schema_bytes: int = 1024 * 1024
    #: Levels of lists and objects in a schema.
    nesting: int = 64
    tokens: int = 131_072
    #: Names of the server's own tools, which a request may name though it doesn't offer them.
    own: frozenset[str] = frozenset()
    #: Whether an entry that is no tool refuses the request, instead of being left out and named.
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request for a reply, whatever protocol it came in.

    ``model``: the name as the client gave it. ``sampling`` has only what the client asked for; ``max_tokens`` none
    leaves the length to the server. ``answer``: a schema for the answer (``{"type": "object"}`` for any object).
    ``think``: on, off, or as the model is by itself. ``grammar``: a client's own GBNF. ``legacy``: OpenAI's older
    ``functions`` were used, so the reply has ``function_call``. ``tool_mode`` and ``session`` as the client named them.
    ``extra``: what only the protocol's own encoder needs.
    """

    model: str | None
    messages: tuple[Message, ...]
    tools: Catalogue = field(default_factory=Catalogue)
    choice: Choice = AUTO
    max_calls: int = 1
    answer: Schema | None = None
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    think: bool | None = None
    stream: bool = False
    include_usage: bool = False
    grammar: str | None = None
    legacy: bool = False
    tool_mode: ToolMode | None = None
    session: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request to continue a text, without turns, tools or envelope.

    ``prompt``: the text, or token ids, as they are given to the engine. ``grammar``: a client's own GBNF. ``echo``:
    the reply begins with the prompt (only where that is a text).
    """

    model: str | None
    prompt: str | tuple[int, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stream: bool = False
    include_usage: bool = False
    grammar: str | None = None
    echo: bool = False


@dataclass(frozen=True, slots=True)
class About:
    """What a reply says about itself: an id without prefix, Unix seconds, and the served model's name.

    ``started`` is `time.perf_counter` at the request's arrival.
    """

    id: str
    created: int
    model: str
    started: float = 0.0


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing could be sent for a while: time for a sign of life."""


WireEvent: TypeAlias = ReplyEvent | TurnResult | Beat


class StreamEncoder(Protocol):
    """Turns the events of one turn into bytes of a stream; empty bytes where there is nothing to send.

    The last event is the `TurnResult`, after which the stream is whole (finish, usage, sentinel). `fault` ends a
    stream that has begun.
    """

    def event(self, event: WireEvent) -> bytes:
        """The bytes of one event."""
        ...

    def fault(self, fault: Fault) -> bytes:
        """The bytes that tell of an error, the last ones."""
        ...


class Wire(Protocol):
    """One protocol's way to ask for a reply. Stateless."""

    #: The content type of a stream.
    media_type: str

    def parse(self, body: Mapping[str, Any], limits: Limits) -> ChatRequest:
        """The request of a parsed JSON body. Raises ``InputError`` that names the field."""
        ...

    def stream(self, request: ChatRequest, about: About) -> StreamEncoder:
        """An encoder for one streamed reply."""
        ...

    def whole(self, request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
        """The body of a whole reply."""
        ...
