"""``$ref``: a rule of its own, whose name is taken before its target is compiled, so that recursion ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.context import Compiled, Nothing, Scope, assertions
from tacid.grammar.primitives import VALUE
from tacid.jsontext import quote
from tacid.schema.merge import OPEN, merge, type_list


def compile_ref(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """The target of a reference, merged with what stands beside it where the draft lets that count."""
    ref = schema["$ref"]
    target = scope.target(ref)
    if target is None:
        shown = quote(ref, shown=True) if isinstance(ref, str) else "which is no text"
        scope.widen(
            pointer,
            "$ref",
            f"the reference {shown} leads to nothing within this schema (nothing is ever fetched), so any JSON is"
            " admitted",
        )
        return VALUE
    if _circles(scope, schema):
        reason = "the references lead only to each other"
        if scope.depth == 1:
            return Nothing(pointer, reason)
        scope.widen(pointer, "$ref", f"{reason}, so any JSON is admitted")
        return VALUE
    beside = {} if scope.resolver.legacy else assertions(schema, "$ref")
    if not beside or _implied(scope, beside, target[1]):
        return scope.once(target[0], target[1], target[0])
    whole = scope.flat(schema)
    if whole is not None:
        return scope.merged(whole, pointer)
    inner = scope.flat(target[1])
    if inner is None or merge(beside, inner) is None:
        scope.widen(pointer, "$ref", "what stands beside the reference can't be merged into its target")
    return scope.once("open " + target[0], _opened(target[1]), target[0])


def _opened(schema: Any) -> Any:
    """The schema with undeclared members possible, for where another schema beside it may declare some."""
    return {**schema, OPEN: True} if isinstance(schema, Mapping) else schema


def _circles(scope: Scope, schema: Mapping[str, Any]) -> bool:
    """Whether references lead on to references until they come back, with nothing else on the way."""
    seen: set[str] = set()
    place: Any = schema
    while isinstance(place, Mapping) and "$ref" in place:
        target = scope.target(place["$ref"])
        if target is None:
            return False
        if target[0] in seen:
            return True
        seen.add(target[0])
        place = target[1]
    return False


def _implied(scope: Scope, beside: Mapping[str, Any], target: Any) -> bool:
    """Whether the target says already what stands beside the reference: a type, and nothing more."""
    if set(beside) != {"type"} or not isinstance(target, Mapping):
        return False
    allowed, types = type_list(beside), type_list(target)
    return allowed is not None and types is not None and set(types) <= set(allowed)
