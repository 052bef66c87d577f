"""Which handler compiles which keyword and type: the tables that grow when the compiler learns.

A schema goes to the first keyword of `KEYWORDS` that it has, which takes in everything beside it; a schema with none
of these is a choice among its types. What no handler understands yet is in `WIDENED`, by the types it concerns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar import arrays, numbers, objects, references, strings, unions, values
from tacid.grammar.context import Compiled, Handler, Nothing, Scope
from tacid.grammar.nodes import Node
from tacid.grammar.primitives import ARRAY, BOOLEAN, INTEGER, NULL, NUMBER, OBJECT, STRING, VALUE
from tacid.grammar.shapes import alt
from tacid.schema.merge import ASSERTING, TYPES, type_list

#: Keywords that speak about the whole instance, in the order in which they are taken in.
KEYWORDS: tuple[tuple[str, Handler], ...] = (
    ("$ref", references.compile_ref),
    ("allOf", unions.compile_all_of),
    ("const", values.compile_values),
    ("enum", values.compile_values),
    ("anyOf", unions.compile_any_of),
    ("oneOf", unions.compile_one_of),
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

#: Keywords that no handler holds the sampler to, by the types that they can refuse; "" for every type.
WIDENED: Mapping[str, tuple[str, ...]] = {
    "": ("not", "if", "$dynamicRef", "$recursiveRef"),
    "object": (
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
    ),
    "array": ("contains", "uniqueItems", "unevaluatedItems"),
    "string": ("pattern", "format"),
    "number": (),
    "integer": (),
    "boolean": (),
    "null": (),
}

_ANY_WIDENED = frozenset(keyword for keywords in WIDENED.values() for keyword in keywords)

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

#: How "nothing demanded" is written.
_IDLE: Mapping[str, Any] = {
    "uniqueItems": False,
    "minProperties": 0,
    "patternProperties": {},
    "propertyNames": {},
    "dependentRequired": {},
    "dependentSchemas": {},
    "dependencies": {},
    "not": False,
}

#: The formats of JSON Schema (2020-12 validation, 7.3); any other is a note between its author and a reader.
FORMATS = frozenset(
    {
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    }
)

_NOT_HELD = "the grammar doesn't hold this keyword; arguments are checked against it afterwards"


def dispatch(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """Compile one schema object: by its keywords, else as a choice among its types."""
    keywords = ASSERTING.intersection(schema)
    if not keywords:
        return VALUE
    if keywords == _TYPE and isinstance(kind := schema["type"], str) and kind in PLAIN:
        return PLAIN[kind]
    for keyword, handler in KEYWORDS:
        if keyword in schema:
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
            _widen(scope, schema, pointer, "")
            return VALUE
        types = tuple(kind for kind in TYPES if kind != "integer")
    elif _unknown(schema["type"]):
        scope.widen(pointer, "type", "one of these is no type that JSON Schema knows, so any JSON is admitted")
        return VALUE
    _widen(scope, schema, pointer, "")
    options: list[Node] = []
    nothing: Nothing | None = None
    for kind in types:
        if kind == "integer" and "number" in types:
            continue
        _widen(scope, schema, pointer, kind)
        compiled = TYPE_HANDLERS[kind](scope, schema, pointer)
        if isinstance(compiled, Nothing):
            nothing = nothing or compiled
        else:
            options.append(compiled)
    if options:
        return alt(options)
    return nothing or Nothing(pointer, "no type is allowed")


def _widen(scope: Scope, schema: Mapping[str, Any], pointer: str, kind: str) -> None:
    if _ANY_WIDENED.isdisjoint(schema):
        return
    for keyword in WIDENED[kind]:
        if keyword in schema and not _idle(keyword, schema):
            scope.widen(pointer, keyword, _NOT_HELD)


def _idle(keyword: str, schema: Mapping[str, Any]) -> bool:
    """Whether a keyword is there and demands nothing."""
    if keyword == "format":
        return schema[keyword] not in FORMATS
    if keyword == "if":
        return "then" not in schema and "else" not in schema
    return keyword in _IDLE and schema[keyword] == _IDLE[keyword]


def _unknown(kind: Any) -> bool:
    return isinstance(kind, list) and any(not isinstance(k, str) or k not in TYPES for k in kind)


#: Keywords that speak of any type, or mean nothing without another keyword.
_UNTYPED = frozenset(
    {"type", "enum", "const", "minContains", "maxContains", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
    | {"$ref", "$dynamicRef", "$recursiveRef"}
)
#: Keywords that say something about one type only.
_TYPED = ASSERTING - _UNTYPED
