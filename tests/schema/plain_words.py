"""Schemas of the compiler's inside as plain JSON Schema, so that `jsonschema-rs` says what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from tacid.schema.flat import Flattener
from tacid.schema.keywords import ALSO, DATA, EXCEPT, FRACTION, NAMED, OURS, PRESENCE
from tacid.schema.refs import Resolver

#: Values of every type, of many sizes, with members and items of several kinds.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, -1, 0.5, 1.5, 2.5, 3.5, 1e20, "", "a", "b", "ab", "abc", "abcd"),
    *("x", "xy", "2020-01-01", [], [1], [2], [1, 1], [1, 2], ["a"], ["a", 1], [1, "a"], [1, 2, 3], [1, 2, 3, 4], [1, "a", None]),
    *([[]], [None], ["a", "b", "c"], {}, {"a": 1}, {"a": 5}, {"a": "x"}, {"b": 1}, {"b": "x"}, {"c": 1}, {"c": None}),
    *({"a": 1, "b": 1}, {"a": 5, "b": "x"}, {"a": "x", "b": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}, {"b": "x", "c": "x"}),
    *({"a": 1, "b": 1, "c": 1}, {"a": "x", "b": "x", "c": "x"}, {"x1": 1}, {"x1": "x"}, {"x1": 5, "a": 1}, {"ab": 1, "z": 2}),
    *({"a": {}}, {"a": {"b": 1}}, {"a": [1]}, {"a": 1, "b": 1, "c": 1, "d": 1}, {"d": 1}),
)  # fmt: skip


def in_plain_words(schema: Any) -> Any:
    """The schema without the compiler's own keywords; what only marks members or tells of losses is left out."""
    if not isinstance(schema, Mapping):
        return schema
    plain: dict[str, Any] = {}
    also: list[Any] = []
    for keyword, value in schema.items():
        if keyword in OURS:
            also += _ours(keyword, value)
        elif keyword in DATA:
            plain[keyword] = value
        elif keyword in NAMED:
            plain[keyword] = {name: in_plain_words(inner) for name, inner in value.items()}
        elif isinstance(value, list):
            plain[keyword] = [in_plain_words(inner) for inner in value]
        else:
            plain[keyword] = in_plain_words(value)
    if isinstance(plain.get("items"), list):
        # Words of older drafts, which the newest one doesn't know any more.
        plain["prefixItems"] = plain.pop("items")
        if "additionalItems" in plain:
            plain["items"] = plain.pop("additionalItems")
    if plain.pop("nullable", False) and "type" in plain:
        plain["type"] = [*([plain["type"]] if isinstance(plain["type"], str) else plain["type"]), "null"]
    for name, inner in plain.pop("dependencies", {}).items():
        also.append(
            {"dependentRequired": {name: inner}} if isinstance(inner, list) else {"dependentSchemas": {name: inner}}
        )
    return {"allOf": [plain, *also]} if also else plain


def _ours(keyword: str, value: Any) -> list[Any]:
    if keyword == EXCEPT:
        return [{"not": {"enum": value}}]
    if keyword == FRACTION:
        return [{"not": {"type": "integer"}}]
    if keyword == PRESENCE:
        return [{"anyOf": [{"not": {"type": "object"}}, formula(value)]}]
    return [in_plain_words(demand) for demand in value] if keyword == ALSO else []


def formula(value: Any) -> Any:
    """A formula over members, for objects."""
    if isinstance(value, bool):
        return value
    word, *parts = value
    if word == "key":
        return {"required": parts}
    if word == "other":
        return {"not": {"propertyNames": {"enum": parts[0]}}}
    if word == "not":
        return {"not": formula(parts[0])}
    return {{"and": "allOf", "or": "anyOf"}[word]: [formula(part) for part in parts]} if parts else word == "and"


def fitting(schema: Any, values: tuple[Any, ...] = VALUES) -> list[Any]:
    """The values that fit a schema."""
    oracle = jsonschema_rs.validator_for(in_plain_words(schema))
    return [value for value in values if oracle.is_valid(value)]


def flattener() -> Flattener:
    """Of a document without definitions."""
    return Flattener(Resolver({}), lambda: None)
