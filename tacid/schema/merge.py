"""Two schemas as one that admits what both admit, at the level of keywords.

`join` always gives one: applicators that meet stand side by side in an ``allOf`` of schemas that have nothing else,
and what no keywords can say is left out and named under `LOST`. `merge` is for those who need all or nothing.
Neither schema may have a ``$ref`` at its top: resolve that first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import gcd
from typing import Any

from tacid.catalogue import Schema
from tacid.deadline import check
from tacid.schema.join_arrays import join_arrays
from tacid.schema.join_objects import join_objects
from tacid.schema.keywords import (
    ALSO,
    ASSERTING,
    EXCEPT,
    FRACTION,
    LATE,
    LOST,
    OPEN,
    OURS,
    PRESENCE,
    TYPES,
    is_number,
    kind_of,
    plain,
    same,
    same_key,
    type_list,
)
from tacid.schema.presence import all_of, holds

_OBJECT = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_ARRAY = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_CONTAINS = ("contains", "minContains", "maxContains", ALSO)
_IF = ("if", "then", "else")
_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
#: Keywords that apply schemas to the instance itself; ``then`` and ``else`` go with ``if``.
APPLICATORS = ("not", "if", "anyOf", "oneOf", "$dynamicRef", "$recursiveRef")
_MAX_PRODUCT = 64
_KNOWN = ASSERTING | OURS
#: Keywords that hold no schemas: two schemas of nothing else are one at once.
_SCALAR = frozenset(
    {"type", "nullable", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "required"}
    | {"pattern", "format", EXCEPT, FRACTION, PRESENCE, OPEN}
)


def join(one: Schema, other: Schema) -> Schema:
    """One schema for both. A part that can't be true gives ``False``."""
    if isinstance(one, bool) or isinstance(other, bool):
        if one is True or other is True:
            return other if one is True else one
        return False
    check()
    left, right = asserting(one), asserting(other)
    if not right or same(left, right):
        return settled(left)
    if not left:
        return settled(right)
    # Most that contradict each other do so by their types or values, which takes least to see.
    types: dict[str, Any] = {}
    if not _join_types(left, right, types) or not _join_values(left, right, types):
        return False
    joined: dict[str, Any] = {}
    lost: dict[str, None] = {}
    for group, joiner in ((_OBJECT, join_objects), (_ARRAY, join_arrays), (_CONTAINS, _join_contains)):
        if not left.keys().isdisjoint(group) or not right.keys().isdisjoint(group):
            joined.update(_grouped(group, joiner, left, right, lost))
    joined.update(types)
    apart: list[dict[str, Any]] = []
    for keyword in dict.fromkeys((*left, *right)):
        if keyword in _GROUPED:
            continue
        if keyword not in right or keyword not in left:
            joined[keyword] = left[keyword] if keyword in left else right[keyword]
        elif keyword == "if":
            if any(not same(left.get(k, True), right.get(k, True)) for k in _IF):
                apart.append({k: right[k] for k in _IF if k in right})
            joined.update({k: left[k] for k in _IF if k in left})
        elif same(left[keyword], right[keyword]):
            joined[keyword] = left[keyword]
        elif keyword in APPLICATORS:
            joined[keyword] = left[keyword]
            apart.append({keyword: right[keyword]})
        else:
            value = _JOINS.get(keyword, _no)(left[keyword], right[keyword])
            if value is None:
                lost[keyword] = None
                value = left[keyword]
            joined[keyword] = value
    for side in (left, right):
        if "if" in side:
            joined.update({k: side[k] for k in ("then", "else") if k in side and joined["if"] is side["if"]})
    if apart:
        joined["allOf"] = _united(joined.get("allOf", []), apart)
    if lost:
        joined[LOST] = _united(joined.get(LOST, []), list(lost))
    return settled(joined)


def merge(one: Schema, other: Schema) -> Schema | None:
    """One schema for both, or ``None`` where no keywords can say it; unions that meet become one of all pairs."""
    if isinstance(one, bool) or isinstance(other, bool):
        return join(one, other)
    left, right = dict(one), dict(other)
    unions: dict[str, Any] = {}
    for keyword in ("anyOf", "oneOf", "not", "if"):
        words = _IF if keyword == "if" else (keyword,)
        if keyword in left and keyword in right and any(not same(left.get(k), right.get(k)) for k in words):
            joiner = {"not": lambda a, b: {"anyOf": [a, b]}, "if": _no}.get(keyword, _product)
            unions[keyword] = joiner(left.pop(keyword), right.pop(keyword))
            if unions[keyword] is None:
                return None
    joined = join(left, right)
    if not isinstance(joined, Mapping):
        return joined
    return None if LOST in joined or ALSO in joined else {**joined, **unions}


def both(one: Schema, other: Schema) -> Schema:
    """A schema for both: one at once where neither holds further schemas, else an ``allOf`` of them, each once."""
    if isinstance(one, bool) or isinstance(other, bool):
        if one is False or other is False:
            return False
        return other if one is True else one
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return {"allOf": [one, other]}  # no schema: to be recorded where it is compiled
    if same(one, other):
        return one
    if _SCALAR.issuperset(asserting(one)) and _SCALAR.issuperset(asserting(other)):
        joined = join(one, other)
        if not isinstance(joined, Mapping) or LOST not in joined:
            return joined
    parts: dict[str, Any] = {}
    for side in (one, other):
        for part in side["allOf"] if set(side) == {"allOf"} and isinstance(side["allOf"], list) else [side]:
            parts.setdefault(same_key(part), part)
    return {"allOf": [parts[key] for key in sorted(parts)]} if len(parts) > 1 else next(iter(parts.values()))


def asserting(schema: Mapping[str, Any], *, others: bool = False) -> dict[str, Any]:
    """The keywords of a schema that can refuse an instance (or all); draft 4's booleans beside bounds as bounds."""
    kept = dict(schema) if others else {k: v for k, v in schema.items() if k in _KNOWN}
    if "exclusiveMinimum" not in kept and "exclusiveMaximum" not in kept:
        return kept
    for bound, exclusive in _BOUNDS:
        if isinstance(kept.get(exclusive), bool) and kept.pop(exclusive) and bound in kept:
            kept[exclusive] = kept.pop(bound)
    return kept


def settled(schema: Schema) -> Schema:
    """The schema, or ``False`` where it is plain that nothing fits it."""
    if not isinstance(schema, Mapping):
        return schema
    types = type_list(schema)
    if types == () or schema.get("enum") == []:
        return False
    properties, required = schema.get("properties"), schema.get("required")
    formula = schema.get(PRESENCE)
    if isinstance(required, list) and (isinstance(properties, Mapping) or formula is not None):
        names = [key for key in required if isinstance(key, str)]
        forbidden = isinstance(properties, Mapping) and any(properties.get(key, True) is False for key in names)
        if not forbidden and formula is not None:
            parts = formula[1:] if isinstance(formula, list) and formula[0] == "and" else [formula]
            forbidden = any(part is False or part in [["not", ["key", key]] for key in names] for part in parts)
        if forbidden:
            return without_objects(schema, types)
    return schema


def without_objects(schema: Mapping[str, Any], types: tuple[str, ...] | None) -> Schema:
    """The schema for what is no object."""
    kinds = [kind for kind in (TYPES if types is None else types) if kind != "object"]
    if types is None:
        kinds.remove("integer")
    kept = {k: v for k, v in schema.items() if k not in (*_OBJECT, "required", PRESENCE, "type", "nullable")}
    return {**kept, "type": kinds} if kinds else False


def _grouped(
    keywords: tuple[str, ...], joiner: Any, left: Mapping[str, Any], right: Mapping[str, Any], lost: dict[str, None]
) -> dict[str, Any]:
    """The keywords of a group, which only have a meaning together."""
    one = {k: left[k] for k in keywords if k in left}
    other = {k: right[k] for k in keywords if k in right}
    if not one or not other or same(one, other):
        return one or other
    joined, missed = joiner(one, other, both)
    lost.update(dict.fromkeys(missed))
    return dict(joined)


def _join_contains(one: Mapping[str, Any], other: Mapping[str, Any], both: Any) -> tuple[dict[str, Any], list[str]]:
    found: dict[str, dict[str, Any]] = {}
    for demand in (*contained(one), *contained(other)):
        key = same_key(demand["contains"])
        known = found.get(key)
        found[key] = demand if known is None else _both_counts(known, demand)
    first, *others = found.values() or [{}]
    return {**first, **({ALSO: others} if others else {})}, []


def _both_counts(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {"contains": one["contains"]}
    for word, pick in (("minContains", max), ("maxContains", min)):
        counts = [side.get(word, 1) for side in (one, other) if word in side or word == "minContains"]
        # What is no count is left to be recorded where it is compiled.
        odd = [count for count in counts if not is_number(count)]
        if counts:
            joined[word] = odd[0] if odd else pick(counts)
    return joined


def contained(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an array must contain: schemas of ``contains`` with its bounds alone."""
    own = {k: schema[k] for k in ("contains", "minContains", "maxContains") if k in schema}
    return [*([own] if "contains" in own else ()), *schema.get(ALSO, ())]


def _join_types(left: Mapping[str, Any], right: Mapping[str, Any], joined: dict[str, Any]) -> bool:
    if "type" not in left and "type" not in right and (left.get("nullable") or right.get("nullable")):
        joined["nullable"] = True
    if "type" not in left or "type" not in right:
        joined.update({k: v for side in (left, right) if "type" in side for k, v in side.items() if k in _TYPE})
        return True
    one, other = type_list(left), type_list(right)
    if one is None or other is None:
        joined["type"] = right["type"] if one is None else left["type"]
        return True
    types = [kind for kind in one if kind in other or (kind == "integer" and "number" in other)]
    types += [kind for kind in other if kind == "integer" and "number" in one and kind not in types]
    joined["type"] = types[0] if len(types) == 1 else types
    return bool(types)


def _join_values(left: Mapping[str, Any], right: Mapping[str, Any], joined: dict[str, Any]) -> bool:
    """Enumerations and constants of both sides, less what doesn't fit plainly; whether any value is left."""
    lists: list[list[Any]] = []
    for side in (left, right):
        if isinstance(side.get("enum"), list):
            lists.append(side["enum"])
        if "const" in side:
            lists.append([side["const"]])
    if not lists:
        return True
    common = set.intersection(*({same_key(value) for value in values} for values in lists))
    common -= {same_key(value) for side in (left, right) for value in side.get(EXCEPT, ())}
    types = type_list(joined)
    joined["enum"] = [
        value
        for value in lists[0]
        if same_key(value) in common and (types is None or fits_type(value, types)) and fits_ours(value, left, right)
    ]
    return bool(joined["enum"])


def fits_type(value: Any, types: tuple[str, ...]) -> bool:
    """Whether a value has one of the types."""
    return kind_of(value) in types or ("integer" in types and is_number(value) and isinstance(plain(value), int))


def fits_ours(value: Any, *sides: Mapping[str, Any]) -> bool:
    """Whether a value fits the keywords of our own that schemas carry."""
    for side in sides:
        if side.get(FRACTION) and is_number(value) and isinstance(plain(value), int):
            return False
        if PRESENCE in side and isinstance(value, Mapping) and not holds(side[PRESENCE], set(value)):
            return False
        if EXCEPT in side and same_key(value) in {same_key(one) for one in side[EXCEPT]}:
            return False
    return True


def _no(one: Any, other: Any) -> Any:
    return None


def _larger(one: Any, other: Any) -> Any:
    return max(one, other) if is_number(one) and is_number(other) else None


def _smaller(one: Any, other: Any) -> Any:
    return min(one, other) if is_number(one) and is_number(other) else None


def _united(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list):
        return None
    return [*{same_key(item): item for item in (*other[::-1], *one[::-1])}.values()][::-1]


def _multiple(one: Any, other: Any) -> Any:
    if not is_number(one) or not is_number(other) or one <= 0 or other <= 0:
        return None
    left, right = Fraction(repr(one)), Fraction(repr(other))
    below = left.denominator * right.denominator // gcd(left.denominator, right.denominator)
    a, b = int(left * below), int(right * below)
    least = Fraction(a * b // gcd(a, b), below)
    if least.denominator == 1:
        return int(least)
    return float(least) if Fraction(repr(float(least))) == least else None


def _pattern(one: Any, other: Any) -> Any:
    if not isinstance(one, str) or not isinstance(other, str):
        return None
    return f"^(?=[\\s\\S]*(?:{one}))(?=[\\s\\S]*(?:{other}))"


def _maps(one: Any, other: Any) -> Any:
    """Objects from a name to a list of names or a schema, as one."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return None
    joined = dict(one)
    for key, value in other.items():
        if key not in joined:
            joined[key] = value
        elif isinstance(joined[key], list) and isinstance(value, list):
            joined[key] = _united(joined[key], value)
        else:
            joined[key] = both(_as_schema(joined[key]), _as_schema(value))
    return joined


def _as_schema(value: Any) -> Any:
    return {"required": value} if isinstance(value, list) else value


def _product(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list) or len(one) * len(other) > _MAX_PRODUCT:
        return None
    # An instance fits one pair exactly if it fits one branch of each side, for oneOf too.
    return [both(a, b) for a in one for b in other]


_JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
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
    "pattern": _pattern,
    "allOf": _united,
    "propertyNames": both,
    "dependentRequired": _maps,
    "dependentSchemas": _maps,
    "dependencies": _maps,
    EXCEPT: _united,
    LATE: _united,
    LOST: _united,
    FRACTION: lambda one, other: True,
    PRESENCE: lambda one, other: all_of([one, other]),
    OPEN: lambda one, other: True,
}
_TYPE = ("type", "nullable")
_GROUPED = frozenset((*_OBJECT, *_ARRAY, *_CONTAINS, "then", "else", *_TYPE, "enum", "const"))

__all__ = [
    "APPLICATORS",
    "ASSERTING",
    "OPEN",
    "TYPES",
    "both",
    "contained",
    "join",
    "merge",
    "plain",
    "same_key",
    "type_list",
]
