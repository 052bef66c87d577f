"""``enum`` and ``const``: the values themselves, filtered by every keyword beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema_rs

from tacid.deadline import uncounted
from tacid.grammar import limits
from tacid.grammar.context import Compiled, Nothing, Scope, TooLarge, assertions
from tacid.grammar.nodes import Gate, Lit, Node, Ref
from tacid.grammar.shapes import alt, seq, weight
from tacid.grammar.tree import json_literal, prefix_tree, value_tree
from tacid.jsontext import MAX_DEPTH, deeper_than, dumps
from tacid.schema.keywords import ALSO, OURS, plain, same_key, type_list
from tacid.schema.merge import asserting, fits_ours
from tacid.schema.validate import compile_validator

#: Values that are no strings, told apart one by one up to here and as a tree beyond.
_FLAT = 16
#: Keywords that a list of values is held to without a validator.
_BESIDE = ("const", "enum", "type", "nullable", *OURS)


def compile_values(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """One of the listed values, as long as it fits the other keywords; a huge list becomes a `Gate`."""
    keyword = "const" if "const" in schema else "enum"
    listed = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(listed, (list, tuple)):
        scope.widen(pointer, "enum", "this is no list of values")
        return scope.merged(assertions(schema, "enum"), pointer)
    with uncounted():
        return _compiled(scope, schema, keyword, listed, pointer)


def _compiled(scope: Scope, schema: Mapping[str, Any], keyword: str, listed: Sequence[Any], pointer: str) -> Compiled:
    # Nothing nested deeper is ever read as a reply.
    listed = [value for value in listed if not deeper_than(value, MAX_DEPTH)]
    values = {same_key(value): value for value in reversed(listed)}
    if "const" in schema and isinstance(schema.get("enum"), list):
        allowed = {same_key(value) for value in schema["enum"]}
        values = {key: value for key, value in values.items() if key in allowed}
    left = [value for value in _filtered(scope, schema, [*reversed(values.values())], pointer) if _writable(value)]
    if not left:
        bare = keyword == "enum" and not schema["enum"]
        empty = "the list of values is empty" if bare else "no listed value fits the keywords beside the list"
        return Nothing(f"{pointer}/{keyword}", empty)
    return _choice(scope, left)


def _choice(scope: Scope, values: list[Any]) -> Node:
    key = tuple(same_key(value) for value in values)
    known = scope.builder.lists.get(key)
    # A rule made for a tool that was left out is gone again.
    if isinstance(known, (Ref, Gate)) and known.name not in scope.builder.rules:
        known = None
    if known is None:
        known = scope.builder.lists[key] = _listed(scope, values)
    return known


def _listed(scope: Scope, values: list[Any]) -> Node:
    texts = [value for value in values if isinstance(value, str)]
    spelled = list(dict.fromkeys(text for value in values if not isinstance(value, str) for text in _spellings(value)))
    options: list[Node] = []
    parts: dict[str, Node] = {}
    if len(texts) == 1:
        options.append(seq(Lit('"'), json_literal(texts[0]), Lit('"')))
    elif texts:
        options.append(seq(Lit('"'), prefix_tree(texts, rules=parts, name=scope.name("enum")), Lit('"')))
    if len(spelled) > _FLAT:
        options.append(value_tree(spelled, rules=parts, name=scope.name("enum")))
    else:
        options.extend(Lit(text) for text in spelled)
    choice = alt(options)
    size = weight(choice) + sum(map(weight, parts.values()))
    if size > limits.MAX_GRAMMAR_BYTES * 7 // 8:
        raise TooLarge
    if size > scope.gate_bytes:
        return scope.gate(choice, parts)
    if isinstance(choice, Lit) or (len(values) == 1 and not parts):
        return choice
    return scope.listed(choice, parts)


def _spellings(value: Any) -> tuple[str, ...]:
    """How a value that is no string may be written: canonically, as the prompt shows it, and 1.0 as 1."""
    return dumps(value), dumps(value, shown=True), dumps(plain(value))


def _writable(value: Any) -> bool:
    try:
        dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _filtered(scope: Scope, schema: Mapping[str, Any], values: list[Any], pointer: str) -> list[Any]:
    left = checked(scope, schema, values)
    if left is not None:
        return left
    for keyword in assertions(schema, *_BESIDE):
        scope.widen(pointer, keyword, "the listed values couldn't be checked against this keyword")
    return _plainly(schema, values)


def checked(scope: Scope, schema: Mapping[str, Any], values: list[Any]) -> list[Any] | None:
    """The values that fit a schema's other keywords than ``enum`` and ``const``; ``None`` where that can't be told."""
    values = _plainly(schema, values)
    beside = assertions(schema, *_BESIDE)
    if ALSO in schema:
        beside["allOf"] = [*beside.get("allOf", ()), *schema[ALSO]]
    if not beside or not values:
        return values
    document = _modern(_alone(scope, beside))
    try:
        if document is not None:
            validator = compile_validator(document)
            return [value for value in values if validator.is_valid(value)]
    except (jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError, ValueError, TypeError, RecursionError):
        pass
    return None


def _plainly(schema: Mapping[str, Any], values: list[Any]) -> list[Any]:
    types = type_list(schema)
    if types is not None:
        values = [value for value in values if any(_TYPES[kind](value) for kind in types)]
    return [value for value in values if fits_ours(value, schema)]


def _alone(scope: Scope, beside: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The keywords as a document of their own and of the latest draft, with the definitions that they may refer to.

    ``None`` where something refers to other places: they aren't in that document, or are something else there; and
    where something within has keywords of our own.
    """
    if not isinstance(scope.root, Mapping):
        return beside
    document = {**{k: scope.root[k] for k in ("$defs", "definitions") if k in scope.root}, **beside}
    waiting: list[Any] = [document]
    while waiting:
        place = waiting.pop()
        if isinstance(place, Mapping):
            ref = place.get("$ref", "#/$defs/")
            if not isinstance(ref, str) or not ref.startswith(("#/$defs/", "#/definitions/")):
                return None
            if "$dynamicRef" in place or "$recursiveRef" in place or not OURS.isdisjoint(place):
                return None
            waiting.extend(place.values())
        elif isinstance(place, list):
            waiting.extend(place)
    return document


def _modern(schema: Any) -> Any:
    """The schema with lists of ``items`` as the latest draft writes them, and bounds without booleans beside them."""
    if isinstance(schema, list):
        return [_modern(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {k: v if k in ("enum", "const") else _modern(v) for k, v in asserting(schema, others=True).items()}
    if isinstance(made.get("items"), list):
        made["prefixItems"] = made.pop("items")
        if "additionalItems" in made:
            made["items"] = made.pop("additionalItems")
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, (list, tuple)),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
