"""What descriptions are made of: schemas of fields, and routes with what they take and answer (OpenAPI 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

Schema: TypeAlias = dict[str, Any]
#: Whose shape an error has (`tacid.api.faults.body_of`).
Protocol: TypeAlias = Literal["openai", "anthropic", "ollama"]

JSON, EVENTS, LINES, PLAIN, HTML = (
    "application/json",
    "text/event-stream",
    "application/x-ndjson",
    "text/plain",
    "text/html",
)

#: Answers that the doors before every route may give (`tacid.api.doors`), and those about a body.
DOORS = (400, 401, 403)
BODY = (408, 413, 429)
#: Answers where an engine is needed, and where a reply is made.
ENGINE = (500, 502, 503)
REPLY = (404, *ENGINE, 504)

_SAID: Mapping[int, str] = {
    400: "The request can't be honoured; the message names the field and what to do.",
    401: "A key is needed, or isn't known.",
    403: "Not allowed here: the Host or Origin header, or what a setting of the server keeps back.",
    404: "There is no such thing here; the message says what there is.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    429: "Too many requests wait or are open; retry-after says when to come again.",
    500: "A fault of this server's; never an unconstrained reply.",
    502: "What the model or the engine gave can't be used.",
    503: "The engine isn't there at the moment, or the server is ending; retry-after says when to come again.",
    504: "The reply took longer than a request may take.",
}
_AGAIN = {"retry-after": {"description": "Whole seconds.", "schema": {"type": "string", "pattern": "^[1-9][0-9]*$"}}}


def _told(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema


def _bounds(low: float | None, high: float | None) -> Schema:
    return {**({} if low is None else {"minimum": low}), **({} if high is None else {"maximum": high})}


def text(description: str = "", **more: Any) -> Schema:
    """A text."""
    return _told({"type": "string", **more}, description)


def whole(low: int | None = None, high: int | None = None, description: str = "") -> Schema:
    """A whole number from ``low`` to ``high``, both included."""
    return _told({"type": "integer", **_bounds(low, high)}, description)


def number(low: float | None = None, high: float | None = None, description: str = "") -> Schema:
    """A number from ``low`` to ``high``, both included."""
    return _told({"type": "number", **_bounds(low, high)}, description)


def flag(description: str = "") -> Schema:
    """True or false."""
    return _told({"type": "boolean"}, description)


def word(*words: str, description: str = "") -> Schema:
    """One of some words."""
    return _told({"type": "string", "enum": list(words)}, description)


def listed(items: Schema, description: str = "", **more: Any) -> Schema:
    """A list."""
    return _told({"type": "array", "items": items, **more}, description)


def thing(
    properties: Mapping[str, Schema] | None = None, required: Sequence[str] = (), description: str = ""
) -> Schema:
    """An object. Fields that aren't named here are ignored where it is a request's."""
    schema: Schema = {"type": "object"}
    if properties:
        schema["properties"] = dict(properties)
    if required:
        schema["required"] = list(required)
    return _told(schema, description)


def either(*schemas: Schema, description: str = "") -> Schema:
    """Any of some schemas."""
    return _told({"anyOf": list(schemas)}, description)


def event(description: str) -> Schema:
    """One server-sent event of a stream."""
    return thing({"event": text(), "data": text("JSON, or [DONE].")}, ("data",), description)


#: The model and the messages of the examples.
MODEL_SHOWN = "smollm2-135m-instruct"
MESSAGES_SHOWN = [{"role": "user", "content": "What is the weather in Oslo?"}]
#: A tool of theirs, and the schema of its arguments.
TOOL_SHOWN = {"name": "weather", "description": "The weather of a city."}
SCHEMA_SHOWN = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTIONS_SHOWN = [{"type": "function", "function": {**TOOL_SHOWN, "parameters": SCHEMA_SHOWN}}]


def maybe(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """The same fields, in each of which null means what its absence means."""
    return {name: _or_null(schema) for name, schema in properties.items()}


#: How much of the tools is shown, in requests of every protocol.
TOOL_MODES = {
    "tool_mode": word("full", "deferred", "direct", "auto"),
    "tool_session": text("A name for the conversation, for which fetched schemas are remembered.", maxLength=256),
}
DEFERRED = {"defer_loading": flag("Its schema is shown only once it is needed.")}


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    ``body``: the schema of its body, none where it takes none; ``answers``: the schema of its 200 by content type;
    ``errors``: the further statuses; ``path``: its parameters with what they are; ``example``: a body that it takes.
    """

    summary: str
    protocol: Protocol
    answers: Mapping[str, Schema]
    errors: tuple[int, ...] = DOORS
    body: Schema | None = None
    path: Mapping[str, str] | None = None
    statuses: tuple[int, ...] = (200,)
    example: Mapping[str, Any] | None = None

    def operation(self) -> dict[str, Any]:
        """It as an OpenAPI operation."""
        content = {kind: {"schema": schema} for kind, schema in self.answers.items()}
        responses: dict[str, Any] = {
            str(status): {"description": "Done.", **({"content": content} if content else {})}
            for status in self.statuses
        }
        for status in sorted({*self.errors, *(BODY if self.body is not None else ())} - set(self.statuses)):
            responses[str(status)] = _error(status, self.protocol)
        operation: dict[str, Any] = {"summary": self.summary, "tags": [self.summary.partition(":")[0]]}
        if self.path:
            operation["parameters"] = [
                {"name": name, "in": "path", "required": True, "description": said, "schema": text(minLength=1)}
                for name, said in self.path.items()
            ]
        if self.body is not None:
            shown = {"example": dict(self.example)} if self.example is not None else {}
            operation["requestBody"] = {"required": True, "content": {JSON: {"schema": self.body, **shown}}}
        return {**operation, "responses": responses}


#: The schema of an error's body, by protocol.
ERRORS: Mapping[Protocol, Schema] = {
    "openai": thing(
        {
            "error": thing(
                {
                    "message": text("One sentence with what to do."),
                    "type": text(),
                    "param": {"type": ["string", "null"]},
                    "code": {"type": ["string", "null"]},
                },
                ("message", "type", "param", "code"),
            )
        },
        ("error",),
    ),
    "anthropic": thing(
        {
            "type": {"const": "error"},
            "error": thing({"type": text(), "message": text("One sentence with what to do.")}, ("type", "message")),
        },
        ("type", "error"),
    ),
    "ollama": thing({"error": text("One sentence with what to do.")}, ("error",)),
}


def reference(protocol: Protocol) -> Schema:
    """Where the description has the schema of an error's body."""
    return {"$ref": f"#/components/schemas/error_{protocol}"}


def _error(status: int, protocol: Protocol) -> dict[str, Any]:
    said = _SAID.get(status) or HTTPStatus(status).phrase
    headers = {"headers": _AGAIN} if status in (429, 503) else {}
    return {"description": said, **headers, "content": {JSON: {"schema": reference(protocol)}}}


def _or_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else schema
