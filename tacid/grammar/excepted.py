"""Values that don't fit: what ``not`` with ``enum``, ``const`` or ``integer`` leaves of a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacid.grammar.context import Compiled, Handler, Nothing, Scope
from tacid.grammar.keys import MAX_CHARACTERS, other_keys
from tacid.grammar.nodes import Chars, Lit, Node, Repeat
from tacid.grammar.primitives import DIGIT, DIGITS, MINUS, TINY
from tacid.grammar.shapes import alt, seq
from tacid.schema.join_objects import none_of
from tacid.schema.keywords import EXCEPT, FRACTION, kind_of, plain
from tacid.schema.merge import join

#: Numbers that an interval is cut at.
_MAX_CUTS = 16
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRING = ("pattern", "format", "minLength", "maxLength")

_FIRST = Chars(((0x31, 0x39),))


def _fraction(digits: tuple[int, int], zeros: int) -> Node:
    whole = seq(_FIRST, Repeat(DIGIT, digits[0] - 1, digits[1] - 1))
    if digits[0] == 1:
        whole = alt((Lit("0"), whole))
    return seq(whole, Lit("."), Repeat(Lit("0"), 0, zeros), _FIRST, DIGITS)


#: Sixteen digits, of which a double has quarters or halves.
_HALVES = seq(
    Chars(((0x31, 0x33),)), Repeat(DIGIT, 15, 15), Lit("."), Chars(((0x32, 0x32), (0x35, 0x35), (0x37, 0x38)))
)
#: A number that is no integer, as far as a double tells: about 17 digits from the first to the one after the zeros.
FRACTIONAL = seq(MINUS, alt((_fraction((1, 9), 7), _fraction((10, 13), 3), _fraction((14, 15), 0), _HALVES, TINY)))


def compile_excepted(scope: Scope, schema: Mapping[str, Any], pointer: str, kind: str, handler: Handler) -> Compiled:
    """One type of a schema, less the values that don't fit; ``handler`` compiles the type."""
    fits = {k: v for k, v in schema.items() if k not in (EXCEPT, FRACTION)}
    own = "number" if kind == "integer" else kind
    values = [value for value in schema.get(EXCEPT, ()) if kind_of(value) == own]
    if own == "number" and FRACTION in schema:
        return _fractions(scope, fits, pointer, kind, values, handler)
    if not values:
        return handler(scope, fits, pointer)
    return _HANDLERS[own](scope, fits, pointer, values, handler)


def _strings(scope: Scope, schema: Mapping[str, Any], pointer: str, values: list[Any], handler: Handler) -> Compiled:
    if not any(keyword in schema for keyword in _STRING) and sum(map(len, values)) <= MAX_CHARACTERS:
        return other_keys(values, lambda node: scope.rule("key", node), scope.builder.have)
    joined = join({k: schema[k] for k in _STRING if k in schema}, {"pattern": f"^{none_of(values)}"})
    return handler(scope, {**schema, **joined} if isinstance(joined, Mapping) else schema, pointer)


def _numbers(scope: Scope, schema: Mapping[str, Any], pointer: str, values: list[Any], handler: Handler) -> Compiled:
    cuts = sorted({plain(value) for value in values})
    if len(cuts) > _MAX_CUTS:
        scope.lose(pointer)("not")
        return handler(scope, schema, pointer)
    options: list[Node] = []
    nothing: Compiled = Nothing(pointer, "no number is left")
    for low, high in zip((None, *cuts), (*cuts, None), strict=True):
        bounds = {} if low is None else {"exclusiveMinimum": low}
        if high is not None:
            bounds["exclusiveMaximum"] = high
        joined = join({k: schema[k] for k in _NUMERIC if k in schema}, bounds)
        compiled = handler(scope, {**schema, **joined}, pointer) if isinstance(joined, Mapping) else nothing
        if not isinstance(compiled, Nothing):
            options.append(compiled)
    return alt(options) if options else nothing


def _fractions(
    scope: Scope, schema: Mapping[str, Any], pointer: str, kind: str, values: list[Any], handler: Handler
) -> Compiled:
    if kind == "integer":
        return Nothing(pointer, "no integer fits")
    if values or any(keyword in schema for keyword in _NUMERIC):
        scope.lose(pointer)("not")
        return handler(scope, schema, pointer)
    return scope.rule("fractional", FRACTIONAL)


def _booleans(scope: Scope, schema: Mapping[str, Any], pointer: str, values: list[Any], handler: Handler) -> Compiled:
    left = [Lit(text) for text, value in (("true", True), ("false", False)) if value not in values]
    return alt(left) if left else Nothing(pointer, "neither true nor false fits")


def _containers(scope: Scope, schema: Mapping[str, Any], pointer: str, values: list[Any], handler: Handler) -> Compiled:
    """Of lists and objects, the empty one can be left out; the others are checked afterwards."""
    if any(values):
        scope.lose(pointer)("not")
    if not all(values):
        word = "minItems" if isinstance(values[0], (list, tuple)) else "minProperties"
        schema = {**schema, word: max(1, schema.get(word, 0))}
    return handler(scope, schema, pointer)


_HANDLERS: Mapping[str, Callable[[Scope, Mapping[str, Any], str, list[Any], Handler], Compiled]] = {
    "string": _strings,
    "number": _numbers,
    "boolean": _booleans,
    "null": lambda scope, schema, pointer, values, handler: Nothing(pointer, "null doesn't fit"),
    "array": _containers,
    "object": _containers,
}
