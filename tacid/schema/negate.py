"""``not`` as alternatives without it: an instance fits one of them exactly where it doesn't fit the schema.

Every keyword speaks of some types alone, so what it refuses has one of these types and a bound turned round, another
value, an item or a member that doesn't fit. What can't be turned round gives ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeAlias

from tacid.catalogue import Schema
from tacid.schema.keywords import ALSO, EXCEPT, FRACTION, LATE, LOST, OPEN, PRESENCE, count_of, is_number, type_list
from tacid.schema.merge import contained, join
from tacid.schema.presence import MAX_PARTS, negation, presence_of

#: Schemas within schemas that are turned round.
_MAX_DEPTH = 12
_ALL = ("object", "array", "string", "number", "boolean", "null")

Flat: TypeAlias = Callable[[Any], Schema]
Alternatives: TypeAlias = "list[Schema] | None"


def negated(schema: Any, flat: Flat, depth: int = 0) -> Alternatives:
    """The alternatives to a schema; ``flat`` gives a schema without references at its top."""
    if depth > _MAX_DEPTH or not isinstance(schema, (bool, Mapping)):
        return None
    schema = flat(schema)
    if isinstance(schema, bool):
        return [] if schema else [True]
    if LOST in schema:
        return None
    presence = presence_of(schema)
    if presence is not None:
        formula, other = presence
        alternatives: list[Schema] = [{"type": "object", PRESENCE: negation(formula)}] if formula is not True else []
        return alternatives if other else [*alternatives, {"type": list(_ALL[1:])}]
    found: list[Schema] = []
    for keyword in schema:
        reader = _NEGATIONS.get(keyword)
        if reader is None:
            if keyword in _SILENT:
                continue
            return None
        part = reader(schema, keyword, flat, depth + 1)
        if part is None or len(found) + len(part) > MAX_PARTS:
            return None
        found.extend(one for one in part if one is not False)
    return [True] if True in found else found


def conjunction(lists: list[list[Schema]]) -> Alternatives:
    """Alternatives of which an instance fits one exactly where it fits one of each list."""
    found: list[Schema] = [True]
    for one in lists:
        joined = (join(a, b) for a in found for b in one)
        found = [*islice((schema for schema in joined if schema is not False), MAX_PARTS + 1)]
        if len(found) > MAX_PARTS:
            return None
    return found


def _type(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    types = type_list(schema)
    if types is None:
        return None
    others: list[Schema] = []
    kinds = [kind for kind in _ALL if kind not in types and not (kind == "number" and "integer" in types)]
    if kinds:
        others.append({"type": kinds})
    if "integer" in types and "number" not in types:
        others.append({"type": "number", FRACTION: True})
    return others


def _values(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    values = [schema["const"]] if keyword == "const" else schema["enum"]
    return [{EXCEPT: values}] if isinstance(values, list) else None


def _bound(kind: str, contrary: str, step: int = 0) -> _Negation:
    def turned(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
        value = schema[keyword] if kind == "number" else count_of(schema[keyword])
        if not is_number(value):
            return None
        return [{"type": kind, contrary: value + step}] if kind == "number" or value + step >= 0 else []

    return turned


def _pattern(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    pattern = schema["pattern"]
    return [{"type": "string", "pattern": f"^(?![\\s\\S]*(?:{pattern}))"}] if isinstance(pattern, str) else None


def _properties(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    members = schema["properties"]
    if not isinstance(members, Mapping):
        return None
    found: list[Schema] = []
    for key, inner in members.items():
        others = negated(inner, flat, depth)
        if others is None:
            return None
        if others == [True]:
            found.append({"type": "object", "required": [key]})
        elif others:
            other = others[0] if len(others) == 1 else {"anyOf": others}
            found.append({"type": "object", "required": [key], "properties": {key: other}})
    return found


def _required(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    presence = presence_of({keyword: schema[keyword]})
    return None if presence is None else [{"type": "object", PRESENCE: negation(presence[0])}]


def _additional(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    if schema[keyword] is True or schema[keyword] == {}:
        return []
    members = schema.get("properties", {})
    if schema[keyword] is False and not schema.get("patternProperties") and isinstance(members, Mapping):
        return [{"type": "object", PRESENCE: ["other", list(members)]}]
    return None


def _dependent(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    if not isinstance(schema[keyword], Mapping):
        return None
    found: list[Schema] = []
    for key, inner in schema[keyword].items():
        inner = (
            {"required": inner}
            if isinstance(inner, list)
            else {"required": [inner]}
            if isinstance(inner, str)
            else inner
        )
        others = negated(inner, flat, depth)
        if others is None:
            return None
        found.extend(join({"type": "object", "required": [key]}, other) for other in others)
    return found


def _items(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    if "prefixItems" in schema or isinstance(schema["items"], list) or not isinstance(schema["items"], (bool, Mapping)):
        return None
    others = negated(schema["items"], flat, depth)
    return [] if others == [] else [{"type": "array", "contains": {"not": schema["items"]}}]


def _contains(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    found: list[Schema] = []
    for part in contained(schema) if keyword == "contains" else ():
        inner = part["contains"]
        least, most = count_of(part.get("minContains", 1)), count_of(part.get("maxContains", 0))
        if least is None or most is None:
            return None
        if least == 1:
            others = negated(inner, flat, depth)
            found.append({"type": "array", "items": False if others == [] else {"not": inner}})
        elif least:
            found.append({"type": "array", "contains": inner, "minContains": 0, "maxContains": least - 1})
        if "maxContains" in part:
            found.append({"type": "array", "contains": inner, "minContains": most + 1})
    return found


def _all_of(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    found: list[Schema] = []
    for part in schema["allOf"]:
        others = negated(part, flat, depth)
        if others is None:
            return None
        found.extend(others)
    return found


def _any_of(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    branches = schema[keyword]
    if not isinstance(branches, list) or not branches or len(branches) > MAX_PARTS:
        return None
    lists: list[list[Schema]] = []
    for branch in branches:
        others = negated(branch, flat, depth)
        if others is None:
            return None
        lists.append(others)
    found = conjunction(lists)
    if keyword == "anyOf" or found is None or len(branches) == 1:
        return found
    # Not exactly one: none, or two.
    if len(branches) > 3:
        return None
    pairs = [join(flat(a), flat(b)) for index, a in enumerate(branches) for b in branches[index + 1 :]]
    return [*found, *pairs]


def _not(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    inner = schema["not"]
    return [flat(inner)] if isinstance(inner, (bool, Mapping)) else None


def _condition(schema: Mapping[str, Any], keyword: str, flat: Flat, depth: int) -> Alternatives:
    if "then" not in schema and "else" not in schema:
        return []
    test = schema["if"]
    contrary = negated(test, flat, depth)
    then, otherwise = (negated(schema.get(word, True), flat, depth) for word in ("then", "else"))
    if contrary is None or then is None or otherwise is None:
        return None
    met, unmet = conjunction([[flat(test)], then]), conjunction([contrary, otherwise])
    return None if met is None or unmet is None else [*met, *unmet]


_Negation: TypeAlias = "Callable[[Mapping[str, Any], str, Flat, int], Alternatives]"
_NEGATIONS: Mapping[str, _Negation] = {
    "type": _type,
    "enum": _values,
    "const": _values,
    EXCEPT: lambda schema, keyword, flat, depth: [{"enum": schema[EXCEPT]}],
    FRACTION: lambda schema, keyword, flat, depth: [{"type": "integer"}],
    PRESENCE: _required,
    "required": _required,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "properties": _properties,
    "additionalProperties": _additional,
    "minimum": _bound("number", "exclusiveMaximum"),
    "exclusiveMinimum": _bound("number", "maximum"),
    "maximum": _bound("number", "exclusiveMinimum"),
    "exclusiveMaximum": _bound("number", "minimum"),
    "minLength": _bound("string", "maxLength", -1),
    "maxLength": _bound("string", "minLength", 1),
    "minItems": _bound("array", "maxItems", -1),
    "maxItems": _bound("array", "minItems", 1),
    "minProperties": _bound("object", "maxProperties", -1),
    "maxProperties": _bound("object", "minProperties", 1),
    "pattern": _pattern,
    "items": _items,
    "contains": _contains,
    ALSO: _contains,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _any_of,
    "not": _not,
    "if": _condition,
}
#: Keywords that refuse nothing by themselves. A format is a note, which an instance can't fail.
_SILENT = frozenset({"nullable", "then", "else", OPEN, LATE, "minContains", "maxContains"})

__all__ = ["conjunction", "negated"]
