"""The keywords about items of two schemas as one: items one by one, then all further ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Both: TypeAlias = Callable[[Any, Any], Any]


def join_arrays(one: Mapping[str, Any], other: Mapping[str, Any], both: Both) -> tuple[dict[str, Any], list[str]]:
    """``prefixItems`` and ``items`` for both (of any draft), and which keywords couldn't be held."""
    lost = [k for k in ("unevaluatedItems",) if k in one or k in other]
    left, right = items_of(one), items_of(other)
    size = max(len(left[0]), len(right[0]))
    first = [both(_at(left, index), _at(right, index)) for index in range(size)]
    # An older document keeps its own words, since a draft is what all of a document is read by.
    old = any(isinstance(side.get("items"), list) for side in (one, other))
    words = ("items", "additionalItems") if old else ("prefixItems", "items")
    joined: dict[str, Any] = {words[0]: first} if first else {}
    rest = both(left[1], right[1])
    # What says true of further items has still evaluated them.
    if rest is not True or any(_says_of_further(side) for side in (one, other)):
        joined[words[1] if first else "items"] = rest
    return joined, lost


def items_of(schema: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The schemas of the first items, and that of all further ones."""
    for keyword, further in (("prefixItems", "items"), ("items", "additionalItems")):
        if isinstance(schema.get(keyword), list):
            return schema[keyword], schema.get(further, True)
    return [], schema.get("items", True)


def _says_of_further(schema: Mapping[str, Any]) -> bool:
    return "additionalItems" in schema if isinstance(schema.get("items"), list) else "items" in schema


def _at(items: tuple[list[Any], Any], index: int) -> Any:
    return items[0][index] if index < len(items[0]) else items[1]
