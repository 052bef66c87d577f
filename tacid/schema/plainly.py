"""A schema that is too large, less whatever can be left out of it without refusing what fits: lists of values stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tacid.catalogue import Schema
from tacid.schema.refs import Resolver

#: Applicators whose schemas may each admit more.
_ONE = ("items", "additionalItems", "additionalProperties", "propertyNames")
_SEVERAL = ("items", "prefixItems", "allOf", "anyOf")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_CONDITION = ("if", "then", "else")
#: What says less, or another thing, once other parts admit more, or costs much by itself.
_DROPPED = frozenset(
    {"unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties", "dependentRequired"}
    | {"uniqueItems", "contains", "minContains", "maxContains", "oneOf", "not", *_CONDITION}
)


#: What stays of parts without a list of values: all but what multiplies, their type, or nothing.
Kept = Literal["parts", "types", "lists"]


def plainly(schema: Schema, resolver: Resolver, kept: Kept) -> Schema:
    """The schema without what multiplies (conditions, exclusions, counts of members), and with less of its parts.

    It is to be compiled with open objects. Parts that references lead to are looked into; where they lead round, they
    count as having a list.
    """
    if not isinstance(schema, Mapping):
        return schema
    return _Pruner(resolver, kept).kept(schema)


class _Pruner:
    def __init__(self, resolver: Resolver, kept: Kept) -> None:
        self._resolver = resolver
        self._kept = kept
        #: By identity; the values keep alive what these belong to.
        self._lists: dict[int, tuple[Any, bool]] = {}
        self._targets: dict[str, bool] = {}

    def pruned(self, schema: Any) -> Schema:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            return True
        if self._kept == "parts" or self.lists(schema):
            return self.kept(schema)
        return {k: schema[k] for k in ("type", "nullable") if k in schema} if self._kept == "types" else True

    def kept(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema with its parts pruned."""
        made: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _DROPPED:
                continue
            if keyword in ("dependentSchemas", "dependencies") and isinstance(value, Mapping):
                made[keyword] = {k: self.pruned(v) for k, v in value.items() if self.lists(v)}
            elif keyword in _NAMED and isinstance(value, Mapping):
                made[keyword] = {k: self.pruned(v) for k, v in value.items()}
            elif keyword in _SEVERAL and isinstance(value, list):
                made[keyword] = [self.pruned(one) for one in value]
            elif keyword in _ONE:
                made[keyword] = self.pruned(value)
            else:
                made[keyword] = value
        if isinstance(schema.get("oneOf"), list):
            # Branches that admit more may overlap.
            branches = {"anyOf": [self.pruned(one) for one in schema["oneOf"]]}
            made["allOf"] = [*made["allOf"], branches] if isinstance(made.get("allOf"), list) else [branches]
        condition = {word: schema[word] for word in _CONDITION if word in schema}
        # As it is: a test that admits more demands more. Definitions may admit more now.
        if self.lists([condition.get("then"), condition.get("else")]) and not _refers(condition):
            made.update(condition)
        if self._kept == "lists":
            self._drop_members(schema, made)
        return made

    def _drop_members(self, schema: Mapping[str, Any], made: dict[str, Any]) -> None:
        """Leave out members of which nothing is said any more, where others may come in their place."""
        members = made.get("properties")
        if not isinstance(members, dict) or self.lists(schema.get("additionalProperties")):
            return
        left = {key: inner for key, inner in members.items() if inner is not True}
        if len(left) < len(members):
            made["properties"] = left
            made["additionalProperties"] = True
            if isinstance(made.get("required"), list):
                made["required"] = [key for key in made["required"] if key in left]

    def lists(self, schema: Any) -> bool:
        """Whether a list of values stands anywhere in a schema, or in what it refers to."""
        if not isinstance(schema, (Mapping, list)):
            return False
        known = self._lists.get(id(schema))
        if known is None:
            known = self._lists[id(schema)] = (schema, self._look(schema))
        return known[1]

    def _look(self, schema: Mapping[str, Any] | list[Any]) -> bool:
        if isinstance(schema, list):
            return any(map(self.lists, schema))
        if isinstance(schema.get("enum"), list) or "const" in schema:
            return True
        ref = schema.get("$ref")
        if isinstance(ref, str):
            if ref not in self._targets:
                self._targets[ref] = True
                target = self._resolver.resolve(ref)
                self._targets[ref] = target is not None and self.lists(target[1])
            if self._targets[ref]:
                return True
        return any(self.lists(inner) for key, inner in schema.items() if key not in ("$defs", "definitions"))


def _refers(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_refers, schema))
    return isinstance(schema, Mapping) and ("$ref" in schema or any(map(_refers, schema.values())))


__all__ = ["Kept", "plainly"]
