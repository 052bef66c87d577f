"""OpenAI's routes: the fields that are understood, and the shape of the answers. Source: OpenAI API reference."""

from __future__ import annotations

from tacid.api.described.parts import (
    DEFERRED,
    DOORS,
    ENGINE,
    EVENTS,
    FUNCTIONS_SHOWN,
    JSON,
    MESSAGES_SHOWN,
    MODEL_SHOWN,
    REPLY,
    SCHEMA_SHOWN,
    TOOL_MODES,
    TOOL_SHOWN,
    Route,
    Schema,
    either,
    event,
    flag,
    listed,
    maybe,
    number,
    text,
    thing,
    whole,
    word,
)

_INT32 = 2**31 - 1
MODEL = text("A served model or an alias (GET /v1/models); without it the one that is served.")
ANY_SCHEMA = thing(description="A JSON Schema.")
FUNCTION = thing(
    {
        "name": text("1 to 64 characters.", minLength=1),
        **maybe(
            {
                "description": text(),
                "parameters": ANY_SCHEMA,
                "strict": flag("Accepted; every call is held to its schema anyhow."),
                **DEFERRED,
            }
        ),
    },
    ("name",),
)
_TOOL = thing({"type": word("function"), "function": FUNCTION, **maybe(DEFERRED)}, ("type", "function"))
_NAMED = thing({"type": word("function"), "function": thing({"name": text()}, ("name",))}, ("type", "function"))
_ALLOWED = thing(
    {
        "type": word("allowed_tools"),
        "allowed_tools": thing({"mode": word("auto", "required"), "tools": listed(_NAMED)}, ("mode", "tools")),
    },
    ("type", "allowed_tools"),
)
_MODES = word("none", "auto", "required", "any")
_PARTS = listed(thing({"type": word("text"), "text": text()}, ("type", "text")))
_MESSAGE = thing(
    {
        "role": word("system", "developer", "user", "assistant", "tool", "function"),
        "content": either(text(), _PARTS, {"type": "null"}),
        **maybe({"tool_calls": listed(thing()), "tool_call_id": text(), "name": text()}),
    },
    ("role",),
)
_FORMAT = either(
    thing({"type": word("text", "json_object")}, ("type",)),
    thing(
        {"type": word("json_schema"), "json_schema": thing({"name": text(), "schema": ANY_SCHEMA}, ("schema",))},
        ("type", "json_schema"),
    ),
)
STOP = either(text(), listed(text(), maxItems=16), description="What ends the answer; never a call.")

_SAMPLING: dict[str, Schema] = {
    "temperature": number(0),
    "top_p": number(0, 1),
    "top_k": whole(-1, _INT32),
    "min_p": number(0, 1),
    "presence_penalty": number(-2, 2),
    "frequency_penalty": number(-2, 2),
    "repeat_penalty": number(0.01, 100),
    "seed": whole(),
    "stop": STOP,
    "logit_bias": {"type": "object", "additionalProperties": number(-100, 100), "description": "By token id."},
}
_STREAMING: dict[str, Schema] = {
    "stream": flag("Events instead of one body."),
    "stream_options": thing({"include_usage": flag()}),
}
_ONE = whole(1, 1, "One reply a request.")

_CHAT = thing(
    {
        "messages": listed(_MESSAGE, minItems=1),
        **maybe(
            {
                "model": MODEL,
                "tools": listed(_TOOL),
                "tool_choice": either(_MODES, _NAMED, _ALLOWED, description="Held by the grammar."),
                "parallel_tool_calls": flag("Two to eight calls in one reply are possible; off unless asked for."),
                "response_format": {**_FORMAT, "description": "Holds the answer, with tools and without."},
                "max_tokens": whole(1),
                "max_completion_tokens": whole(1),
                "n": _ONE,
                "reasoning_effort": text("none or minimal: the model doesn't think."),
                "grammar": text("GBNF of your own; not beside tools."),
                "json_schema": ANY_SCHEMA,
                "functions": listed(FUNCTION, "The older spelling of tools."),
                **TOOL_MODES,
                "function_call": either(word("none", "auto"), thing({"name": text()}, ("name",))),
                "chat_template_kwargs": thing({"enable_thinking": flag()}),
                **_STREAMING,
                **_SAMPLING,
            }
        ),
    },
    ("messages",),
)
_COMPLETION = thing(
    {
        "prompt": either(
            text(minLength=1), listed(whole(0, _INT32), minItems=1), description="One text, or token ids."
        ),
        **maybe(
            {
                "model": MODEL,
                "max_tokens": whole(1),
                "echo": flag("The text begins with the prompt."),
                "n": _ONE,
                "best_of": _ONE,
                "grammar": text("GBNF of your own."),
                **_STREAMING,
                **_SAMPLING,
            }
        ),
    },
    ("prompt",),
)
_TEXT_FORMAT = either(
    thing({"type": word("text", "json_object")}, ("type",)),
    thing({"type": word("json_schema"), "name": text(), "schema": ANY_SCHEMA}, ("type", "schema")),
)
_ITEM = either(
    thing(
        {
            "role": word("system", "developer", "user", "assistant"),
            "content": either(
                text(), listed(thing({"type": word("input_text", "output_text"), "text": text()}, ("type", "text")))
            ),
        },
        ("role", "content"),
    ),
    thing(
        {"type": word("function_call"), "call_id": text(), "name": text(), "arguments": text()},
        ("type", "call_id", "name", "arguments"),
    ),
    thing({"type": word("function_call_output"), "call_id": text(), "output": text()}, ("type", "call_id", "output")),
)
_RESPONSE = thing(
    {
        "input": either(text(minLength=1), listed(_ITEM, minItems=1)),
        **maybe(
            {
                "model": MODEL,
                "instructions": text(),
                "previous_response_id": text("A response of yours that is still kept."),
                "store": flag("Kept unless false."),
                "tools": listed(
                    thing(
                        {
                            "type": word("function"),
                            "name": text(minLength=1),
                            "parameters": ANY_SCHEMA,
                            **maybe(DEFERRED),
                        },
                        ("type", "name"),
                    )
                ),
                **TOOL_MODES,
                "tool_choice": either(_MODES, thing({"type": word("function"), "name": text()}, ("type", "name"))),
                "parallel_tool_calls": flag(),
                "text": thing({"format": _TEXT_FORMAT}),
                "reasoning": thing(maybe({"effort": word("none", "minimal", "low", "medium", "high", "xhigh", "max")})),
                "max_output_tokens": whole(1),
                "metadata": {"type": "object", "additionalProperties": text(), "maxProperties": 16},
                "stream": flag("Events instead of one body."),
                "temperature": number(0),
                "top_p": number(0, 1),
            }
        ),
    },
    ("input",),
)
_EMBEDDINGS = thing(
    {
        "input": either(
            text(minLength=1),
            listed(text(minLength=1), minItems=1, maxItems=2048),
            listed(whole(0), minItems=1, maxItems=2048),
            listed(listed(whole(0), minItems=1), minItems=1, maxItems=2048),
        ),
        **maybe({"model": MODEL, "encoding_format": word("float", "base64"), "dimensions": whole(1)}),
    },
    ("input",),
)

_USAGE = thing(
    {"prompt_tokens": whole(0), "completion_tokens": whole(0), "total_tokens": whole(0)},
    ("prompt_tokens", "completion_tokens", "total_tokens"),
)
_CALL = thing(
    {
        "id": text(minLength=1),
        "type": word("function"),
        "function": thing({"name": text(minLength=1), "arguments": text("JSON.")}, ("name", "arguments")),
    },
    ("id", "type", "function"),
)
_HEAD: dict[str, Schema] = {"id": text(), "created": whole(0), "model": text()}
_CHAT_REPLY = thing(
    {
        **_HEAD,
        "object": word("chat.completion"),
        "choices": listed(
            thing(
                {
                    "index": whole(0, 0),
                    "message": thing(
                        {
                            "role": word("assistant"),
                            "content": {"type": ["string", "null"]},
                            "reasoning_content": text(),
                            "tool_calls": listed(_CALL, minItems=1, maxItems=8),
                            "function_call": thing({"name": text(), "arguments": text()}, ("name", "arguments")),
                        },
                        ("role", "content"),
                    ),
                    "finish_reason": word("stop", "length", "tool_calls", "function_call"),
                },
                ("index", "message", "finish_reason"),
            ),
            minItems=1,
            maxItems=1,
        ),
        "usage": _USAGE,
        "timings": thing(description="The engine's own, in milliseconds."),
        "tacid": thing(description="What else there is to know, such as the calls that don't fit their schema."),
    },
    ("id", "object", "created", "model", "choices", "usage"),
)
_COMPLETION_REPLY = thing(
    {
        **_HEAD,
        "object": word("text_completion"),
        "choices": listed(
            thing(
                {
                    "index": whole(0, 0),
                    "text": text(),
                    "logprobs": {"type": "null"},
                    "finish_reason": word("stop", "length"),
                },
                ("index", "text", "finish_reason"),
            ),
            minItems=1,
            maxItems=1,
        ),
        "usage": _USAGE,
    },
    ("id", "object", "created", "model", "choices", "usage"),
)
_RESPONSE_REPLY = thing(
    {
        "id": text(),
        "object": word("response"),
        "created_at": {"type": "number"},
        "status": word("completed", "incomplete", "failed", "in_progress"),
        "model": text(),
        "output": listed(thing({"type": word("message", "function_call", "reasoning")}, ("type",))),
        "usage": either(
            thing(
                {"input_tokens": whole(0), "output_tokens": whole(0), "total_tokens": whole(0)},
                ("input_tokens", "output_tokens", "total_tokens"),
            ),
            {"type": "null"},
        ),
    },
    ("id", "object", "created_at", "status", "model", "output"),
)
_MODEL_REPLY = thing(
    {"id": text(), "object": word("model"), "created": whole(0), "owned_by": text(), "max_model_len": whole(0)},
    ("id", "object", "created", "owned_by"),
)
_EMBEDDINGS_REPLY = thing(
    {
        "object": word("list"),
        "data": listed(
            thing(
                {
                    "object": word("embedding"),
                    "index": whole(0),
                    "embedding": either(listed(number()), text("Little-endian floats of 32 bits, base64.")),
                },
                ("object", "index", "embedding"),
            )
        ),
        "model": text(),
        "usage": thing({"prompt_tokens": whole(0), "total_tokens": whole(0)}, ("prompt_tokens", "total_tokens")),
    },
    ("object", "data", "model", "usage"),
)
_STREAM = event("An event of the stream, the last of which is [DONE]; an error is an event of its own.")
_RESPONSE_STREAM = event("An event of the stream, response.created to response.completed.")
_KEPT = {"identity": "The id of a response that is kept."}

ROUTES: dict[tuple[str, str], Route] = {
    ("post", "/v1/chat/completions"): Route(
        "OpenAI: a reply to a conversation, with tools",
        "openai",
        {JSON: _CHAT_REPLY, EVENTS: _STREAM},
        (*DOORS, *REPLY),
        _CHAT,
        example={"model": MODEL_SHOWN, "messages": MESSAGES_SHOWN, "tools": FUNCTIONS_SHOWN},
    ),
    ("post", "/v1/completions"): Route(
        "OpenAI: a text continued; calls aren't intercepted",
        "openai",
        {JSON: _COMPLETION_REPLY, EVENTS: _STREAM},
        (*DOORS, *REPLY),
        _COMPLETION,
        example={"model": MODEL_SHOWN, "prompt": "Once upon a time"},
    ),
    ("post", "/v1/responses"): Route(
        "OpenAI: a response to input items",
        "openai",
        {JSON: _RESPONSE_REPLY, EVENTS: _RESPONSE_STREAM},
        (*DOORS, *REPLY),
        _RESPONSE,
        example={
            "model": MODEL_SHOWN,
            "input": "What is the weather in Oslo?",
            "tools": [{"type": "function", **TOOL_SHOWN, "parameters": SCHEMA_SHOWN}],
        },
    ),
    ("get", "/v1/responses/{identity}"): Route(
        "OpenAI: a response that is kept", "openai", {JSON: _RESPONSE_REPLY}, (*DOORS, 404, 500), path=_KEPT
    ),
    ("delete", "/v1/responses/{identity}"): Route(
        "OpenAI: a response is forgotten",
        "openai",
        {JSON: thing({"id": text(), "object": word("response"), "deleted": flag()}, ("id", "object", "deleted"))},
        (*DOORS, 404, 500),
        path=_KEPT,
    ),
    ("get", "/v1/models"): Route(
        "OpenAI: the served models",
        "openai",
        {JSON: thing({"object": word("list"), "data": listed(_MODEL_REPLY)}, ("object", "data"))},
        (*DOORS, *ENGINE),
    ),
    ("get", "/v1/models/{name}"): Route(
        "OpenAI: one served model",
        "openai",
        {JSON: _MODEL_REPLY},
        (*DOORS, 404, *ENGINE),
        path={"name": "A model's name; it may hold slashes."},
    ),
    ("post", "/v1/embeddings"): Route(
        "OpenAI: embeddings, where the engine has them",
        "openai",
        {JSON: _EMBEDDINGS_REPLY},
        (*DOORS, *REPLY),
        _EMBEDDINGS,
    ),
}
