"""``anyOf``, ``oneOf``, ``allOf``, ``not`` and ``if``, each together with what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tacid.catalogue import Schema
from tacid.grammar.content import content_key
from tacid.grammar.context import Compiled, Nothing, Scope, assertions
from tacid.grammar.nodes import Gate, Node, Ref
from tacid.grammar.primitives import INTEGER, NULL, NUMBER, VALUE
from tacid.grammar.shapes import alt
from tacid.grammar.values import compile_values
from tacid.schema.alternatives import expand, split
from tacid.schema.exclusive import disjoint, exclusive
from tacid.schema.flat import UNEVALUATED, applicators
from tacid.schema.keywords import OPEN, same_key, type_list
from tacid.schema.merge import join
from tacid.schema.negate import negated

#: Alternatives that one branch of ``oneOf`` may become, so that it excludes the others.
MAX_EXCLUDED = 24


def compile_combined(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A schema with keywords that apply others to the same instance: as alternatives, each compiled as one schema."""
    whole = scope.flat(schema)
    if not isinstance(whole, Mapping):
        return VALUE if whole else Nothing(pointer, "what is demanded contradicts itself")
    if "enum" in whole or "const" in whole:
        return compile_values(scope, whole, pointer)
    scope.discard()
    lose = scope.lose(pointer)
    if any(keyword in whole for keyword in UNEVALUATED):
        try:
            found = expand(whole, scope.flat, lose)
        except OverflowError:
            for keyword in UNEVALUATED:
                if keyword in whole:
                    lose(keyword)
            found = split({**{k: v for k, v in whole.items() if k not in UNEVALUATED}, OPEN: True}, scope.flat, lose)
    else:
        found = split(whole, scope.flat, lose)
    if len(found) != 1:
        return _choice(scope, [(one, pointer, True) for one in found], pointer)
    (one,) = found
    if isinstance(one, Mapping) and applicators(one):
        return compile_union(scope, one, pointer)
    return scope.merged(one, pointer)


def compile_union(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """One of the branches of a flat schema's first union, each merged with all that stands beside it."""
    part = applicators(schema)[0]
    keyword = next(iter(part))
    branches = part[keyword]
    inner = schema.get("allOf")
    if part.keys() <= schema.keys():
        beside = assertions(schema, *part)
    else:
        assert isinstance(inner, list)
        beside = {**assertions(schema, "allOf"), **({"allOf": inner[1:]} if len(inner) > 1 else {})}
    if any(word in part for word in UNEVALUATED):
        return _choice(scope, _sealed(scope, beside, part, pointer), pointer)
    if keyword not in ("anyOf", "oneOf") or not isinstance(branches, list) or not branches:
        scope.lose(pointer)(keyword)
        return scope.merged({**beside, OPEN: True}, pointer)
    nullable = False
    if beside.get("nullable") is True and "type" not in beside:
        nullable = beside.pop("nullable")
    options = [
        (*_together(scope, beside, branch, index), f"{pointer}/{keyword}/{index}")
        for index, branch in enumerate(branches)
    ]
    if keyword == "oneOf" and len(branches) > 1:
        options = _one_of(scope, beside, branches, options, pointer)
    return _choice(scope, [(one, place, merged) for one, merged, place in options], pointer, nullable=nullable)


def _together(scope: Scope, beside: dict[str, Any], branch: Any, index: int) -> tuple[Any, bool]:
    """A branch with what stands beside its union, and whether that took a merge."""
    if not beside:
        return branch, False
    if not isinstance(branch, Mapping):
        return (beside, True) if branch is True else (branch, False)
    inner = scope.flat(branch)
    if set(beside) == {"type"} and isinstance(inner, Mapping):
        allowed, types = type_list(beside), type_list(inner)
        if allowed is not None and types is not None and set(types) <= set(allowed):
            return branch, False
    return join(beside, inner), True


def _sealed(scope: Scope, beside: dict[str, Any], part: Mapping[str, Any], pointer: str) -> list[_Option]:
    """What stands beside a schema whose ``unevaluated…`` see only what is within it."""
    lose = scope.lose(pointer)
    try:
        found = expand(part, scope.flat, lose)
    except OverflowError:
        for keyword in UNEVALUATED:
            if keyword in part:
                lose(keyword)
        found = [{**{k: v for k, v in part.items() if k not in UNEVALUATED}, OPEN: True}]
    return [(joined, pointer, True) for one in found if (joined := join(beside, one)) is not False]


def _one_of(
    scope: Scope, beside: dict[str, Any], branches: list[Any], options: list[tuple[Any, bool, str]], pointer: str
) -> list[tuple[Any, bool, str]]:
    """Branches as they are where they exclude each other, else each as alternatives that fit no other branch."""
    whole = [scope.flat(one) for one, _, _ in options]
    if exclusive(whole):
        return options
    found: list[tuple[Any, bool, str]] = []
    contrary: dict[int, _Counted | None] = {}
    exact = True
    for index, (one, merged, place) in enumerate(options):
        left: _Counted = [(whole[index], 1)]
        touched = False
        for other, against in enumerate(whole):
            # One that meets nothing beside the union excludes nothing.
            if other == index or against is False:
                continue
            if isinstance(against, Mapping) and all(isinstance(a, Mapping) and disjoint(a, against) for a, _ in left):
                continue
            scope.tick()
            if other not in contrary:
                turned = negated(branches[other], scope.flat)
                contrary[other] = None if turned is None else _counted((one, 1) for one in turned)
            against_it = contrary[other]
            narrowed = None if against_it is None else _counted(_joined(left, against_it), MAX_EXCLUDED)
            if narrowed is None:
                exact = False
                continue
            left, touched = narrowed, True
        if touched:
            found.extend((alternative, True, place) for alternative, _ in left)
        else:
            found.append((one, merged, place))
    if not exact:
        scope.widen(pointer, "oneOf", "it isn't plain that the branches exclude each other, so any one is admitted")
    return found


def _joined(left: _Counted, right: _Counted) -> Iterator[tuple[Schema, int]]:
    for a, times in left:
        for b, often in right:
            joined = join(a, b)
            if joined is not False:
                yield joined, times * often


def _counted(schemas: Iterable[tuple[Schema, int]], most: int | None = None) -> _Counted | None:
    """Each schema once, ``None`` for more than ``most``; alternatives to branches are alike more often than not."""
    found: dict[Any, tuple[Schema, int]] = {}
    number = 0
    for schema, times in schemas:
        number += times
        if most is not None and number > most:
            return None
        key = content_key(schema)
        known = found.get(key) if key is not None else None
        # What nests too deep for a key is like nothing else.
        found[id(schema) if key is None else key] = (schema, times) if known is None else (known[0], known[1] + times)
    return [*found.values()]


#: Schemas, each with how often it was met.
_Counted: TypeAlias = list[tuple[Schema, int]]
_Option = tuple[Any, str, bool]


def _choice(scope: Scope, found: list[_Option], pointer: str, *, nullable: bool = False) -> Compiled:
    """One of the schemas, each at its place, and whether it was made by merging."""
    options: list[Node] = [NULL] if nullable else []
    nothing: Nothing | None = None
    seen: set[str] = set()
    for one, place, merged in found:
        if merged and len(found) > 1:
            key = same_key(one)
            if key in seen:
                continue
            seen.add(key)
        compiled = scope.merged(one, place) if merged else scope.node(one, place)
        if isinstance(compiled, Nothing):
            nothing = nothing or compiled
            continue
        options.append(scope.small("alt", compiled))
    if not options:
        return nothing or Nothing(pointer, "no alternative is left")
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
