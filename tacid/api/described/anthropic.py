"""Anthropic's routes: the fields that are understood, and the shape of the answers. Source: Anthropic API reference."""

from __future__ import annotations

from tacid.api.described.openai import ANY_SCHEMA, MODEL
from tacid.api.described.parts import (
    DEFERRED,
    DOORS,
    EVENTS,
    JSON,
    MESSAGES_SHOWN,
    MODEL_SHOWN,
    REPLY,
    SCHEMA_SHOWN,
    TOOL_MODES,
    TOOL_SHOWN,
    Route,
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

_BLOCK = either(
    thing({"type": word("text"), "text": text()}, ("type", "text")),
    thing({"type": word("tool_use"), "id": text(), "name": text(), "input": thing()}, ("type", "id", "name", "input")),
    thing({"type": word("tool_result"), "tool_use_id": text(), "content": text()}, ("type", "tool_use_id")),
)
_WORDS = listed(thing({"type": word("text"), "text": text()}, ("type", "text")))
_COMMON = {
    "messages": listed(
        thing(
            {"role": word("user", "assistant", "system"), "content": either(text(), listed(_BLOCK))},
            ("role", "content"),
        ),
        "The last is no assistant's.",
        minItems=1,
    ),
    **maybe(
        {
            "model": MODEL,
            "system": either(text(), _WORDS),
            "tools": listed(
                thing(
                    {
                        "name": text(minLength=1),
                        "input_schema": ANY_SCHEMA,
                        **maybe({"description": text(), **DEFERRED}),
                    },
                    ("name", "input_schema"),
                )
            ),
            **TOOL_MODES,
            "tool_choice": either(
                thing({"type": word("auto", "any", "none"), "disable_parallel_tool_use": flag()}, ("type",)),
                thing({"type": word("tool"), "name": text(minLength=1)}, ("type", "name")),
            ),
            "thinking": either(
                thing({"type": word("disabled", "adaptive")}, ("type",)),
                thing({"type": word("enabled"), "budget_tokens": whole(0)}, ("type",)),
            ),
            "output_config": thing(
                {"format": thing({"type": word("json_schema"), "schema": ANY_SCHEMA}, ("type", "schema"))}
            ),
        }
    ),
}
_MESSAGES = thing(
    {
        **_COMMON,
        "max_tokens": whole(1),
        **maybe(
            {
                "temperature": number(0, 2),
                "top_p": number(0, 1),
                "top_k": whole(0, 2**31 - 1),
                "stop_sequences": listed(text(), maxItems=64),
                "stream": flag("Events instead of one body."),
            }
        ),
    },
    ("max_tokens", "messages"),
)
_REPLY = thing(
    {
        "id": text(),
        "type": word("message"),
        "role": word("assistant"),
        "model": text(),
        "content": listed(
            either(
                thing({"type": word("text"), "text": text()}, ("type", "text")),
                thing({"type": word("thinking"), "thinking": text(), "signature": text()}, ("type", "thinking")),
                thing(
                    {"type": word("tool_use"), "id": text(minLength=1), "name": text(minLength=1), "input": thing()},
                    ("type", "id", "name", "input"),
                ),
            )
        ),
        "stop_reason": word("end_turn", "tool_use", "max_tokens", "stop_sequence"),
        "stop_sequence": {"type": ["string", "null"]},
        "usage": thing({"input_tokens": whole(0), "output_tokens": whole(0)}, ("input_tokens", "output_tokens")),
    },
    ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"),
)

ROUTES: dict[tuple[str, str], Route] = {
    ("post", "/v1/messages"): Route(
        "Anthropic: a message in reply",
        "anthropic",
        {JSON: _REPLY, EVENTS: event("An event of the stream, message_start to message_stop.")},
        (*DOORS, *REPLY),
        _MESSAGES,
        example={
            "model": MODEL_SHOWN,
            "max_tokens": 512,
            "messages": MESSAGES_SHOWN,
            "tools": [{**TOOL_SHOWN, "input_schema": SCHEMA_SHOWN}],
        },
    ),
    ("post", "/v1/messages/count_tokens"): Route(
        "Anthropic: the tokens that a request would read",
        "anthropic",
        {JSON: thing({"input_tokens": whole(0)}, ("input_tokens",))},
        (*DOORS, *REPLY),
        thing(_COMMON, ("messages",)),
    ),
}
