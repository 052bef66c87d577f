"""Which members an object has, as a formula of propositional logic, and as a decision diagram of it.

A formula is JSON: ``true``, ``false``, ``["key", name]``, ``["other", names]`` (a member whose name is none of these),
``["not", f]``, ``["and", f, …]``, ``["or", f, …]``. ``required``, ``dependentRequired`` and unions, negations and
conditions of such are formulas; they cost no copy of the object's other members then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tacid.catalogue import Schema
from tacid.deadline import check
from tacid.schema.keywords import ASSERTING, PRESENCE, type_list

Formula: TypeAlias = Any

_ABOUT = frozenset(
    {"type", "required", "properties", "dependentRequired", "dependencies", "dependentSchemas", PRESENCE}
)
_COMBINING = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
_READABLE = _ABOUT | _COMBINING
#: Branches of one union, schemas in one formula.
MAX_PARTS = 64


def all_of(formulas: Sequence[Formula]) -> Formula:
    """The formula that says all of these."""
    left = [formula for formula in formulas if formula is not True]
    if any(formula is False for formula in left):
        return False
    return left[0] if len(left) == 1 else ["and", *left] if left else True


def any_of(formulas: Sequence[Formula]) -> Formula:
    """The formula that says one of these."""
    return negation(all_of([negation(formula) for formula in formulas]))


def negation(formula: Formula) -> Formula:
    """The formula that says the contrary."""
    if isinstance(formula, bool):
        return not formula
    return formula[1] if formula[0] == "not" else ["not", formula]


def only_one_of(formulas: Sequence[Formula]) -> Formula:
    """The formula that says exactly one of these."""
    none: Formula = True
    one: Formula = False
    for formula in formulas:
        one = any_of([all_of([one, negation(formula)]), all_of([none, formula])])
        none = all_of([none, negation(formula)])
    return one


def presence_of(schema: Schema, types: Sequence[str] | None = None) -> tuple[Formula, bool] | None:
    """A schema that speaks of nothing but which members an object has: as a formula, and whether it takes no objects.

    ``types`` are those that the instance can have at all. ``None`` where the schema speaks of anything else.
    """
    others = types is None or any(kind != "object" for kind in types)
    return _Reader(others).read(schema, 0)


class _Reader:
    def __init__(self, others: bool) -> None:
        self.others = others
        self.left = MAX_PARTS

    def read(self, schema: Any, depth: int) -> tuple[Formula, bool] | None:
        self.left -= 1
        if isinstance(schema, bool):
            return schema, schema
        if not isinstance(schema, Mapping) or depth > 16 or self.left < 0:
            return None
        # In their order, since names get their place among the members by the order in which a formula speaks of them.
        keywords = [k for k in schema if k in ASSERTING or k.startswith("tacid:")]
        if not _READABLE.issuperset(keywords):
            return None
        parts: list[tuple[Formula, bool]] = []
        for keyword in keywords:
            if keyword in ("then", "else"):
                continue
            part = _READERS[keyword](self, schema, depth)
            if part is None:
                return None
            parts.append(part)
        return all_of([formula for formula, _ in parts]), all(other for _, other in parts)

    def type(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        types = type_list(schema)
        if types is None:
            return None
        if types == ("object",):
            return True, False
        return None if self.others or "object" not in types else (True, True)

    def required(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        return (all_of(keys), True) if (keys := _keys(schema["required"])) is not None else None

    def properties(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        members = schema["properties"]
        if not isinstance(members, Mapping) or not all(inner is False for inner in members.values()):
            return None
        return all_of([["not", ["key", key]] for key in members]), True

    def dependencies(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        parts: list[Formula] = []
        for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
            members = schema.get(keyword, {})
            if not isinstance(members, Mapping):
                return None
            for key, then in members.items():
                keys = _keys([then] if isinstance(then, str) else then)
                if keys is None:
                    inner = self.read(then, depth + 1)
                    if inner is None:
                        return None
                    keys = [inner[0]]
                parts.append(any_of([["not", ["key", key]], all_of(keys)]))
        return all_of(parts), True

    def presence(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        return schema[PRESENCE], True

    def union(self, keyword: str, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        branches = schema[keyword]
        if not isinstance(branches, list) or not branches:
            return None
        parts: list[tuple[Formula, bool]] = []
        for branch in branches:
            part = self.read(branch, depth + 1)
            if part is None:
                return None
            parts.append(part)
        join, alone = _UNIONS[keyword]
        return join([formula for formula, _ in parts]), alone([other for _, other in parts])

    def negated(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        inner = self.read(schema["not"], depth + 1)
        return None if inner is None else (negation(inner[0]), not inner[1])

    def condition(self, schema: Mapping[str, Any], depth: int) -> tuple[Formula, bool] | None:
        parts = [self.read(schema.get(keyword, True), depth + 1) for keyword in ("if", "then", "else")]
        if parts[0] is None or parts[1] is None or parts[2] is None:
            return None
        (test, other), (then, then_other), (otherwise, else_other) = parts[0], parts[1], parts[2]
        formula = all_of([any_of([negation(test), then]), any_of([test, otherwise])])
        return formula, then_other if other else else_other


_Read: TypeAlias = "Callable[[_Reader, Mapping[str, Any], int], tuple[Formula, bool] | None]"
_READERS: Mapping[str, _Read] = {
    "type": _Reader.type,
    "required": _Reader.required,
    "properties": _Reader.properties,
    "dependentRequired": _Reader.dependencies,
    "dependencies": _Reader.dependencies,
    "dependentSchemas": _Reader.dependencies,
    PRESENCE: _Reader.presence,
    "allOf": lambda reader, schema, depth: reader.union("allOf", schema, depth),
    "anyOf": lambda reader, schema, depth: reader.union("anyOf", schema, depth),
    "oneOf": lambda reader, schema, depth: reader.union("oneOf", schema, depth),
    "not": _Reader.negated,
    "if": _Reader.condition,
}
_UNIONS: Mapping[str, tuple[Callable[[Sequence[Formula]], Formula], Callable[[Sequence[bool]], bool]]] = {
    "allOf": (all_of, all),
    "anyOf": (any_of, any),
    "oneOf": (only_one_of, lambda others: sum(others) == 1),
}


def _keys(names: Any) -> list[Formula] | None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return [["key", name] for name in names]


def keys_in(formula: Formula) -> Iterator[str]:
    """The names that a formula speaks of, in their order, some perhaps more than once."""
    if isinstance(formula, bool):
        return
    if formula[0] == "key":
        yield formula[1]
    elif formula[0] == "other":
        yield from formula[1]
    else:
        for part in formula[1:]:
            yield from keys_in(part)


def holds(formula: Formula, names: set[str]) -> bool:
    """Whether an object with members of these names fits a formula."""
    if isinstance(formula, bool):
        return formula
    word, *parts = formula
    if word == "key":
        return parts[0] in names
    if word == "other":
        return not names <= set(parts[0])
    if word == "not":
        return not holds(parts[0], names)
    return (all if word == "and" else any)(holds(part, names) for part in parts)


class Diagram:
    """Formulas over members in a fixed order, as nodes of a reduced, ordered decision diagram (Bryant 1986).

    Node 0 is false, 1 is true; any other asks whether one member is given. Equal formulas are equal nodes.
    """

    #: Nodes beyond which a formula counts as too large.
    MAX_NODES = 4000

    def __init__(self, order: Sequence[str]) -> None:
        self._place = {name: index for index, name in enumerate(order)}
        self._order = order
        #: The place of members that nobody declares, after all others.
        self.others = len(order)
        self._nodes: list[tuple[int, int, int]] = [(len(order) + 1, 0, 0), (len(order) + 1, 1, 1)]
        self._known: dict[tuple[int, int, int], int] = {}
        self._asked: dict[tuple[int, int, int], int] = {}

    def node(self, formula: Formula) -> int:
        """The node of a formula, all of whose names are in the order. Raises ``OverflowError``: too large."""
        if isinstance(formula, bool):
            return int(formula)
        word, *parts = formula
        if word == "key":
            return self._made(self._place[parts[0]], 0, 1)
        if word == "other":
            found = self._made(self.others, 0, 1)
            for name in self._order:
                if name not in parts[0]:
                    found = self._choice(self._made(self._place[name], 0, 1), 1, found)
            return found
        if word == "not":
            return self._choice(self.node(parts[0]), 0, 1)
        found = 1 if word == "and" else 0
        for part in parts:
            node = self.node(part)
            found = self._choice(node, found, 0) if word == "and" else self._choice(node, 1, found)
        return found

    def given(self, node: int, place: int) -> int:
        """What is left to be true once the member at a place is given; places are to be passed in their order."""
        at, _, high = self._nodes[node]
        return high if at == place else node

    def omitted(self, node: int, place: int) -> int:
        """What is left to be true once the member at a place is left out."""
        at, low, _ = self._nodes[node]
        return low if at == place else node

    def at(self, node: int, place: int, value: bool) -> int:
        """As `given` and `omitted`, for a place anywhere in the order."""
        at, low, high = self._nodes[node]
        if at > place:
            return node
        if at == place:
            return high if value else low
        return self._made(at, self.at(low, place, value), self.at(high, place, value))

    def _made(self, place: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (place, low, high)
        if key not in self._known:
            if len(self._nodes) >= self.MAX_NODES:
                raise OverflowError
            self._known[key] = len(self._nodes)
            self._nodes.append(key)
        return self._known[key]

    def _choice(self, test: int, high: int, low: int) -> int:
        """If ``test`` then ``high`` else ``low``."""
        if test < 2:
            return high if test else low
        if high == low:
            return high
        key = (test, high, low)
        if key not in self._asked:
            check()
            place = min(self._nodes[node][0] for node in key)
            on = self._choice(*(self.given(node, place) for node in key))
            off = self._choice(*(self.omitted(node, place) for node in key))
            self._asked[key] = self._made(place, off, on)
        return self._asked[key]


__all__ = ["Diagram", "Formula", "all_of", "any_of", "holds", "keys_in", "negation", "only_one_of", "presence_of"]
