"""``$ref``: a rule of its own, whose name is taken before its target is compiled, so that recursion ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.context import Compiled, Nothing, Scope, assertions
from tacid.grammar.primitives import VALUE
from tacid.jsontext import quote
from tacid.schema.keywords import OPEN, type_list
from tacid.schema.resources import as_written


def compile_ref(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """The target of a reference, merged with what stands beside it where the draft lets that count."""
    ref = schema["$ref"]
    target = scope.target(ref)
    if target is None:
        shown = quote(as_written(ref), shown=True) if isinstance(ref, str) else "which is no text"
        scope.widen(
            pointer,
            "$ref",
            f"the reference {shown} leads to nothing within this schema (nothing is ever fetched), so any JSON is"
            " admitted",
        )
        return VALUE
    circle = _circle(scope, schema)
    if circle:
        return _compile_circle(scope, schema, pointer, circle)
    beside = {} if scope.resolver.legacy else assertions(schema, "$ref")
    if not beside or _implied(scope, beside, target[1]):
        return scope.once(target[0], target[1], target[0])
    whole = scope.flat(schema)
    if isinstance(whole, Mapping):
        return scope.merged(whole, pointer)
    return VALUE if whole else Nothing(pointer, "what stands beside the reference contradicts its target")


def _opened(schema: Any) -> Any:
    """The schema with undeclared members possible, for where another schema beside it may declare some."""
    return {**schema, OPEN: True} if isinstance(schema, Mapping) else schema


def _circle(scope: Scope, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas on the way where references lead on to references until they come back; else nothing."""
    seen: set[str] = set()
    way: list[Mapping[str, Any]] = []
    place: Any = schema
    while isinstance(place, Mapping) and "$ref" in place:
        way.append(place)
        target = scope.target(place["$ref"])
        if target is None:
            return []
        if target[0] in seen:
            return way
        seen.add(target[0])
        place = target[1]
    return []


def _compile_circle(scope: Scope, schema: Mapping[str, Any], pointer: str, way: list[Mapping[str, Any]]) -> Compiled:
    """References that lead only to each other: nothing, where that is all there is; else what stands beside them."""
    reason = "the references lead only to each other"
    beside = {} if scope.resolver.legacy else assertions(schema, "$ref")
    # A type alone is what every tool's parameters have, and says nothing by itself.
    bare = scope.resolver.legacy or all(assertions(place, "$ref", "type") == {} for place in way)
    if scope.depth == 1 and bare:
        return Nothing(pointer, reason)
    scope.widen(pointer, "$ref", f"{reason}, so only what stands beside them is held")
    return scope.merged(_opened(beside), pointer) if beside else VALUE


def _implied(scope: Scope, beside: Mapping[str, Any], target: Any) -> bool:
    """Whether the target says already what stands beside the reference: a type, and nothing more."""
    if set(beside) != {"type"} or not isinstance(target, Mapping):
        return False
    allowed, types = type_list(beside), type_list(target)
    return allowed is not None and types is not None and set(types) <= set(allowed)
