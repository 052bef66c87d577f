"""Arrays whose items are counted or kept apart: ``contains`` with its bounds, and ``uniqueItems``.

What an item may be is sorted into kinds: by whether it is one that the array must contain, and, where items are to
differ, by its value. A state is how many items there are, how many of what must be contained, and which values; it
says what may follow. The work is bounded; what is beyond the bounds is recorded, and only its sum is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacid.grammar.bounds import bound
from tacid.grammar.context import NOT_HELD, Compiled, Nothing, Scope
from tacid.grammar.finite import finite
from tacid.grammar.nodes import Gate, Node, Ref
from tacid.grammar.printer import children
from tacid.grammar.tally import Kind, Tally, TooManyStates, tally
from tacid.grammar.values import checked
from tacid.schema.alternatives import split
from tacid.schema.exclusive import disjoint
from tacid.schema.flat import UNEVALUATED
from tacid.schema.keywords import ALSO, ASSERTING, OPEN, OURS, same_key
from tacid.schema.merge import both, contained, join

#: Kinds of items at one place; values that are told apart there.
MAX_KINDS = 24
#: Schemas of ``contains`` that are counted beside each other.
MAX_DEMANDS = 3

_REASONS: Mapping[str, str] = {
    "uniqueItems": "the items aren't few values that the grammar could keep apart; they are compared afterwards",
    "contains": "the grammar can't tell, or not within its bounds, which items are such; they are counted afterwards",
}


@dataclass(frozen=True)
class Items:
    """What stands where in an array: schemas with their pointers for the first items and for all further ones."""

    first: Sequence[tuple[str, Any]]
    further: tuple[str, Any]
    least: int
    most: int | None

    @property
    def places(self) -> list[tuple[str, Any]]:
        """The schemas of the items that there may be, the last that of any further one too."""
        listed = [*self.first, self.further]
        return listed if self.most is None else listed[: self.most]

    def repeats(self, place: int) -> bool:
        """Whether several items may stand at a place."""
        return place == len(self.first) and (self.most is None or self.most > place + 1)


@dataclass(frozen=True)
class _Demand:
    schema: Any
    least: int
    most: int | None


class _NotTold(Exception):
    """It can't be told which items are of a kind."""


def compile_counted(scope: Scope, schema: Mapping[str, Any], pointer: str, items: Items) -> Compiled | Items:
    """The array; or, where nothing is left to count, its items with bounds that hold what can be held of the sum."""
    demands: list[_Demand] = []
    for part in contained(schema):
        demand = _demand(scope, part, pointer)
        if isinstance(demand, Nothing):
            return demand
        if demand is not None and _anything(scope, demand.schema):
            items = replace(items, least=max(items.least, demand.least), most=_smaller(items.most, demand.most))
        elif demand is not None:
            demands.append(demand)
            items = replace(items, least=max(items.least, demand.least))
    unique = _unique(scope, schema, pointer) and (items.most is None or items.most > 1)
    if not demands and not unique:
        return items
    values = [finite(scope, inner) for _, inner in items.places]
    if unique:
        known = None if None in values else {same_key(value) for one in values for value in one or ()}
        if known is not None:
            items = replace(items, most=_smaller(items.most, len(known)))
            if len(known) < items.least:
                return Nothing(f"{pointer}/uniqueItems", f"there are only {len(known):,} values that items may have")
    return _Array(scope, pointer, items, values[: len(items.places)]).compiled(unique, demands)


def _demand(scope: Scope, part: Mapping[str, Any], pointer: str) -> _Demand | Nothing | None:
    """What must be contained; ``None`` where that is nothing."""
    if not isinstance(part["contains"], (bool, Mapping)):
        scope.widen(pointer, "contains", "this is no JSON Schema")
        return None
    least = (bound(scope, part, pointer, "minContains") or 0) if "minContains" in part else 1
    most = bound(scope, part, pointer, "maxContains")
    if most is not None and most < least:
        reason = f"the fewest that must be contained, {least:,}, are more than the most, {most:,}"
        return Nothing(f"{pointer}/contains", reason)
    return _Demand(part["contains"], least, most) if least or most is not None else None


def _unique(scope: Scope, schema: Mapping[str, Any], pointer: str) -> bool:
    value = schema.get("uniqueItems", False)
    if not isinstance(value, bool):
        scope.widen(pointer, "uniqueItems", "this is neither true nor false, so it isn't held")
    return value is True


def _anything(scope: Scope, schema: Any) -> bool:
    whole = scope.flat(schema)
    return whole is True or (isinstance(whole, Mapping) and (ASSERTING | OURS).isdisjoint(whole))


def _smaller(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


class _Array:
    """One array's items, with the values of those places that have few."""

    def __init__(self, scope: Scope, pointer: str, items: Items, values: list[list[Any] | None]) -> None:
        self.scope, self.pointer, self.items, self.values = scope, pointer, items, values

    def compiled(self, unique: bool, demands: list[_Demand]) -> Compiled | Items:
        """The array with all that can be held of what is asked; the rest is recorded."""
        tries = [(unique, demands)]
        if demands and unique:
            tries += [(False, demands), (True, [])]
        for distinct, counted in tries:
            node = self.held(distinct, counted)
            if node is not None:
                if unique and not distinct:
                    self.lose("uniqueItems")
                if demands and not counted:
                    self.lose("contains")
                return node
        for keyword, there in (("uniqueItems", unique), ("contains", bool(demands))):
            if there:
                self.lose(keyword)
        return self.items

    def lose(self, keyword: str) -> None:
        self.scope.widen(self.pointer, keyword, _REASONS.get(keyword, NOT_HELD))

    def held(self, unique: bool, demands: list[_Demand]) -> Compiled | Items | None:
        """The array, or its items where nothing is to be counted; ``None`` where that can't be held."""
        told = self.told_apart() if unique else {}
        if told is None or len(demands) > MAX_DEMANDS:
            return None
        if not told and not demands:
            return self.items
        self.scope.discard()
        try:
            kinds = [self.kinds(place, told, demands) for place in range(len(self.items.places))]
        except _NotTold:
            return None
        nodes = [kind.node for one in kinds for kind in one]
        if any(len(one) > MAX_KINDS for one in kinds) or self.gated(nodes):
            return None
        counts = [(demand.least, demand.most) for demand in demands]
        least = 0 if any(low >= self.items.least for low, _ in counts) else self.items.least
        try:
            node = tally(self.scope, Tally(kinds, least, self.items.most, counts))
        except TooManyStates:
            return None
        if node is None:
            word = "contains" if demands else "uniqueItems"
            return Nothing(f"{self.pointer}/{word}", "no choice of items fits")
        return node

    def told_apart(self) -> dict[str, int] | None:
        """Numbers of the values that two items might share; ``None`` where items might share one that isn't known."""
        seen: dict[str, int] = {}
        for place, values in enumerate(self.values):
            if values is None and (self.items.repeats(place) or not self.alone(place)):
                return None
            for value in values or ():
                key = same_key(value)
                seen[key] = seen.get(key, 0) + 1 + self.items.repeats(place)
        shared = [key for key, times in seen.items() if times > 1]
        return {key: number for number, key in enumerate(shared)}

    def alone(self, place: int) -> bool:
        """Whether no other item can be what the one at a place may be."""
        whole = self.scope.flat(self.items.places[place][1])
        for other, (_, schema) in enumerate(self.items.places):
            values = self.values[other]
            if other == place or whole is False:
                continue
            if values is None:
                flat = self.scope.flat(schema)
                if not isinstance(whole, Mapping) or not isinstance(flat, Mapping) or not disjoint(whole, flat):
                    return False
            elif values and self.fitting(self.items.places[place][1], values) != []:
                return False
        return True

    def fitting(self, schema: Any, values: list[Any]) -> list[Any] | None:
        """The values that fit a schema, ``None`` where that can't be told."""
        if isinstance(schema, bool):
            return values if schema else []
        return checked(self.scope, {"allOf": [schema]}, values)

    def kinds(self, place: int, told: Mapping[str, int], demands: list[_Demand]) -> list[Kind]:
        values = self.values[place]
        if values is not None:
            return self.kinds_of_values(values, told, demands)
        schema, pointer = self.items.places[place][1], self.items.places[place][0]
        sorts: list[tuple[Any, tuple[bool, ...]]] = [(schema, ())]
        for demand in demands:
            sorts = [part for one, hits in sorts for part in self.parted(one, hits, demand)]
            if len(sorts) > MAX_KINDS:
                raise _NotTold
        loose = tuple(demand.most is None for demand in demands)
        found = []
        for one, hits in sorts:
            compiled = (
                self.scope.node(one, pointer) if one is schema else self.scope.merged(one, f"{self.pointer}/contains")
            )
            if not isinstance(compiled, Nothing):
                found.append(Kind(self.scope.small("item", compiled), hits, loose, None))
        return found

    def parted(self, schema: Any, hits: tuple[bool, ...], demand: _Demand) -> list[tuple[Any, tuple[bool, ...]]]:
        """A kind of items as those that are contained and the others; where many are allowed, as any at all."""
        whole = self.scope.flat(schema)
        hit = both(schema, demand.schema)
        if isinstance(hit, Mapping) and not (isinstance(whole, Mapping) and "properties" in whole):
            # Members that only the other schema declares don't close what was open.
            hit = {"allOf": [hit], OPEN: True}
        if demand.most is None:
            return [(hit, (*hits, True)), (schema, (*hits, False))]
        if isinstance(whole, Mapping) and any(keyword in whole for keyword in UNEVALUATED):
            raise _NotTold
        lost: list[str] = []
        others = split(join(whole, {"not": demand.schema}), self.scope.flat, lost.append)
        if lost:
            raise _NotTold
        return [(hit, (*hits, True)), *((one, (*hits, False)) for one in others)]

    def kinds_of_values(self, values: list[Any], told: Mapping[str, int], demands: list[_Demand]) -> list[Kind]:
        hit: list[set[str]] = []
        for demand in demands:
            fitting = self.fitting(demand.schema, values)
            if fitting is None:
                raise _NotTold
            hit.append({same_key(value) for value in fitting})
        groups: dict[tuple[tuple[bool, ...], int | None], list[Any]] = {}
        for value in values:
            key = same_key(value)
            groups.setdefault((tuple(key in one for one in hit), told.get(key)), []).append(value)
        if len(groups) > MAX_KINDS:
            raise _NotTold
        loose = (False,) * len(demands)
        found = []
        for (hits, number), group in groups.items():
            compiled = self.scope.node({"enum": group}, self.pointer)
            if not isinstance(compiled, Nothing):
                found.append(Kind(self.scope.small("item", compiled), hits, loose, number))
        return found

    def gated(self, nodes: list[Node]) -> bool:
        """Whether a choice of its own stands somewhere in the nodes: such may not be one way among several."""
        waiting, seen = list(nodes), set[str]()
        while waiting:
            node = waiting.pop()
            if isinstance(node, Gate):
                return True
            if isinstance(node, Ref) and node.name not in seen and node.name in self.scope.builder.rules:
                seen.add(node.name)
                waiting.append(self.scope.builder.rules[node.name])
            waiting.extend(children(node))
        return False


#: Keywords that `compile_counted` reads.
COUNTED = frozenset({"contains", "uniqueItems", ALSO})

__all__ = ["COUNTED", "Items", "compile_counted"]
