"""The texts under which a JSON value is offered to a grammar.

A grammar may fix white space, the order of keys (as declared, or required ones first) and how characters beyond ASCII
and whole numbers are written, without being wrong, so a value counts as admitted when any of these texts is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_COMPACT = (",", ":")
_MAX_DEPTH = 60
_MAX_IN_PLACE = 30
_MAX_BRANCHES = 20


def texts(value: Any, schema: Any) -> list[tuple[str, str]]:
    """Names and texts, each text once, the most natural first."""
    orders = [("asis", value)]
    orders += [
        (name, ordered(value, [schema], schema, name == "required first"))
        for name in ("schema's order", "required first")
    ]
    found: dict[str, str] = {}
    for name, one in orders:
        found.setdefault(json.dumps(one, separators=_COMPACT, ensure_ascii=False), f"{name}/compact")
        found.setdefault(json.dumps(one, ensure_ascii=False), f"{name}/spaced")
    for name, one in orders:
        try:
            whole = json.dumps(_whole(one), separators=_COMPACT, ensure_ascii=False)
        except (OverflowError, ValueError):
            continue
        found.setdefault(whole, f"{name}/whole")
        found.setdefault(json.dumps(one, separators=_COMPACT), f"{name}/ascii")
    return [(name, text) for text, name in found.items()]


def ordered(value: Any, schemas: list[Any], root: Any, required_first: bool = False, depth: int = 0) -> Any:
    """The value with its keys as the schemas declare them; keys that none declares keep their order, at the end."""
    if depth > _MAX_DEPTH or not isinstance(value, (dict, list)):
        return value
    applied = [one for schema in schemas for one in _in_place(schema, root, value, frozenset(), 0)]
    if isinstance(value, list):
        return [
            ordered(item, _of_item(applied, index), root, required_first, depth + 1) for index, item in enumerate(value)
        ]
    declared = dict.fromkeys(key for one in applied for key in _mapping(one, "properties") if key in value)
    if required_first:
        needed = {key for one in applied for key in one.get("required") or () if isinstance(key, str)}
        declared = dict.fromkeys(sorted(declared, key=lambda key: key not in needed))
    return {
        key: ordered(value[key], _of_member(applied, key), root, required_first, depth + 1)
        for key in [*declared, *(key for key in value if key not in declared)]
    }


def _in_place(schema: Any, root: Any, value: Any, seen: frozenset[int], depth: int) -> list[Mapping[str, Any]]:
    """The schemas that apply to the value itself; of alternatives those first that know most of its keys."""
    if not isinstance(schema, dict) or depth > _MAX_IN_PLACE or id(schema) in seen:
        return []
    seen = seen | {id(schema)}
    found: list[Mapping[str, Any]] = [schema]
    parts = [_target(root, schema.get("$ref")), *_list(schema, "allOf")]
    for keyword in ("anyOf", "oneOf"):
        branches = [branch for branch in _list(schema, keyword) if isinstance(branch, dict)]
        if len(branches) > 1 and isinstance(value, dict):
            branches.sort(key=lambda branch: _fit(branch, root, value, seen, depth), reverse=True)
        parts += branches[:_MAX_BRANCHES]
    parts += [schema.get("then"), schema.get("else")]
    for part in parts:
        found += _in_place(part, root, value, seen, depth + 1)
    return found


def _fit(branch: Any, root: Any, value: dict[str, Any], seen: frozenset[int], depth: int) -> tuple[int, int, int]:
    applied = _in_place(branch, root, None, seen, depth + 1)
    keys = {key for one in applied for key in _mapping(one, "properties")}
    needed = {key for one in applied for key in one.get("required") or () if isinstance(key, str)}
    return -len(needed - set(value)), len(keys & set(value)), -len(keys - set(value))


def _of_item(applied: list[Mapping[str, Any]], index: int) -> list[Any]:
    found = []
    for one in applied:
        first, rest = one.get("prefixItems"), one.get("items")
        if isinstance(rest, list):
            first, rest = rest, one.get("additionalItems")
        found.append(first[index] if isinstance(first, list) and index < len(first) else rest)
    return found


def _of_member(applied: list[Mapping[str, Any]], key: str) -> list[Any]:
    found: list[Any] = []
    for one in applied:
        properties = _mapping(one, "properties")
        found.append(properties[key] if key in properties else one.get("additionalProperties"))
        found += _mapping(one, "patternProperties").values()
    return found


def _target(root: Any, ref: Any) -> Any:
    if ref == "#":
        return root
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    place = root
    for token in ref[2:].split("/"):
        token = token.replace("%25", "%").replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and token in place:
            place = place[token]
        elif isinstance(place, list) and token.isdigit() and int(token) < len(place):
            place = place[int(token)]
        else:
            return None
    return place


def _mapping(schema: Mapping[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value
