"""``anyOf``, ``oneOf`` and ``allOf``, each together with what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.catalogue import Schema
from tacid.grammar.context import Compiled, Nothing, Scope, assertions
from tacid.grammar.nodes import Gate, Node, Ref
from tacid.grammar.primitives import INTEGER, NULL, NUMBER, VALUE
from tacid.grammar.shapes import alt
from tacid.schema.merge import OPEN, exclusive, merge, type_list


def compile_any_of(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """One of the branches, each merged with the keywords beside ``anyOf``."""
    return _branches(scope, schema, pointer, "anyOf")


def compile_one_of(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """One of the branches; recorded as wider where it isn't plain that they exclude each other."""
    return _branches(scope, schema, pointer, "oneOf")


def compile_all_of(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """All parts merged into one schema; a part that can't be merged is dropped and recorded."""
    parts = schema["allOf"]
    if not isinstance(parts, list):
        scope.widen(pointer, "allOf", "this is no list of schemas")
        return scope.merged(assertions(schema, "allOf"), pointer)
    whole = scope.flat(schema)
    if whole is not None:
        return scope.merged(whole, pointer)
    merged: Schema = assertions(schema, "allOf")
    for index, part in enumerate(parts):
        inner = scope.flat(part)
        together = None if inner is None else merge(merged, inner)
        if together is None:
            scope.widen(
                f"{pointer}/allOf/{index}", "allOf", "this part can't be merged with the others, so it isn't held"
            )
            together = {**merged, OPEN: True} if isinstance(merged, Mapping) else merged
        merged = together
    return scope.merged(merged, pointer)


def _branches(scope: Scope, schema: Mapping[str, Any], pointer: str, keyword: str) -> Compiled:
    branches = schema[keyword]
    beside = assertions(schema, keyword)
    if not isinstance(branches, list) or not branches:
        scope.widen(pointer, keyword, "this is no list of schemas")
        return scope.merged(beside, pointer)
    options: list[Node] = []
    if beside.pop("nullable", None) is True:
        if "type" not in beside:
            options.append(NULL)
        else:
            beside["nullable"] = True
    nothing: Nothing | None = None
    whole: list[Any] = []
    for index, branch in enumerate(branches):
        place = f"{pointer}/{keyword}/{index}"
        branch, merged = _together(scope, beside, branch, place, keyword)
        compiled = scope.merged(branch, place) if merged else scope.node(branch, place)
        if isinstance(compiled, Nothing):
            nothing = nothing or compiled
            continue
        options.append(scope.small("alt", compiled))
        whole.append(branch)
    if not options:
        return nothing or Nothing(pointer, "no branch is left")
    if keyword == "oneOf" and len(whole) > 1 and not exclusive([_plain(scope, branch) for branch in whole]):
        scope.widen(pointer, keyword, "it isn't plain that the branches exclude each other, so any one is admitted")
    if VALUE in options:
        scope.discard()
        return VALUE
    if NUMBER in options and INTEGER in options:
        options.remove(INTEGER)
    gates = [option for option in options if isinstance(option, Gate)]
    if len(gates) > 1:
        # Whoever stands before a gate takes one list, so all lists that may stand here are one.
        options = [option for option in options if not isinstance(option, Gate)]
        options.append(scope.gate(alt(Ref(gate.name) for gate in gates), {}))
    return alt(options)


def _together(scope: Scope, beside: dict[str, Any], branch: Any, place: str, keyword: str) -> tuple[Any, bool]:
    """A branch with what stands beside its union, and whether that took a merge."""
    if not beside or not isinstance(branch, Mapping):
        return (beside, True) if beside and branch is True else (branch, False)
    inner = scope.flat(branch)
    if set(beside) == {"type"} and isinstance(inner, Mapping):
        allowed, types = type_list(beside), type_list(inner)
        if allowed is not None and types is not None and set(types) <= set(allowed):
            return branch, False
    merged = None if inner is None else merge(beside, inner)
    if merged is None:
        scope.widen(place, keyword, "this branch can't be merged with what stands beside the union")
        return {**branch, OPEN: True}, False
    return merged, True


def _plain(scope: Scope, branch: Any) -> Schema:
    flat = scope.flat(branch)
    return True if flat is None else flat
