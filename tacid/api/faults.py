"""Errors as clients see them: a status and a body in the shape of the route's protocol.

OpenAI: ``{"error": {"message", "type", "param", "code"}}``. Ollama (``/api/…``): ``{"error": "text"}``. Anthropic
(``/v1/messages…``): ``{"type": "error", "error": {"type", "message"}}``, and with a code ``"details": {"error_code"}``
in it. The same bodies serve in mid-stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tacid.errors import (
    Busy,
    CallInvalid,
    CompilerBug,
    ContextExceeded,
    DownloadError,
    EngineDied,
    EngineError,
    EngineMissing,
    EngineStartError,
    GrammarError,
    GrammarRefused,
    InputError,
    ModelError,
    ModelUnknown,
    ReplyError,
    ServicesError,
    Stopping,
    TacidError,
    TooSlow,
)
from tacid.jsontext import dumps

#: What is said of an error that nobody foresaw; its own words may hold what a client must not see.
UNFORESEEN = "The server made a mistake of its own; its log says which."


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a request.

    ``type`` and ``code`` are OpenAI's words, ``param`` the field of the request, ``retry_after`` seconds.
    """

    status: int
    message: str
    type: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    status: int
    type: str
    code: str | None = None
    retry_after: float | None = None


_INVALID = "invalid_request_error"
_SERVER = "server_error"

#: By class; the nearest class of an error's own line of descent decides.
_KINDS: dict[type[Exception], _Kind] = {
    InputError: _Kind(400, _INVALID),
    ServicesError: _Kind(500, _SERVER, "services_unusable"),
    GrammarError: _Kind(400, _INVALID, "tool_not_compilable"),
    CompilerBug: _Kind(500, _SERVER, "grammar_unsound"),
    ModelError: _Kind(500, _SERVER, "model_unusable"),
    ModelUnknown: _Kind(404, _INVALID, "model_not_found"),
    DownloadError: _Kind(502, _SERVER, "download_failed"),
    ContextExceeded: _Kind(400, _INVALID, "context_length_exceeded"),
    GrammarRefused: _Kind(500, _SERVER, "grammar_refused"),
    EngineMissing: _Kind(503, _SERVER, "engine_missing", 60.0),
    EngineStartError: _Kind(503, _SERVER, "engine_start_failed", 10.0),
    EngineDied: _Kind(503, _SERVER, "engine_died", 3.0),
    EngineError: _Kind(502, _SERVER, "engine_error"),
    CallInvalid: _Kind(502, _SERVER, "call_invalid"),
    ReplyError: _Kind(502, _SERVER, "reply_unusable"),
    Busy: _Kind(429, "rate_limit_error", "busy"),
    TooSlow: _Kind(504, _SERVER, "timeout"),
    Stopping: _Kind(503, _SERVER, "stopping", 5.0),
    TacidError: _Kind(500, _SERVER),
}

_BY_STATUS = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", None),
    404: (_INVALID, "not_found"),
    408: (_INVALID, "request_timeout"),
    413: (_INVALID, "request_too_large"),
    429: ("rate_limit_error", "busy"),
}

_ANTHROPIC = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


def fault_of(error: Exception) -> Fault:
    """What a client is told of an error. Of one that isn't ours only that it happened."""
    if isinstance(error, HTTPException):
        return fault(error.status_code, str(error.detail))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"][1:])
        return Fault(400, f"{param or 'The body'}: {first['msg']}.", _INVALID, param=param or None)
    for line in type(error).__mro__:
        if kind := _KINDS.get(line):
            return Fault(
                kind.status,
                str(error),
                kind.type,
                getattr(error, "code", None) or kind.code,
                getattr(error, "param", None),
                getattr(error, "retry_after", kind.retry_after),
            )
    return Fault(500, UNFORESEEN, _SERVER)


def fault(status: int, message: str, *, retry_after: float | None = None, code: str | None = None) -> Fault:
    """A fault of a door: its type and code follow from the status."""
    kind, usual = _BY_STATUS.get(status, (_INVALID if status < 500 else _SERVER, None))
    return Fault(status, message, kind, code or usual, None, retry_after)


def body_of(fault: Fault, path: str) -> dict[str, Any]:
    """The body in the shape that clients of this path expect."""
    if path.startswith("/api/"):
        return {"error": fault.message}
    if path.startswith("/v1/messages"):
        kind = _ANTHROPIC.get(fault.status, _INVALID if fault.status < 500 else "api_error")
        error: dict[str, Any] = {"type": kind, "message": fault.message}
        if fault.code is not None:
            error["details"] = {"error_code": fault.code}
        return {"type": "error", "error": error}
    return {"error": {"message": fault.message, "type": fault.type, "param": fault.param, "code": fault.code}}


def headers_of(fault: Fault) -> dict[str, str]:
    """The headers that go with it: ``retry-after`` in whole seconds, ``www-authenticate`` (RFC 9110, 11.6.1)."""
    headers = {}
    if fault.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(fault.retry_after)))
    if fault.status == 401:
        headers["www-authenticate"] = 'Bearer realm="tacid"'
    return headers


def rendered(body: dict[str, Any]) -> bytes:
    """A body as bytes, whatever text an error quotes (halves of surrogate pairs among it)."""
    return dumps(body).encode("utf-8")


async def answer(request: Request, error: Exception) -> Response:
    """The response for an error that a route raised; its code goes to the log."""
    fault = fault_of(error)
    if isinstance(about := request.scope.get("state", {}).get("tacid"), dict):
        about.setdefault("error", fault.message if fault.status >= 500 else fault.code or fault.type)
    return Response(
        rendered(body_of(fault, request.url.path)),
        fault.status,
        headers=headers_of(fault),
        media_type="application/json",
    )


def add_handlers(app: FastAPI) -> None:
    """Have the app answer with `answer`, to our errors, the framework's and all others."""
    for kind in (TacidError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, answer)
