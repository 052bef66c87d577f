"""Ollama's routes: the fields that are understood, and the shape of the answers. Source: Ollama's docs/api.md."""

from __future__ import annotations

from tacid.api.described.openai import ANY_SCHEMA, FUNCTION, STOP
from tacid.api.described.parts import (
    DOORS,
    ENGINE,
    FUNCTIONS_SHOWN,
    JSON,
    LINES,
    MESSAGES_SHOWN,
    MODEL_SHOWN,
    PLAIN,
    REPLY,
    TOOL_MODES,
    Route,
    Schema,
    either,
    flag,
    listed,
    maybe,
    number,
    text,
    thing,
    whole,
    word,
)

_MODEL = text("A served model or an alias, with its tag or without (GET /api/tags).", minLength=1)
_NAMED = thing({"model": _MODEL}, ("model",))
_OPTIONS = thing(
    maybe(
        {
            "temperature": number(0),
            "top_p": number(0, 1),
            "top_k": whole(),
            "min_p": number(0, 1),
            "presence_penalty": number(),
            "frequency_penalty": number(),
            "repeat_penalty": number(0.01, 100),
            "seed": whole(),
            "stop": STOP,
            "num_predict": whole(description="The most tokens; nought and below for as many as there is room for."),
            "num_ctx": whole(0, description="Refused where it is more than is served."),
        }
    )
)
_KEEP = either(
    number(),
    text("A duration such as 5m."),
    description="The engine rests so long after its last use; 0 at once, below nothing never.",
)
_COMMON: dict[str, Schema] = {
    "stream": flag("Lines instead of one body; true unless said otherwise."),
    "format": either(word("json"), ANY_SCHEMA, description="Holds the answer."),
    "options": _OPTIONS,
    "think": either(flag(), word("low", "medium", "high", "max")),
    "keep_alive": _KEEP,
}
_MESSAGE = thing(
    {
        "role": word("system", "developer", "user", "assistant", "tool"),
        **maybe({"content": text(), "tool_calls": listed(thing()), "tool_name": text()}),
    },
    ("role",),
)
_CHAT = thing(
    {
        "model": _MODEL,
        **maybe(
            {
                "messages": listed(_MESSAGE, "None: the model is only loaded, or let go."),
                "tools": listed(thing({"type": word("function"), "function": FUNCTION}, ("type", "function"))),
                **TOOL_MODES,
                **_COMMON,
            }
        ),
    },
    ("model",),
)
_GENERATE = thing(
    {
        "model": _MODEL,
        **maybe({"prompt": text(), "system": text(), "raw": flag("The prompt as it is."), **_COMMON}),
    },
    ("model",),
)

_DURATIONS = {
    name: whole(0)
    for name in (
        "total_duration",
        "load_duration",
        "prompt_eval_count",
        "prompt_eval_duration",
        "eval_count",
        "eval_duration",
    )
}
_DONE = {
    "model": text(),
    "created_at": text(format="date-time"),
    "done": {"const": True},
    "done_reason": word("stop", "length", "load", "unload"),
    **_DURATIONS,
}
_CALLS = listed(
    thing({"function": thing({"name": text(minLength=1), "arguments": thing()}, ("name", "arguments"))}, ("function",))
)
_CHAT_REPLY = thing(
    {
        **_DONE,
        "message": thing(
            {"role": word("assistant"), "content": text(), "thinking": text(), "tool_calls": _CALLS},
            ("role", "content"),
        ),
    },
    (*_DONE, "message"),
)
_GENERATE_REPLY = thing({**_DONE, "response": text(), "thinking": text()}, (*_DONE, "response"))
_DETAILS = thing(
    {
        "format": text(),
        "family": text(),
        "families": listed(text()),
        "parameter_size": text(),
        "quantization_level": text(),
    },
    ("format", "family", "parameter_size", "quantization_level"),
)
_ENTRY = {"name": text(), "model": text(), "size": whole(0), "digest": text(), "details": _DETAILS}
_TAGS = thing({"models": listed(thing({**_ENTRY, "modified_at": text(format="date-time")}, (*_ENTRY, "modified_at")))})
_PS = thing(
    {
        "models": listed(
            thing(
                {**_ENTRY, "expires_at": text(format="date-time"), "size_vram": whole(0), "context_length": whole(0)},
                (*_ENTRY, "expires_at", "size_vram"),
            ),
            "None while the engine rests.",
        )
    },
    ("models",),
)
_SHOWN = thing(
    {
        "details": _DETAILS,
        "model_info": thing(),
        "capabilities": listed(text()),
        "modified_at": text(format="date-time"),
        "template": text(),
        "parameters": text(),
        "license": text(),
    },
    ("details", "model_info", "capabilities"),
)
_STATUS = thing({"status": text(), "digest": text(), "total": whole(0), "completed": whole(0)}, ("status",))
_LINE = text("One JSON object a line, the last with done: true; an error is a line with error.")
_VECTOR = listed(number())

#: Routes that change models. None of them is done here, whatever is sent.
REFUSED: dict[tuple[str, str], str] = {
    ("post", "/api/create"): "Models aren't made here",
    ("post", "/api/copy"): "Models aren't copied here; further names are model.aliases of the server",
    ("delete", "/api/delete"): "Models aren't removed for clients",
    ("post", "/api/push"): "Models aren't published from here",
    ("head", "/api/blobs/{digest}"): "Files aren't taken from clients",
    ("post", "/api/blobs/{digest}"): "Files aren't taken from clients",
}


def _refused(method: str, path: str, why: str) -> Route:
    parameters = {"digest": "The SHA-256 of a file."} if "{digest}" in path else None
    return Route(
        f"Ollama: refused ({why[0].lower()}{why[1:]})", "ollama", {}, (*DOORS, 408, 413, 429), None, parameters, ()
    )


ROUTES: dict[tuple[str, str], Route] = {
    ("get", "/"): Route("Ollama: a sign of life", "openai", {PLAIN: text()}),
    ("head", "/"): Route("Ollama: a sign of life", "openai", {}),
    ("get", "/api/version"): Route(
        "Ollama: the version of its protocol that is spoken",
        "ollama",
        {JSON: thing({"version": text(), "tacid": text()}, ("version",))},
    ),
    ("get", "/api/tags"): Route("Ollama: the served models", "ollama", {JSON: _TAGS}, (*DOORS, *ENGINE)),
    ("get", "/api/ps"): Route("Ollama: the loaded models", "ollama", {JSON: _PS}, (*DOORS, *ENGINE)),
    ("post", "/api/show"): Route("Ollama: what a model is", "ollama", {JSON: _SHOWN}, (*DOORS, 404, *ENGINE), _NAMED),
    ("post", "/api/chat"): Route(
        "Ollama: a message in reply, with tools",
        "ollama",
        {JSON: _CHAT_REPLY, LINES: _LINE},
        (*DOORS, *REPLY),
        _CHAT,
        example={"model": MODEL_SHOWN, "messages": MESSAGES_SHOWN, "tools": FUNCTIONS_SHOWN},
    ),
    ("post", "/api/generate"): Route(
        "Ollama: a reply to a prompt",
        "ollama",
        {JSON: _GENERATE_REPLY, LINES: _LINE},
        (*DOORS, *REPLY),
        _GENERATE,
        example={"model": MODEL_SHOWN, "prompt": "Why is the sky blue?"},
    ),
    ("post", "/api/embed"): Route(
        "Ollama: embeddings, where the engine has them",
        "ollama",
        {
            JSON: thing(
                {
                    "model": text(),
                    "embeddings": listed(_VECTOR),
                    "total_duration": whole(0),
                    "prompt_eval_count": whole(0),
                },
                ("model", "embeddings"),
            )
        },
        (*DOORS, *REPLY),
        thing(
            {
                "model": _MODEL,
                "input": either(text(), listed(text(minLength=1), maxItems=2048)),
                **maybe({"dimensions": whole(1), "keep_alive": _KEEP, "options": thing()}),
            },
            ("model", "input"),
        ),
    ),
    ("post", "/api/embeddings"): Route(
        "Ollama: the older spelling of the same",
        "ollama",
        {JSON: thing({"embedding": _VECTOR}, ("embedding",))},
        (*DOORS, *REPLY),
        thing({"model": _MODEL, **maybe({"prompt": text(), "keep_alive": _KEEP, "options": thing()})}, ("model",)),
    ),
    ("post", "/api/pull"): Route(
        "Ollama: a pinned model is fetched, where server.pull allows it",
        "ollama",
        {JSON: _STATUS, LINES: text("One JSON object a line, the last with status: success.")},
        (*DOORS, 404, 500, 502),
        thing({"model": text("A pin's name.", minLength=1), **maybe({"stream": flag()})}, ("model",)),
    ),
    **{(method, path): _refused(method, path, why) for (method, path), why in REFUSED.items()},
}
