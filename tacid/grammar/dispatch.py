"""Which handler compiles which keyword and type: the tables that grow when the compiler learns.

A schema goes to the first keyword of `KEYWORDS` that it has, which takes in everything beside it; a schema with none
of these is a choice among its types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar import arrays, excepted, numbers, objects, references, strings, unions, values
from tacid.grammar.context import Compiled, Handler, Nothing, Scope
from tacid.grammar.nodes import Node
from tacid.grammar.primitives import ARRAY, BOOLEAN, INTEGER, NULL, NUMBER, OBJECT, STRING, VALUE
from tacid.grammar.shapes import alt
from tacid.schema.keywords import ALSO, ASSERTING, EXCEPT, FRACTION, LOST, OURS, PRESENCE, TYPES, type_list

#: Keywords that apply further schemas to the same instance.
COMBINING = (
    *("allOf", "anyOf", "oneOf", "not", "if", "unevaluatedProperties", "unevaluatedItems"),
    *("dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"),
)
#: Keywords that speak about the whole instance, in the order in which they are taken in.
KEYWORDS: tuple[tuple[str, Handler], ...] = (
    ("$ref", references.compile_ref),
    *((keyword, unions.compile_combined) for keyword in COMBINING),
    ("const", values.compile_values),
    ("enum", values.compile_values),
)

TYPE_HANDLERS: Mapping[str, Handler] = {
    "object": objects.compile_object,
    "array": arrays.compile_array,
    "string": strings.compile_string,
    "number": numbers.compile_number,
    "integer": numbers.compile_integer,
    "boolean": lambda scope, schema, pointer: BOOLEAN,
    "null": lambda scope, schema, pointer: NULL,
}

#: Types about which nothing more is said.
PLAIN: Mapping[str, Node] = {
    "object": OBJECT,
    "array": ARRAY,
    "string": STRING,
    "number": NUMBER,
    "integer": INTEGER,
    "boolean": BOOLEAN,
    "null": NULL,
}
_TYPE = frozenset({"type"})
_KNOWN = ASSERTING | OURS

#: Why a keyword wasn't held where schemas met, where that isn't the rule.
_LOST: Mapping[str, str] = {
    "$ref": "a reference leads to nothing within this schema (nothing is ever fetched), or back to itself",
    "": "this is no JSON Schema, so any JSON is admitted",
}
_UNMERGED = "this keyword can't be merged with what else is said here, so it isn't held"


def dispatch(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """Compile one schema object: by its keywords, else as a choice among its types."""
    keywords = _KNOWN.intersection(schema)
    if not keywords:
        return VALUE
    if keywords == _TYPE and isinstance(kind := schema["type"], str) and kind in PLAIN:
        return PLAIN[kind]
    for keyword in schema.get(LOST, ()):
        scope.widen(pointer, keyword, _LOST.get(keyword, _UNMERGED))
    for keyword, handler in KEYWORDS:
        if keyword in keywords:
            return handler(scope, schema, pointer)
    return compile_types(scope, schema, pointer)


def compile_types(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """A schema as a choice among the types that it allows, each held to the keywords that concern it."""
    types = type_list(schema)
    if types is None:
        if "type" in schema:
            scope.widen(pointer, "type", "this is no type that JSON Schema knows, so any JSON is admitted")
            return VALUE
        if schema.keys().isdisjoint(_TYPED):
            return VALUE
        types = tuple(kind for kind in TYPES if kind != "integer")
    elif _unknown(schema["type"]):
        scope.widen(pointer, "type", "one of these is no type that JSON Schema knows, so any JSON is admitted")
        return VALUE
    options: list[Node] = []
    nothing: Nothing | None = None
    for kind in types:
        if kind == "integer" and "number" in types:
            continue
        handler = TYPE_HANDLERS[kind]
        if EXCEPT in schema or FRACTION in schema:
            compiled = excepted.compile_excepted(scope, schema, pointer, kind, handler)
        else:
            compiled = handler(scope, schema, pointer)
        if isinstance(compiled, Nothing):
            nothing = nothing or compiled
            scope.discard()
        else:
            options.append(compiled)
    if options:
        return alt(options)
    return nothing or Nothing(pointer, "no type is allowed")


def _unknown(kind: Any) -> bool:
    return isinstance(kind, list) and any(not isinstance(k, str) or k not in TYPES for k in kind)


#: Keywords that speak of any type, or mean nothing without another keyword.
_UNTYPED = frozenset(
    {"type", "enum", "const", "nullable", "minContains", "maxContains", "then", "else", "$ref", *COMBINING}
)
#: Keywords that say something about one type only.
_TYPED = (ASSERTING | {EXCEPT, FRACTION, PRESENCE, ALSO}) - _UNTYPED
