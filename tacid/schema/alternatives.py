"""``not``, ``if`` and dependent schemas as alternatives: flat schemas of which an instance fits one or more.

What speaks of nothing but the members that an object has becomes a formula instead, which costs no alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from tacid.catalogue import Schema
from tacid.deadline import check
from tacid.schema.exclusive import exclusive
from tacid.schema.flat import DEPENDENT, UNEVALUATED, applicators, evaluated, without_applicators
from tacid.schema.keywords import LATE, LOST, OPEN, PRESENCE, same_key, type_list
from tacid.schema.merge import join
from tacid.schema.negate import negated
from tacid.schema.presence import negation, presence_of

#: Alternatives that one schema may become.
MAX_ALTERNATIVES = 128
#: Branches of a union of which all combinations are alternatives.
_MAX_COMBINED = 4

Flat = Callable[[Any], Schema]
Lose = Callable[[str], None]


def with_formulas(schema: Mapping[str, Any]) -> Schema:
    """A flat schema in which what speaks of the presence of members alone is one formula."""
    types = type_list(schema)
    left: dict[str, Any] = without_applicators(schema)
    found: Schema = True
    for keyword in ("dependentRequired", *DEPENDENT):
        members = left.pop(keyword, {})
        if not isinstance(members, Mapping):
            left[keyword] = members
            continue
        kept = {}
        for key, inner in members.items():
            presence = presence_of({keyword: {key: inner}})
            if presence is None:
                kept[key] = inner
            else:
                found = join(found, {PRESENCE: presence[0]})
        if kept:
            left[keyword] = kept
    kept_parts: list[dict[str, Any]] = []
    for part in applicators(schema):
        presence = presence_of(part, types)
        if presence is None:
            kept_parts.append(part)
        else:
            formula, other = presence
            found = join(found, {PRESENCE: formula} if other else {PRESENCE: formula, "type": "object"})
    whole = join(left, found)
    for part in kept_parts:
        whole = join(whole, {"allOf": [part]} if _sealed(part) else part)
    return whole


def split(schema: Schema, flat: Flat, lose: Lose) -> list[Schema]:
    """A flat schema as alternatives that have no ``not``, ``if`` or dependent schemas; ``lose`` is told what is left
    out. Unions stay."""
    waiting, done = [schema], list[Schema]()
    while waiting:
        check()
        one = waiting.pop()
        if isinstance(one, Mapping):
            one = with_formulas(one)
        if one is False:
            continue
        if not isinstance(one, Mapping):
            return [one]
        found = _first_split(one, flat, lose, len(waiting) + len(done))
        if found is None:
            done.append(one)
        else:
            waiting.extend(reversed(found))
    return _distinct(done)


def _first_split(one: Mapping[str, Any], flat: Flat, lose: Lose, others: int) -> list[Schema] | None:
    for keyword in DEPENDENT:
        if keyword in one:
            return _dependent(one, keyword, flat, lose, others)
    for keyword, alternatives in (("not", _negations), ("if", _conditions)):
        for part in applicators(one):
            if keyword not in part or _sealed(part):
                continue
            left = _without(one, part)
            if keyword == "if" and any(word in one for word in UNEVALUATED):
                part = {"then": True, **part}  # the test alone evaluates
            found, exact = alternatives(part, flat)
            joined = _joined(left, found, opened=keyword == "if") if found is not None else None
            if joined is None or others + len(joined) > MAX_ALTERNATIVES:
                lose(keyword)
                return [_opened(left)]
            if not exact:
                lose(keyword)
            return joined
    return None


def _negations(part: Mapping[str, Any], flat: Flat) -> tuple[list[Schema] | None, bool]:
    found = negated(part["not"], flat)
    return None if found is None else [_late(one, True) for one in found], True


def _conditions(part: Mapping[str, Any], flat: Flat) -> tuple[list[Schema] | None, bool]:
    if "then" not in part and "else" not in part:
        return [True], True
    then, otherwise = flat(part.get("then", True)), flat(part.get("else", True))
    met = join(then, _late(flat(part["if"]), then))
    contrary = negated(part["if"], flat)
    unmet = [join(otherwise, _late(one, otherwise)) for one in ([True] if contrary is None else contrary)]
    return [met, *unmet], contrary is not None


def _late(schema: Schema, known: Schema) -> Schema:
    """The schema, with the members that it speaks of and another doesn't marked as having no place in the order."""
    if not isinstance(schema, Mapping) or not isinstance(members := schema.get("properties"), Mapping):
        return schema
    declared = known.get("properties") if isinstance(known, Mapping) else None
    names = [name for name in members if not isinstance(declared, Mapping) or name not in declared]
    return {**schema, LATE: [*schema.get(LATE, ()), *names]} if names else schema


def _dependent(one: Mapping[str, Any], keyword: str, flat: Flat, lose: Lose, others: int) -> list[Schema]:
    members = one[keyword]
    left = {k: v for k, v in one.items() if k != keyword}
    types = type_list(one)
    if types is not None and "object" not in types:
        return [left]
    if not isinstance(members, Mapping) or others + 2 > MAX_ALTERNATIVES:
        lose(keyword)
        return [_opened(left)]
    key, *more = members
    if more:
        left[keyword] = {name: members[name] for name in more}
    inner = {"required": members[key]} if isinstance(members[key], list) else flat(members[key])
    without = join(left, {PRESENCE: negation(["key", key])})
    together = _joined(left, [join({"type": "object", "required": [key]}, inner)], opened=True)
    return [without, *together]


def _joined(left: Mapping[str, Any], found: list[Schema], *, opened: bool) -> list[Schema]:
    # Members that only a condition declares don't close what was open.
    beside = _opened(left) if opened and "properties" not in left else left
    return [joined for one in found if (joined := join(beside, _settled_late(one, left))) is not False]


def _settled_late(schema: Schema, left: Mapping[str, Any]) -> Schema:
    """The schema without the mark on members that stand beside it."""
    declared = left.get("properties")
    if not isinstance(schema, Mapping) or LATE not in schema or not isinstance(declared, Mapping):
        return schema
    names = [name for name in schema[LATE] if name not in declared or name in left.get(LATE, ())]
    return {**{k: v for k, v in schema.items() if k != LATE}, **({LATE: names} if names else {})}


def _opened(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, OPEN: True}


def _without(schema: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A flat schema less one of its applicators."""
    left = dict(schema)
    if "allOf" in left and any(one is part for one in left["allOf"]):
        left["allOf"] = [one for one in left["allOf"] if one is not part]
        if not left["allOf"]:
            del left["allOf"]
    else:
        for keyword in part:
            left.pop(keyword, None)
    return left


def _sealed(part: Mapping[str, Any]) -> bool:
    """Whether a part of an ``allOf`` has ``unevaluated…``, which see nothing of what stands beside it."""
    return any(keyword in part for keyword in UNEVALUATED)


def _distinct(schemas: list[Schema]) -> list[Schema]:
    return [*{same_key(schema): schema for schema in reversed(schemas)}.values()][::-1]


def expand(schema: Schema, flat: Flat, lose: Lose) -> list[Schema]:
    """A flat schema as alternatives without any applicator, in which ``unevaluated…`` see what each evaluates.

    Raises ``OverflowError`` where these are too many.
    """
    if _turns_round(schema):
        # Turned round, a condition declares members that it doesn't evaluate.
        for keyword in UNEVALUATED:
            if isinstance(schema, Mapping) and keyword in schema:
                lose(keyword)
    waiting, done, seen = [schema], list[Schema](), set[str]()
    while waiting:
        one = waiting.pop()
        for part in split(one, flat, lose):
            if not isinstance(part, Mapping):
                return [part]
            key = same_key(part)
            if key in seen:
                continue
            seen.add(key)
            unions = applicators(part)
            if not unions:
                unevaluated = {k: part[k] for k in UNEVALUATED if k in part}
                bare = {k: v for k, v in part.items() if k not in UNEVALUATED}
                done.append(evaluated(bare, unevaluated) if unevaluated else part)
                continue
            waiting.extend(reversed(_unions(part, unions[0], flat, lose)))
            if len(waiting) + len(done) > MAX_ALTERNATIVES:
                raise OverflowError
    return _distinct(done)


def _turns_round(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_turns_round, schema))
    return isinstance(schema, Mapping) and (
        "not" in schema or "if" in schema or any(map(_turns_round, schema.values()))
    )


def _unions(schema: Mapping[str, Any], part: Mapping[str, Any], flat: Flat, lose: Lose) -> list[Schema]:
    left = _without(schema, part)
    if _sealed(part):
        return [joined for one in expand(part, flat, lose) if (joined := join(left, one)) is not False]
    keyword = next(iter(part))
    branches = part[keyword]
    if keyword not in ("anyOf", "oneOf") or not isinstance(branches, list) or not branches:
        lose(keyword)
        return [{**left, LOST: [*left.get(LOST, ()), keyword]}]
    whole = [flat(branch) for branch in branches]
    groups: list[tuple[Schema, ...]] = [(one,) for one in whole]
    if not exclusive(whole):
        if keyword == "oneOf":
            lose(keyword)
        elif len(whole) > _MAX_COMBINED:
            raise OverflowError
        else:
            groups = [group for size in range(1, len(whole) + 1) for group in combinations(whole, size)]
    found: list[Schema] = []
    for group in groups:
        together: Schema = left
        for one in group:
            together = join(together, one)
        if together is not False:
            found.append(together)
    return found


__all__ = ["MAX_ALTERNATIVES", "expand", "split", "with_formulas"]
