"""Two schemas as one that admits what both admit, at the level of keywords.

`merge` never admits less than both; it gives ``None`` where one schema can't say it. Parts that meet (the same
property on both sides) become an ``allOf`` of two, for the compiler to merge when it gets there.
Neither schema may have a ``$ref`` at its top: resolve that first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacid.catalogue import Schema

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

#: Every keyword of drafts 4 to 2020-12 that can refuse an instance; the rest are annotations or unknown.
ASSERTING = frozenset(
    {
        "type",
        "enum",
        "const",
        "nullable",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "format",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "maxItems",
        "minItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    }
)

#: Set by a merge that had to drop a part: members that nobody declares must stay possible.
OPEN = "tacid:open"

_OBJECT = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_ARRAY = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_CONTAINS = ("contains", "minContains", "maxContains")
_IF = ("if", "then", "else")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_MAX_PRODUCT = 64


def type_list(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The types that ``type`` and ``nullable`` name, in their order; ``None`` where any will do.

    Names that JSON Schema doesn't know are left out here.
    """
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind
    if not isinstance(kinds, list):
        return None
    known = tuple(dict.fromkeys(k for k in kinds if isinstance(k, str) and k in TYPES))
    if not known and kinds:
        return None
    if schema.get("nullable") is True and "null" not in known:
        known = (*known, "null")
    return known


def same_key(value: Any) -> str:
    """Text that is equal for values which JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    return json.dumps(plain(value), sort_keys=True)


def plain(value: Any) -> Any:
    """The value with every number that is whole as an integer, which JSON Schema calls equal."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def merge(one: Schema, other: Schema) -> Schema | None:
    """One schema for both, or ``None`` where no keywords can say it. A part that can't be true gives ``False``."""
    if isinstance(one, bool) or isinstance(other, bool):
        if one is True or other is True:
            return other if one is True else one
        return False
    left = {k: v for k, v in one.items() if k in ASSERTING or k == OPEN}
    right = {k: v for k, v in other.items() if k in ASSERTING or k == OPEN}
    if not right or _same(left, right):
        return left
    if not left:
        return right
    bounds = [[side[k] for k in _BOUNDS if k in side] for side in (left, right)]
    if all(bounds) and any(isinstance(bound, bool) for bound in (*bounds[0], *bounds[1])):
        # Draft 4: a boolean belongs to the bound beside it, so the bounds can't be merged one by one.
        return None
    merged: dict[str, Any] = {}
    for group in (_OBJECT, _ARRAY, _CONTAINS, _IF):
        part = _merge_group(group, left, right)
        if part is None:
            return None
        merged.update(part)
    if not _merge_types(left, right, merged):
        return False
    if not _merge_values(left, right, merged):
        return False
    for keyword in dict.fromkeys((*left, *right)):
        if keyword in _GROUPED:
            continue
        if keyword not in right or keyword not in left:
            merged[keyword] = left[keyword] if keyword in left else right[keyword]
        elif same_key(left[keyword]) == same_key(right[keyword]):
            merged[keyword] = left[keyword]
        else:
            value = _JOINS.get(keyword, _no)(left[keyword], right[keyword])
            if value is None:
                return None
            merged[keyword] = value
    return merged


def exclusive(branches: Sequence[Schema]) -> bool:
    """Whether it is plain that no instance fits two of the branches: by type, by tag, or by a member that one
    needs and the other forbids. ``False`` where it isn't plain. Branches are looked at without their references.
    """
    if any(branch is True for branch in branches):
        return len(branches) == 1
    objects = [branch for branch in branches if isinstance(branch, Mapping)]
    if len(objects) > _MAX_PRODUCT:
        return _tagged(objects)
    return all(_disjoint(a, b) for i, a in enumerate(objects) for b in objects[i + 1 :])


def _disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    left, right = _kinds(one), _kinds(other)
    shared = left & right
    if not shared:
        return True
    values = _values(one), _values(other)
    if values[0] is not None and values[1] is not None and not values[0] & values[1]:
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
        return {_kind(value) for value in values}
    return {"number" if kind == "integer" else kind for kind in types}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


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


def _merge_group(keywords: tuple[str, ...], left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
    """The keywords of a group, which only have a meaning together."""
    one = {k: left[k] for k in keywords if k in left}
    other = {k: right[k] for k in keywords if k in right}
    if not one or not other or _same(one, other):
        return one or other
    if keywords is _OBJECT:
        return _merge_objects(one, other)
    if keywords is _ARRAY and set(one) == set(other) == {"items"}:
        if isinstance(one["items"], list) or isinstance(other["items"], list):
            return None
        return {"items": _both(one["items"], other["items"])}
    return None


def _merge_objects(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
    # Unevaluated members of the outer schema see what the inner one declares, not the other way round.
    if "unevaluatedProperties" in other or ("unevaluatedProperties" in one and "additionalProperties" in other):
        return None
    merged: dict[str, Any] = {}
    properties = one.get("properties", {}), other.get("properties", {})
    patterns = one.get("patternProperties", {}), other.get("patternProperties", {})
    if not all(isinstance(part, Mapping) for part in (*properties, *patterns)):
        return None
    if "properties" in one or "properties" in other:
        merged["properties"] = declared = dict(properties[0])
        for key, schema in properties[1].items():
            declared[key] = _both(properties[0][key], schema) if key in properties[0] else schema
        for side, rest in ((one, properties[1]), (other, properties[0])):
            # A pattern may apply instead of additionalProperties: then leaving it out is the wider way.
            if "additionalProperties" in side and not side.get("patternProperties"):
                for key in rest:
                    if key not in side.get("properties", {}):
                        declared[key] = _both(declared[key], side["additionalProperties"])
    if patterns[0] or patterns[1]:
        merged["patternProperties"] = together = dict(patterns[0])
        for pattern, schema in patterns[1].items():
            together[pattern] = _both(together[pattern], schema) if pattern in together else schema
    extras = [side["additionalProperties"] for side in (one, other) if "additionalProperties" in side]
    if extras:
        merged["additionalProperties"] = extras[0] if len(extras) == 1 else _both(*extras)
    if "unevaluatedProperties" in one:
        merged["unevaluatedProperties"] = one["unevaluatedProperties"]
    return merged


def _merge_types(left: Mapping[str, Any], right: Mapping[str, Any], merged: dict[str, Any]) -> bool:
    if "type" not in left or "type" not in right:
        merged.update({k: v for side in (left, right) if "type" in side for k, v in side.items() if k in _TYPE})
        return True
    one, other = type_list(left), type_list(right)
    if one is None or other is None:
        merged["type"] = right["type"] if one is None else left["type"]
        return True
    types = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    types += [kind for kind in other if kind == "integer" and "number" in one and kind not in types]
    merged["type"] = types[0] if len(types) == 1 else types
    return bool(types)


def _merge_values(left: Mapping[str, Any], right: Mapping[str, Any], merged: dict[str, Any]) -> bool:
    """Enumerations and constants of both sides; whether any value is left."""
    lists: list[list[Any]] = []
    for side in (left, right):
        if isinstance(side.get("enum"), list):
            lists.append(side["enum"])
        if "const" in side:
            lists.append([side["const"]])
    if not lists:
        return True
    common = set.intersection(*({same_key(value) for value in values} for values in lists))
    merged["enum"] = [value for value in lists[0] if same_key(value) in common]
    return bool(merged["enum"])


def _both(one: Schema, other: Schema) -> Schema:
    if isinstance(one, bool) or isinstance(other, bool):
        return bool(one and other) if isinstance(one, bool) and isinstance(other, bool) else _one_of(one, other)
    return one if _same(one, other) else {"allOf": [one, other]}


def _one_of(one: Schema, other: Schema) -> Schema:
    if one is False or other is False:
        return False
    return other if one is True else one


def _same(one: Any, other: Any) -> bool:
    # Python alone would call 1 and True equal.
    return bool(one == other) and same_key(one) == same_key(other)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _no(one: Any, other: Any) -> Any:
    return None


def _larger(one: Any, other: Any) -> Any:
    return max(one, other) if _number(one) and _number(other) else None


def _smaller(one: Any, other: Any) -> Any:
    return min(one, other) if _number(one) and _number(other) else None


def _united(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list):
        return None
    return [*one, *(item for item in other if item not in one)]


def _multiple(one: Any, other: Any) -> Any:
    if isinstance(one, int) and isinstance(other, int) and one > 0 and other > 0:
        return math.lcm(one, other)
    return None


def _product(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list) or len(one) * len(other) > _MAX_PRODUCT:
        return None
    # An instance fits one pair exactly if it fits one branch of each side, for oneOf too.
    return [_both(a, b) for a in one for b in other]


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "minimum": _larger,
    "exclusiveMinimum": _larger,
    "minLength": _larger,
    "minItems": _larger,
    "minProperties": _larger,
    "maximum": _smaller,
    "exclusiveMaximum": _smaller,
    "maxLength": _smaller,
    "maxItems": _smaller,
    "maxProperties": _smaller,
    "required": _united,
    "uniqueItems": lambda one, other: bool(one or other),
    "multipleOf": _multiple,
    "allOf": lambda one, other: [*one, *other] if isinstance(one, list) and isinstance(other, list) else None,
    "anyOf": _product,
    "oneOf": _product,
    "not": lambda one, other: {"anyOf": [one, other]},
    "propertyNames": _both,
    OPEN: lambda one, other: True,
}
_TYPE = ("type", "nullable")
_GROUPED = frozenset((*_OBJECT, *_ARRAY, *_CONTAINS, *_IF, *_TYPE, "enum", "const"))
