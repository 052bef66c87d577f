"""What the OpenAPI description says of bodies and answers: the shape that is needed, not all that is understood."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_MESSAGES = {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"role": _TEXT}}}
_TOOLS = {"type": ["array", "null"], "items": {"type": "object"}}

_FIELDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "/v1/chat/completions": (
        {"model": _TEXT, "messages": _MESSAGES, "tools": _TOOLS, "stream": {"type": ["boolean", "null"]}},
        ["messages"],
    ),
    "/v1/completions": (
        {"model": _TEXT, "prompt": {"type": "string", "minLength": 1}, "stream": {"type": ["boolean", "null"]}},
        ["prompt"],
    ),
    "/v1/responses": (
        {"model": _TEXT, "input": {"type": ["string", "array"]}, "instructions": {"type": ["string", "null"]}},
        [],
    ),
    "/v1/embeddings": ({"model": _TEXT, "input": {"type": ["string", "array"]}}, ["input"]),
    "/v1/messages": (
        {"model": _TEXT, "max_tokens": {"type": "integer", "minimum": 1}, "messages": _MESSAGES},
        ["max_tokens", "messages"],
    ),
    "/v1/messages/count_tokens": ({"model": _TEXT, "messages": _MESSAGES}, ["messages"]),
    "/api/chat": ({"model": _TEXT, "messages": {"type": "array"}, "tools": _TOOLS}, ["model"]),
    "/api/generate": ({"model": _TEXT, "prompt": _TEXT}, ["model"]),
    "/api/show": ({"model": _TEXT}, ["model"]),
}


def body(path: str) -> dict[str, Any]:
    """The request body of a route, for its description."""
    properties, required = _FIELDS[path]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


#: Answers that any of the routes may give beside its own.
RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"description": "The request can't be honoured; the body says what and which field."},
    401: {"description": "A key is needed, or isn't known."},
    403: {"description": "The Host or Origin isn't known here."},
    404: {"description": "There is no such model or response."},
    408: {"description": "The body came too slowly."},
    413: {"description": "The body is too large."},
    429: {"description": "Too many requests wait or are open; retry-after says when to come again."},
    500: {"description": "A fault of this server's; never an unconstrained reply."},
    502: {"description": "What the model or the engine gave can't be used."},
    503: {"description": "The engine isn't there at the moment."},
    504: {"description": "The reply took too long."},
}

#: The answer of a route that can stream, by the type of its stream.
CONTENT: dict[str, dict[str, Any]] = {
    kind: {
        "description": "The reply: whole as JSON, or as a stream.",
        "content": {"application/json": {}, kind: {}},
    }
    for kind in ("text/event-stream", "application/x-ndjson")
}
