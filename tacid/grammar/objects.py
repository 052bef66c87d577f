"""``object``: declared members in their order, in any combination that holds the required ones; then others.

Each member has two rules, before and after the first comma (``p`` and ``q``), and each says: this member and what may
follow it, or (unless it is required) what may follow without it. So size is linear, however many are optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.keys import MAX_CHARACTERS, other_keys
from tacid.grammar.limits import MAX_STARTS
from tacid.grammar.nodes import Lit, Node, Repeat
from tacid.grammar.primitives import OBJECT, STRING, VALUE
from tacid.grammar.shapes import alt, seq
from tacid.grammar.tree import json_literal
from tacid.schema.merge import OPEN
from tacid.schema.refs import escape_token

_COMMA, _CLOSE = Lit(","), Lit("}")

#: Keywords by which a schema may declare members elsewhere than in ``properties``; with these it stays open.
_ELSEWHERE = ("if", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef", OPEN)


#: Optional members whose order is held, in one object. The engine follows every way in which a rule can begin, so
#: the work of its check grows with the square of these.
MAX_OPTIONAL = 800
#: The same for all objects of a grammar, as squares; objects of a few members are always held.
MAX_SQUARES = 2_000_000
_FEW = 8


@dataclass(frozen=True, slots=True)
class _Member:
    node: Node
    required: bool


def compile_object(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """An object: ``properties``, ``required`` and ``additionalProperties``.

    Where nothing is said about undeclared members, an object that declares ``properties`` is closed, unless the
    scope has open objects; one that declares none is open.
    """
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        scope.widen(pointer, "properties", "this is no object of schemas")
        return OBJECT
    required = _required(scope, schema, pointer)
    others, others_pointer = _others(scope, schema, pointer)
    if not properties and not required and others is True:
        return OBJECT
    members: list[_Member] = []
    for key, inner in properties.items():
        compiled = scope.node(inner, f"{pointer}/properties/{escape_token(key)}")
        if isinstance(compiled, Nothing):
            if key in required:
                return compiled
            continue
        members.append(_Member(_member(scope, key, compiled), key in required))
    for key in required:
        if key in properties:
            continue
        # Nothing declares it, and what is said about undeclared members, if anything, holds for it.
        inner = True if others is None and not _closed(schema) else others
        if inner is None or inner is False:
            return Nothing(f"{pointer}/required", f"{key!r} is required and may not be given")
        compiled = scope.node(inner, others_pointer)
        if isinstance(compiled, Nothing):
            return compiled
        members.append(_Member(_member(scope, key, compiled), True))
    pair = None if others is None else _pair(scope, [*properties, *required], others, pointer, others_pointer)
    if not _bearable(scope, members):
        scope.widen(pointer, "properties", "so many may be left out that neither order nor presence is held")
        return _bag(scope, members, pair)
    return _object(scope, members, pair)


def _bearable(scope: Scope, members: list[_Member]) -> bool:
    free = sum(not member.required for member in members)
    if free <= _FEW:
        return True
    if free > MAX_OPTIONAL or scope.builder.squares + free * free > MAX_SQUARES:
        return False
    scope.builder.squares += free * free
    return True


def _required(scope: Scope, schema: Mapping[str, Any], pointer: str) -> dict[str, None]:
    required = schema.get("required", [])
    # Draft 3 wrote a boolean beside the member; some still do, and it says nothing about this object.
    if isinstance(required, bool):
        return {}
    if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
        scope.widen(pointer, "required", "this is no list of names")
        return {}
    return dict.fromkeys(required)


def _others(scope: Scope, schema: Mapping[str, Any], pointer: str) -> tuple[Any, str]:
    """The schema of undeclared members (``None``: there may be none) and its pointer."""
    if "patternProperties" in schema and schema["patternProperties"] != {}:
        return True, f"{pointer}/patternProperties"
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword not in schema:
            continue
        place = f"{pointer}/{keyword}"
        if any(inner in schema for inner in _ELSEWHERE) and (
            keyword == "unevaluatedProperties" or (OPEN in schema and schema[keyword] is not False)
        ):
            scope.widen(pointer, keyword, "members may be declared by keywords that the grammar doesn't hold")
            return True, place
        return (None if schema[keyword] is False else schema[keyword]), place
    if scope.open_objects or "properties" not in schema or any(keyword in schema for keyword in _ELSEWHERE):
        return True, pointer
    return None, pointer


def _closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties", schema.get("unevaluatedProperties")) is False


def _member(scope: Scope, key: str, value: Node) -> Node:
    return seq(Lit('"'), json_literal(key), Lit('":'), scope.small("value", value))


def _pair(scope: Scope, declared: list[str], others: Any, pointer: str, others_pointer: str) -> Node | None:
    """A member that nobody declared."""
    compiled = VALUE if others is True else scope.node(others, others_pointer)
    if isinstance(compiled, Nothing):
        return None
    key: Node = STRING
    if sum(map(len, declared)) > MAX_CHARACTERS:
        keyword = "additionalProperties"
        scope.widen(pointer, keyword, "the declared names are too many to tell further ones apart from them")
    elif declared:
        key = other_keys(declared, lambda node: scope.rule("key", node), scope.builder.rule)
    return scope.rule("pair", seq(key, Lit(":"), scope.small("value", compiled)))


def _bag(scope: Scope, members: list[_Member], pair: Node | None) -> Node:
    """Braces around any number of the members in any order."""
    options = [member.node for member in members[:MAX_STARTS]]
    if pair is not None or len(members) > MAX_STARTS:
        options = [pair or seq(STRING, Lit(":"), VALUE)]
        scope.discard()
    one = scope.rule("m", alt(options))
    return scope.rule("obj", seq(Lit("{"), Repeat(seq(one, Repeat(seq(_COMMA, one), 0, None)), 0, 1), _CLOSE))


def _object(scope: Scope, members: list[_Member], pair: Node | None) -> Node:
    """Braces around the members, in order, and then any number of further pairs."""
    # What may follow once a member has been written (after), and while none has (before).
    after: Node = _CLOSE
    before: Node = _CLOSE
    if pair is not None:
        after = seq(Repeat(seq(_COMMA, pair), 0, None), _CLOSE)
        before = alt((seq(pair, after), _CLOSE))
    first_required = next((index for index, member in enumerate(members) if member.required), len(members))
    for index in range(len(members) - 1, -1, -1):
        member, rest = members[index], after
        node = member.node
        if index <= first_required:
            node = scope.small("m", node) if index else node
        if member.required:
            before = seq(node, after)
            after = seq(_COMMA, node, after)
            continue
        rest = scope.small("q", after)
        after = alt((seq(_COMMA, node, rest), rest))
        if index < first_required:
            before = alt((seq(node, rest), scope.small("p", before)))
    return scope.small("obj", seq(Lit("{"), before))
