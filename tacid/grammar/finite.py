"""Schemas that few values fit: these values, counted out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tacid.catalogue import Schema
from tacid.grammar.context import Scope
from tacid.grammar.values import checked
from tacid.schema.flat import UNEVALUATED, applicators
from tacid.schema.keywords import LOST, is_number, same_key, type_list

#: Whole numbers between two bounds that are counted out.
MAX_RANGE = 64
#: Unions within each other that are followed.
_MAX_DEPTH = 4


def finite(scope: Scope, schema: Any) -> list[Any] | None:
    """Every value that fits a schema, each once; ``None`` where it isn't plain which these are."""
    whole = scope.flat(schema)
    if whole is False:
        return []
    listed = _listed(scope, whole, _MAX_DEPTH)
    if listed is None or not isinstance(whole, Mapping) or any(keyword in whole for keyword in UNEVALUATED):
        return None
    return checked(scope, whole, [*{same_key(value): value for value in reversed(listed)}.values()][::-1])


def _listed(scope: Scope, schema: Schema, depth: int) -> list[Any] | None:
    """Values of which those that fit a flat schema are some."""
    if not isinstance(schema, Mapping) or LOST in schema:
        return None if schema is not False else []
    listed = schema.get("enum")
    if "const" in schema:
        return [schema["const"]] if not isinstance(listed, list) or _among(schema["const"], listed) else []
    if isinstance(listed, list):
        return list(listed)
    types = type_list(schema)
    if types is not None:
        parts = [_of_type(kind, schema) for kind in types]
        if None not in parts:
            return [value for part in parts for value in part or ()]
    for part in applicators(schema) if depth else ():
        branches = part.get("anyOf", part.get("oneOf"))
        if isinstance(branches, list):
            found = [_listed(scope, scope.flat(branch), depth - 1) for branch in branches]
            if None not in found:
                return [value for one in found for value in one or ()]
    return None


def _among(value: Any, listed: list[Any]) -> bool:
    return same_key(value) in map(same_key, listed)


def _of_type(kind: str, schema: Mapping[str, Any]) -> list[Any] | None:
    if kind == "null":
        return [None]
    if kind == "boolean":
        return [True, False]
    if kind != "integer":
        return None
    low = [schema[word] for word in ("minimum", "exclusiveMinimum") if is_number(schema.get(word))]
    high = [schema[word] for word in ("maximum", "exclusiveMaximum") if is_number(schema.get(word))]
    # A bound that is no number compares as false.
    if not low or not high or not min(high) - max(low) <= MAX_RANGE:
        return None
    return list(range(math.ceil(max(low)), math.floor(min(high)) + 1))


__all__ = ["finite"]
