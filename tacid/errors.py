"""Every error that tacid raises on purpose. One tree, one file; each message is a sentence with a remedy.

TacidError                     exit code 1
├─ InputError                  what a person or a client handed in: a file, JSON, a shape
│  ├─ RequestError             a client's request: names the field
│  ├─ CatalogueError           a tool or a list of tools
│  └─ ServicesError            the allow-list of services
├─ GrammarError                no sound grammar can be made of this (a tool without a legal call, a bound)
│  └─ CompilerBug              the verifier refused what we emitted: our fault, never the input's
├─ ModelError                  a model file: unknown, missing, damaged, not to be had
│  ├─ DownloadError
│  └─ ModelUnknown             a request names a model that isn't served
├─ EngineError                 llama-server
│  ├─ EngineMissing            none found
│  ├─ EngineStartError         found, but would not start; says why
│  │  └─ EngineAbsent          nothing answers where it should be
│  ├─ EngineDied               ended, or stopped answering, while we needed it
│  ├─ GrammarRefused           took no grammar of ours: our fault, never an unconstrained answer
│  └─ ContextExceeded          prompt longer than the model's context
├─ ReplyError                  what the model wrote
│  ├─ ReplyTruncated           cut off in mid-call
│  ├─ CallInvalid              failed its schema twice
│  └─ ProposalInvalid          a proposal of changes that its types don't take
├─ Busy                        the server takes no more requests at the moment
├─ TooSlow                     a request took longer than it may
└─ Stopping                    the server is ending, and a request was still open
"""

from __future__ import annotations


class TacidError(Exception):
    """Base of all errors raised on purpose; ``str(error)`` is one sentence fit for a person."""


class InputError(TacidError):
    """Something handed in by a person or a client can't be used."""


class RequestError(InputError):
    """A client's request can't be honoured. ``param`` names the field, ``code`` is a word for programs."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class CatalogueError(InputError):
    """A tool, or a list of tools, can't be used; names the tool or its index."""


class ServicesError(InputError):
    """The allow-list of services can't be used; names the file."""


class GrammarError(TacidError):
    """No sound grammar can be made; names the tool and the field."""


class CompilerBug(GrammarError):
    """The verifier found a fault in a grammar of ours (dangling, unreachable, left recursive, out of bounds)."""


class ModelError(TacidError):
    """A model file is unknown, missing or damaged."""


class DownloadError(ModelError):
    """A model could not be fetched from any of its sources."""


class ModelUnknown(ModelError):
    """A request names a model that isn't served here; the message says which are."""


class EngineError(TacidError):
    """llama-server could not do what was asked of it."""


class EngineMissing(EngineError):
    """No engine was found on this machine."""


class EngineStartError(EngineError):
    """An engine was found and would not start; the message says why."""


class EngineAbsent(EngineStartError):
    """Nothing answers where an engine that isn't ours should be."""


class EngineDied(EngineError):
    """The engine ended, or stopped answering, while a reply was wanted from it."""


class GrammarRefused(EngineError):
    """The engine refused a grammar, whose text is in ``grammar``. Never followed by an unconstrained try."""

    grammar: str | None = None


class ContextExceeded(EngineError):
    """The prompt is longer than the context of the model. ``prompt`` and ``context`` are tokens."""

    def __init__(self, message: str, *, prompt: int, context: int) -> None:
        super().__init__(message)
        self.prompt = prompt
        self.context = context


class ReplyError(TacidError):
    """What the model wrote can't be taken as a reply."""


class ReplyTruncated(ReplyError):
    """The reply was cut off in the middle of a call."""


class CallInvalid(ReplyError):
    """The arguments of a call failed their schema, twice."""


class ProposalInvalid(ReplyError):
    """A proposal that its types don't take. ``pointer`` (RFC 6901) names the field in the arguments."""

    def __init__(self, message: str, *, pointer: str) -> None:
        super().__init__(message)
        self.pointer = pointer


class Busy(TacidError):
    """The server takes no more requests at the moment. ``retry_after`` is seconds until it is worth another try."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooSlow(TacidError):
    """A request took longer than a request may take."""


class Stopping(TacidError):
    """The server is ending, and a request could not be finished before."""
