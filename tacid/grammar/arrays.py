"""``array``: items one by one (``prefixItems``, or ``items`` as a list), then any number of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.bounds import bound
from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.counted import COUNTED, Items, compile_counted
from tacid.grammar.nodes import EMPTY, Lit, Node, Repeat
from tacid.grammar.primitives import ARRAY, VALUE
from tacid.grammar.shapes import alt, count, seq

_COMMA, _OPEN, _CLOSE = Lit(","), Lit("["), Lit("]")


def compile_array(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """An array with its items and the number of them held; sources: JSON Schema 2020-12 and draft-07, arrays."""
    prefix, rest, rest_pointer = _parts(scope, schema, pointer)
    least = bound(scope, schema, pointer, "minItems") or 0
    most = bound(scope, schema, pointer, "maxItems")
    if most is not None and most < least:
        return Nothing(f"{pointer}/minItems", f"the fewest items, {least:,}, are more than the most, {most:,}")
    if not COUNTED.isdisjoint(schema):
        counted = compile_counted(scope, schema, pointer, Items(prefix, (rest_pointer, rest), least, most))
        if not isinstance(counted, Items):
            return counted
        least, most = counted.least, counted.most
        if most is not None and most < least:
            return Nothing(f"{pointer}/contains", f"{least:,} items are needed, and {most:,} are the most")
    first: list[Node] = []
    nothing: Nothing | None = None
    for place, item in prefix if most is None else prefix[:most]:
        compiled = scope.node(item, place)
        if isinstance(compiled, Nothing):
            nothing, most = compiled, len(first)
            break
        first.append(scope.small("item", compiled))
    node: Node = VALUE
    if most is None or most > len(first):
        compiled = scope.node(rest, rest_pointer)
        if isinstance(compiled, Nothing):
            nothing, most = compiled, len(first)
        else:
            node = compiled
    if nothing is not None and least > len(first):
        return nothing
    if node == VALUE and not first and least == 0 and most is None:
        return ARRAY
    return _list(scope, first, node, least, most)


def _parts(scope: Scope, schema: Mapping[str, Any], pointer: str) -> tuple[list[tuple[str, Any]], Any, str]:
    """The schemas of the first items with their pointers, and the schema of all further ones with its own."""
    for keyword, further in (("prefixItems", "items"), ("items", "additionalItems")):
        items = schema.get(keyword)
        if isinstance(items, list):
            prefix = [(f"{pointer}/{keyword}/{index}", item) for index, item in enumerate(items)]
            return prefix, schema.get(further, True), f"{pointer}/{further}"
        if keyword == "prefixItems" and keyword in schema:
            scope.widen(pointer, keyword, "this is no list of schemas")
    return [], schema.get("items", True), f"{pointer}/items"


def _list(scope: Scope, first: list[Node], node: Node, least: int, most: int | None) -> Node:
    """Items in brackets: ``first`` in their places, then ``node`` as often as the bounds allow."""
    size = len(first)
    if size == 0:
        if most == 0:
            return Lit("[]")
        if least == 0 and most is None:
            item = scope.small("item", node)
            return seq(_OPEN, Repeat(seq(item, Repeat(seq(_COMMA, item), 0, None)), 0, 1), _CLOSE)
        tail = seq(node, _more(scope, node, max(least - 1, 0), None if most is None else most - 1), _CLOSE)
        return seq(_OPEN, tail) if least else seq(_OPEN, alt((tail, _CLOSE)))
    tail = seq(_more(scope, node, max(least - size, 0), None if most is None else most - size), _CLOSE)
    for index in range(size - 1, -1, -1):
        tail = seq(_COMMA if index else EMPTY, first[index], tail)
        if least <= index:
            tail = scope.rule("items", alt((tail, _CLOSE)))
    return seq(_OPEN, tail)


def _more(scope: Scope, node: Node, least: int, most: int | None) -> Node:
    """Further items, each after a comma."""
    if most == 0:
        return EMPTY
    item = seq(_COMMA, scope.small("item", node))
    if least == 0 and most is None:
        return Repeat(item, 0, None)
    return count(scope.rule("next", item), least, most, lambda chunk: scope.rule("many", chunk))
