"""A tool as the prompt shows it: one line of JSON, cut to a budget, nothing in it that reads as a marker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacid.catalogue import Tool
from tacid.jsontext import dumps

#: Characters of a tool's own description that are shown, and of a description inside its schema.
MAX_DESCRIPTION = 1024
MAX_INNER_DESCRIPTION = 256
#: Values of one enum that are shown. The grammar always has them all.
MAX_ENUM = 48
#: Characters of one tool's line; beyond it the schema is shown with less and less.
MAX_LINE = 16_384

#: Keywords whose value maps names to schemas, holds one schema, or holds a list of schemas (JSON Schema 2020-12).
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SINGLE = (
    "items", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "contains",
    "propertyNames", "not", "if", "then", "else",
)  # fmt: skip
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
#: What tells a model nothing: generators write a title for every member.
_SILENT = ("title", "$schema", "$comment", "$id", "discriminator", "example", "examples")


def tool_line(tool: Tool) -> str:
    """One tool as one line of canonical JSON: name, description, parameters; at most about `MAX_LINE` characters.

    Characters that could be taken for a marker, or can't be seen, are escapes (`jsontext.shown_escaped`), in names,
    descriptions, keys and values alike.
    """
    for level in _LEVELS:
        shown = level(tool.parameters)
        line = dumps(
            {"name": tool.name, **_description(tool.description, MAX_DESCRIPTION), "parameters": shown}, shown=True
        )
        if len(line) <= MAX_LINE:
            break
    return line


def cut(text: str, limit: int) -> str:
    """``text``, or its beginning and an ellipsis: at most ``limit`` characters, cut between words where one is near."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ", limit * 3 // 4)
    return (head[:space] if space > 0 else head).rstrip() + "…"


def _description(text: str, limit: int) -> dict[str, str]:
    return {"description": short} if (short := cut(text, limit)) else {}


def _shown(schema: Any, depth: int, description: int, enum: int) -> Any:
    """A schema without what is silent, its texts and enums cut; below ``depth`` only its type."""
    if not isinstance(schema, Mapping):
        return schema
    if depth <= 0:
        return {key: schema[key] for key in ("type", "$ref") if isinstance(schema.get(key), str)}
    shown: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _SILENT:
            continue
        if key == "description":
            if isinstance(value, str):
                shown.update(_description(value, description))
        elif key in _NAMED and isinstance(value, Mapping):
            shown[key] = {name: _shown(inner, depth - 1, description, enum) for name, inner in value.items()}
        elif key in _LISTED and isinstance(value, list):
            shown[key] = [_shown(inner, depth - 1, description, enum) for inner in value]
        elif key in _SINGLE:
            shown[key] = _shown(value, depth - 1, description, enum)
        elif key == "enum" and isinstance(value, list) and len(value) > enum:
            shown[key] = value[:enum]
            shown["$comment"] = f"and {len(value) - enum:,} more"
        else:
            shown[key] = value
    return shown


def _only_names(schema: Mapping[str, Any]) -> dict[str, Any]:
    members = schema.get("properties")
    names = [cut(name, 64) for name in members][:64] if isinstance(members, Mapping) else []
    return {"type": "object", "properties": dict.fromkeys(names, True)}


def _level(depth: int, description: int, enum: int) -> Callable[[Mapping[str, Any]], Any]:
    return lambda schema: _shown(schema, depth, description, enum)


_LEVELS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    _level(24, MAX_INNER_DESCRIPTION, MAX_ENUM),
    _level(24, 0, 16),
    _level(6, 0, 8),
    _level(3, 0, 4),
    _only_names,
)
