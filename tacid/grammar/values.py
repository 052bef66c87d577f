"""``enum`` and ``const``: the values themselves, filtered by every keyword beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jsonschema_rs

from tacid.grammar.context import Compiled, Nothing, Scope, assertions
from tacid.grammar.limits import GATE_BYTES
from tacid.grammar.nodes import Lit, Node
from tacid.grammar.shapes import alt, seq, weight
from tacid.grammar.tree import json_literal, prefix_tree
from tacid.jsontext import dumps
from tacid.schema.merge import plain, same_key, type_list
from tacid.schema.validate import compile_validator

#: Values that are no strings, told apart one by one up to here and as a tree beyond.
_FLAT = 16


def compile_values(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """One of the listed values, as long as it fits the other keywords; a huge list becomes a `Gate`."""
    keyword = "const" if "const" in schema else "enum"
    listed = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(listed, (list, tuple)):
        scope.widen(pointer, "enum", "this is no list of values")
        return scope.merged(assertions(schema, "enum"), pointer)
    values = {same_key(value): value for value in reversed(listed)}
    if "const" in schema and isinstance(schema.get("enum"), list):
        allowed = {same_key(value) for value in schema["enum"]}
        values = {key: value for key, value in values.items() if key in allowed}
    left = [value for value in _filtered(scope, schema, [*reversed(values.values())], pointer) if _writable(value)]
    if not left:
        empty = "the list of values is empty" if not listed else "no listed value fits the keywords beside the list"
        return Nothing(f"{pointer}/{keyword}", empty)
    return _choice(scope, left)


def _choice(scope: Scope, values: list[Any]) -> Node:
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    options: list[Node] = []
    if len(texts) == 1:
        options.append(seq(Lit('"'), json_literal(texts[0]), Lit('"')))
    elif texts:
        options.append(_tree(scope, texts))
    spelled = dict.fromkeys(text for value in others for text in _spellings(value))
    options.extend(Lit(text) for text in spelled)
    choice = alt(options)
    if len(spelled) > _FLAT and weight(choice) > GATE_BYTES:
        return scope.gate(choice)
    return scope.small("enum", choice) if len(values) > 1 else choice


def _tree(scope: Scope, texts: list[str]) -> Node:
    key = tuple(texts)
    known = scope.builder.trees.get(key)
    if known is None or known.name not in scope.builder.rules:
        parts: dict[str, Node] = {}
        tree = seq(Lit('"'), prefix_tree(texts, rules=parts, name=scope.name("enum")), Lit('"'))
        size = weight(tree) + sum(map(weight, parts.values()))
        known = scope.gate(tree, parts) if size > GATE_BYTES else scope.listed(tree, parts)
        scope.builder.trees[key] = known
    return known


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
    types = type_list(schema)
    if types is not None:
        values = [value for value in values if any(_TYPES[kind](value) for kind in types)]
    beside = assertions(schema, "const", "enum", "type", "nullable")
    if not beside or not values:
        return values
    try:
        validator = compile_validator(_alone(scope, beside))
        return [value for value in values if validator.is_valid(value)]
    except (jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError, ValueError, TypeError, RecursionError):
        for keyword in beside:
            scope.widen(pointer, keyword, "the listed values couldn't be checked against this keyword")
        return values


def _alone(scope: Scope, beside: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords as a document of their own, with the definitions that they may refer to."""
    if not isinstance(scope.root, Mapping):
        return beside
    return {**{k: scope.root[k] for k in ("$schema", "$defs", "definitions") if k in scope.root}, **beside}


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
