"""BFCL's functions as OpenAI's tools: what its own handler for OpenAI endpoints makes of them, word for word.

A name loses its dots, ``dict`` is an object, ``float`` a number that says so, ``tuple`` an array, ``any`` a string;
every description says that the function is Python's. The checker takes the dots out of its names by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HINT = " Note that the provided function is in Python 3 syntax."
_FLOAT = " This is a float type value."


def tool_name(name: str) -> str:
    """The name as a tool has it."""
    return name.replace(".", "_")


def tool_of(function: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """The function as an entry of ``tools``; ``types`` is the package's table of types."""
    parameters = dict(function["parameters"])
    parameters["type"] = "object"
    parameters["properties"] = _properties(parameters["properties"], types)
    whole = {
        **function,
        "name": tool_name(function["name"]),
        "description": function["description"] + HINT,
        "parameters": parameters,
    }
    return {"type": "function", "function": whole}


def _properties(properties: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {key: _property(value, types) for key, value in properties.items()}


def _property(schema: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    cast = _below(schema, types)
    if schema.get("type") == "float":
        cast["format"] = "float"
        cast["description"] = schema.get("description", "") + _FLOAT
    return cast


def _below(schema: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """The schema with its type, and those below it, in JSON Schema's words."""
    cast = dict(schema)
    cast["type"] = types.get(schema.get("type", "string"), "string")
    if isinstance(schema.get("properties"), Mapping):
        cast["properties"] = _properties(schema["properties"], types)
    if isinstance(schema.get("items"), Mapping):
        cast["items"] = _below(schema["items"], types)
    return cast


__all__ = ["HINT", "tool_name", "tool_of"]
