"""When branches exclude each other plainly: by type, by value, by tag, by bounds, or by members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacid.catalogue import Schema
from tacid.deadline import check
from tacid.schema.keywords import TYPES, is_number, kind_of, same_key, type_list

_MAX_PRODUCT = 64
_RANGES: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "number": (
        ("minimum", "maximum", False),
        ("minimum", "exclusiveMaximum", True),
        ("exclusiveMinimum", "maximum", True),
        ("exclusiveMinimum", "exclusiveMaximum", True),
    ),
    "string": (("minLength", "maxLength", False),),
    "array": (("minItems", "maxItems", False),),
    "object": (("minProperties", "maxProperties", False),),
}


def exclusive(branches: Sequence[Schema]) -> bool:
    """Whether it is plain that no instance fits two of the branches: by type, by tag, or by a member that one
    needs and the other forbids. ``False`` where it isn't plain. Branches are looked at without their references.
    """
    if any(branch is True for branch in branches):
        return len(branches) == 1
    objects = [branch for branch in branches if isinstance(branch, Mapping)]
    if len(objects) > _MAX_PRODUCT:
        return _tagged(objects)
    return all(disjoint(a, b) for i, a in enumerate(objects) for b in objects[i + 1 :])


def disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether it is plain that no instance fits both."""
    check()
    left, right = _kinds(one), _kinds(other)
    shared = left & right
    if not shared:
        return True
    values = _values(one), _values(other)
    if values[0] is not None and values[1] is not None and not values[0] & values[1]:
        return True
    if _no_room(one, other, shared):
        return True
    if shared != {"object"}:
        return False
    if any(_forbids(b, key) for a, b in ((one, other), (other, one)) for key in _required(a)):
        return True
    properties = one.get("properties"), other.get("properties")
    if not isinstance(properties[0], Mapping) or not isinstance(properties[1], Mapping):
        return False
    for key in set(_required(one)) & set(_required(other)):
        tags = _values(properties[0].get(key)), _values(properties[1].get(key))
        if tags[0] is not None and tags[1] is not None and not tags[0] & tags[1]:
            return True
    return False


def _tagged(branches: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one required member tells all branches apart."""
    shared = set(_required(branches[0])).intersection(*(_required(branch) for branch in branches[1:]))
    for key in shared:
        seen: set[str] = set()
        for branch in branches:
            properties = branch.get("properties")
            tags = _values(properties.get(key)) if isinstance(properties, Mapping) else None
            if tags is None or tags & seen or _kinds(branch) != {"object"}:
                break
            seen |= tags
        else:
            return True
    return False


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    types = type_list(schema)
    if types is None:
        values = schema["enum"] if isinstance(schema.get("enum"), list) else None
        values = [schema["const"]] if "const" in schema else values
        if values is None:
            return {*TYPES} - {"integer"}
        return {kind_of(value) for value in values}
    return {"number" if kind == "integer" else kind for kind in types}


def _values(schema: Any) -> set[str] | None:
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return {same_key(schema["const"])}
    if isinstance(schema.get("enum"), list):
        return {same_key(value) for value in schema["enum"]}
    return None


def _required(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [key for key in required if isinstance(key, str)] if isinstance(required, list) else []


def _forbids(schema: Mapping[str, Any], key: str) -> bool:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key] is False
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _no_room(one: Mapping[str, Any], other: Mapping[str, Any], shared: set[str]) -> bool:
    """Whether the only type that both allow has bounds on one side that the other side's exclude."""
    if len(shared) != 1:
        return False
    for least, most, strict in _RANGES.get(next(iter(shared)), ()):
        for a, b in ((one, other), (other, one)):
            low, high = a.get(least), b.get(most)
            if is_number(low) and is_number(high) and (low > high or (strict and low == high)):
                return True
    return False


__all__ = ["disjoint", "exclusive"]
