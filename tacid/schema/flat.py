"""A schema without references and ``allOf`` at its top: everything that is said of one instance in one place.

What is left of ``allOf`` are applicators that met (see `tacid.schema.merge`), and schemas with ``unevaluated…`` and
applicators of their own, since these see only what stands within.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacid.catalogue import Schema
from tacid.schema.join_arrays import items_of
from tacid.schema.keywords import LOST, OPEN
from tacid.schema.merge import APPLICATORS, asserting, contained, join, settled
from tacid.schema.refs import Resolver

UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
#: References and parts within each other that are followed.
_MAX_DEPTH = 48


class Flattener:
    """Flattens the schemas of one document; ``tick`` is called for each one looked at, and may raise."""

    def __init__(self, resolver: Resolver, tick: Callable[[], None]) -> None:
        self._resolver = resolver
        self._tick = tick
        self._kept: dict[int, tuple[Any, Schema]] = {}

    def flat(self, schema: Any) -> Schema:
        """The flat schema; what can't be held is named in it under `LOST`."""
        kept = self._kept.get(id(schema))
        if kept is None or kept[0] is not schema:
            kept = self._kept[id(schema)] = (schema, self._flat(schema, frozenset(), 0))
        return kept[1]

    def _flat(self, schema: Any, seen: frozenset[str], depth: int) -> Schema:
        self._tick()
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return {LOST: [""], OPEN: True}
        own = asserting(schema)
        parts: list[Schema] = []
        if "$ref" in own:
            ref = own.pop("$ref")
            target = self._resolver.resolve(ref) if isinstance(ref, str) else None
            if target is None or target[0] in seen:
                part: Schema = {LOST: ["$ref"], OPEN: True}
            else:
                part = self._part(target[1], seen | {target[0]}, depth)
            if self._resolver.legacy:
                return part
            parts.append(part)
        listed = own.pop("allOf", [])
        parts += [self._part(part, seen, depth) for part in listed] if isinstance(listed, list) else [{LOST: ["allOf"]}]
        unevaluated = {k: own.pop(k) for k in UNEVALUATED if k in own}
        whole = settled(own)
        for part in parts:
            whole = join(whole, part)
        if not unevaluated or not isinstance(whole, Mapping):
            return whole
        if applicators(whole) or any(k in whole for k in DEPENDENT):
            return {**whole, **unevaluated}
        return evaluated(whole, unevaluated)

    def _part(self, schema: Any, seen: frozenset[str], depth: int) -> Schema:
        part = self._flat(schema, seen, depth + 1)
        return {"allOf": [part]} if isinstance(part, Mapping) and any(k in part for k in UNEVALUATED) else part


#: Keywords that apply schemas to the instance, by the members that it has.
DEPENDENT = ("dependentSchemas", "dependencies")


def applicators(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The applicators of a flat schema, each as a schema of its own."""
    found = [{k: schema[k]} for k in APPLICATORS if k in schema and k != "if"]
    if "if" in schema:
        found.append({k: schema[k] for k in ("if", "then", "else") if k in schema})
    return [*found, *schema.get("allOf", ())]


def without_applicators(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A flat schema less its applicators."""
    return {k: v for k, v in schema.items() if k not in (*APPLICATORS, "then", "else", "allOf")}


def evaluated(whole: Mapping[str, Any], unevaluated: Mapping[str, Any]) -> Schema:
    """A flat schema without applicators, with ``unevaluated…`` as what they come to: other members, further items."""
    left = dict(whole)
    if LOST in whole:
        # What isn't held may evaluate anything.
        return {**left, LOST: [*whole[LOST], *unevaluated], OPEN: True}
    if "unevaluatedProperties" in unevaluated:
        left.setdefault("additionalProperties", unevaluated["unevaluatedProperties"])
    if "unevaluatedItems" in unevaluated:
        first, _ = items_of(whole)
        further = "additionalItems" if isinstance(whole.get("items"), list) else "items"
        if "contains" in whole and further not in whole:
            # As draft 2020-12 has it: what is contained is evaluated.
            parts = [demand["contains"] for demand in contained(whole)]
            left["additionalItems" if isinstance(whole.get("items"), list) else "items"] = {
                "anyOf": [*parts, unevaluated["unevaluatedItems"]]
            }
        elif further not in whole:
            left.pop("items", None)
            left["items"] = unevaluated["unevaluatedItems"]
            if first:
                left["prefixItems"] = first
    return left


__all__ = ["DEPENDENT", "UNEVALUATED", "Flattener", "applicators", "evaluated", "without_applicators"]
