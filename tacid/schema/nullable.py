"""OpenAPI's ``nullable``, said in JSON Schema's own words for those who know only these.

Source: OpenAPI 3.0.3, Schema Object: beside ``type`` it admits null. Beside a union, where people write it too, it is
taken to mean the same; elsewhere it means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.schema.keywords import DATA, NAMED


def nullable(schema: Any) -> bool:
    """Whether the word stands anywhere in a document."""
    waiting = [schema]
    while waiting:
        place = waiting.pop()
        if isinstance(place, Mapping):
            if place.get("nullable") is True:
                return True
            waiting.extend(place.values())
        elif isinstance(place, list):
            waiting.extend(place)
    return False


def with_null(schema: Any, *, named: bool = False) -> Any:
    """The document with ``null`` as a type, or as an alternative, where it is nullable; ``named``: its keys are names.

    Raises ``RecursionError`` for one that nests too deep.
    """
    if isinstance(schema, list):
        return [with_null(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {
        key: inner if not named and key in DATA else with_null(inner, named=not named and key in NAMED)
        for key, inner in schema.items()
    }
    if named or made.get("nullable") is not True:
        return made
    if "type" in made:
        kinds = made["type"] if isinstance(made["type"], list) else [made["type"]]
        return {**made, "type": kinds if "null" in kinds else [*kinds, "null"]}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(branches := made.get(keyword), list):
            union = {"anyOf": [*branches, {"type": "null"}]}
            return {**made, **(union if keyword == "anyOf" else {"oneOf": [_once(branches)]})}
    return made


def _once(branches: list[Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, {"oneOf": branches}]}


__all__ = ["nullable", "with_null"]
