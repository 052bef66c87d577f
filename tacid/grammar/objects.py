"""``object``: declared members in their order, in any combination that fits; then others.

How many there are and which go together is held by states (see `tacid.grammar.braces`); what a member of some name may
be, by `tacid.grammar.members`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.bounds import bound
from tacid.grammar.braces import Member, TooManyStates, Wanted, braces
from tacid.grammar.context import Compiled, Nothing, Scope
from tacid.grammar.limits import MAX_STARTS
from tacid.grammar.members import MAX_FREE, Members
from tacid.grammar.nodes import Lit, Node, Repeat
from tacid.grammar.primitives import OBJECT, STRING, VALUE
from tacid.grammar.shapes import alt, seq
from tacid.schema.keywords import PRESENCE
from tacid.schema.presence import Diagram, keys_in

#: Optional members whose order is held, in one object. The engine follows every way in which a rule can begin, so
#: the work of its check grows with the square of these.
MAX_OPTIONAL = 800
#: The same for all objects of a grammar, as squares; objects of a few members are always held.
MAX_SQUARES = 2_000_000
_FEW = 8


def compile_object(scope: Scope, schema: Mapping[str, Any], pointer: str) -> Compiled:
    """An object; sources: JSON Schema 2020-12 core 10.3.2, validation 6.5."""
    members = Members(scope, schema, pointer)
    if not isinstance(schema.get("properties", {}), Mapping):
        _ = members.declared
        return OBJECT
    required = _required(scope, schema, pointer)
    least = bound(scope, schema, pointer, "minProperties") or 0
    most = bound(scope, schema, pointer, "maxProperties")
    formula = schema.get(PRESENCE, True)
    bare = not members.declared and not members.patterns and not required and "propertyNames" not in schema
    if bare and members.others is True and formula is True and least == 0 and most is None:
        return OBJECT
    if formula is not True or least or most is not None or members.patterns or "propertyNames" in schema:
        # Members that can't be given after all have been compiled by then.
        scope.discard()
    asked = dict.fromkeys(keys_in(formula))
    values: dict[str, Node] = {}
    for key in dict.fromkeys((*members.declared, *required, *asked)):
        compiled = members.value(key, demanded=key in required or key in asked)
        if not isinstance(compiled, Nothing):
            values[key] = compiled
        elif key in required:
            return compiled
    taken = [*dict.fromkeys((*members.declared, *required, *asked))]
    few, pair = members.further(taken)
    values.update(few)
    placed = [key for key in members.declared if key not in members.late]
    order = [*placed, *(key for key in (*members.declared, *required, *asked, *few) if key not in placed)]
    order = [key for key in dict.fromkeys(order) if key in values]
    texts = {key: members.member(key, values[key]) for key in order}
    if not _bearable(scope, sum(key not in required for key in order)):
        scope.widen(pointer, "properties", "so many may be left out that neither order nor presence is held")
        return _bag(scope, list(texts.values()), pair)
    return _held(_Object(scope, pointer, members, required, texts, pair, formula, least, most))


class _Object:
    """All that is known of an object once its members are compiled."""

    def __init__(
        self,
        scope: Scope,
        pointer: str,
        members: Members,
        required: Mapping[str, None],
        texts: Mapping[str, Node],
        pair: Node | None,
        formula: Any,
        least: int,
        most: int | None,
    ) -> None:
        self.scope, self.pointer = scope, pointer
        self.required, self.texts, self.pair = required, texts, pair
        self.formula, self.least, self.most = formula, least, most
        free = [key for key in texts if key not in members.declared or key in members.late]
        # Too many in any order would be too many states; then all but the last few have their order too.
        self.free = free[-MAX_FREE:] if len(free) > 1 or pair is not None else []

    def wanted(self, *, formula: bool, counts: bool) -> Wanted:
        keys = list(self.texts)
        diagram, node = None, 1
        if formula and self.formula is not True:
            asked = [key for key in dict.fromkeys(keys_in(self.formula)) if key not in self.texts]
            diagram = Diagram([*keys, *asked])
            node = diagram.node(self.formula)
            for place in range(len(keys), len(keys) + len(asked)):
                node = diagram.at(node, place, False)
            if self.pair is None:
                node = diagram.at(node, diagram.others, False)
        all_members = {key: Member(self.texts[key], key in self.required, place) for place, key in enumerate(keys)}
        least = self.least if counts and self.least > sum(key in self.required for key in keys) else 0
        most = self.most if counts and (self.pair is not None or (self.most or 0) < len(keys)) else None
        return Wanted(
            [all_members[key] for key in keys if key not in self.free],
            [all_members[key] for key in self.free],
            self.pair,
            diagram,
            node,
            least,
            most,
        )


def _held(one: _Object) -> Compiled:
    """The object with all that can be held; what makes too many states is given up and recorded."""
    scope = one.scope
    for formula, counts in ((True, True), (True, False), (False, False)):
        lost = []
        if not counts:
            lost += [("minProperties", one.least > 0), ("maxProperties", one.most is not None)]
        if not formula:
            lost += [("required", one.formula is not True)]
        try:
            node = braces(scope, one.wanted(formula=formula, counts=counts))
        except (TooManyStates, OverflowError):
            scope.discard()
            continue
        for keyword, there in lost:
            if there:
                scope.widen(one.pointer, keyword, "with what is beside it, the grammar would be too large")
        return Nothing(one.pointer, "no choice of members fits") if node is None else node
    scope.widen(one.pointer, "properties", "so many may be given in any order that neither order nor presence is held")
    return _bag(scope, list(one.texts.values()), one.pair)


def _bearable(scope: Scope, free: int) -> bool:
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


def _bag(scope: Scope, members: list[Node], pair: Node | None) -> Node:
    """Braces around any number of the members in any order."""
    scope.discard()
    any_member = scope.rule("pair", seq(STRING, Lit(":"), VALUE))
    options = [*members, *([] if pair is None else [pair])]
    if pair == any_member or len(options) > MAX_STARTS:
        options = [any_member]
    one = scope.rule("m", alt(options))
    return scope.rule("obj", seq(Lit("{"), Repeat(seq(one, Repeat(seq(Lit(","), one), 0, None)), 0, 1), Lit("}")))
