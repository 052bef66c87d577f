"""Whether a narrowed schema still has room for a name that is not on the list, judged apart from how it was narrowed.

Every object that a schema speaks of is looked at as each choice of its alternatives makes it. What a grammar doesn't
hold (conditions, patterns of names) counts as able to let something in, and never as keeping it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacid.schema.field import Fields
from tacid.schema.instance import APART, Instance, Node, conditional, mapping, members, patterned, says, types
from tacid.schema.merge import ASSERTING, OPEN, merge
from tacid.schema.narrowing import Narrowing

#: Choices of alternatives that are looked at in one tool.
MAX_CHOICES = 2_000

#: Keywords that may declare members elsewhere, so that saying nothing of further members leaves room for them.
_ELSEWHERE = ("if", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef")
_APPLIED = frozenset({"$ref", "allOf", *APART})
_OTHERS = ("additionalProperties", "unevaluatedProperties")


class TooMany(Exception):
    """More alternatives than `MAX_CHOICES`."""


class Missed:
    """Looks for objects of one document in which a narrowing should hold and doesn't."""

    def __init__(self, root: Node, reads: Instance, fields: Fields, narrowings: Sequence[Narrowing]) -> None:
        self._root = root
        self._reads = reads
        self._fields = fields
        self._narrowings = narrowings
        self._choices = 0
        self._allowed = {id(narrowing): frozenset(narrowing.to) for narrowing in narrowings}
        # By the identity of schemas: nothing in the document is changed any more.
        self._held: dict[tuple[int, int], bool] = {}
        self._says: dict[tuple[int, str], bool] = {}
        self._parts: dict[int, list[Node]] = {}

    def first(self) -> tuple[Narrowing, str] | None:
        """A narrowing that was missed, and where: names of members, ``*`` for items, with slashes between.

        An object counts where it speaks of the tag or of the field and has room for both. Raises `TooMany`.
        """
        seen: set[tuple[frozenset[int], frozenset[int], bool]] = set()
        todo: list[tuple[list[Node], Sequence[Node], tuple[str, ...]]] = [([], [self._root], ())]
        while todo:
            known, schemas, place = todo.pop()
            key = (frozenset(map(id, known)), frozenset(map(id, schemas)), not place)
            if key in seen:
                continue
            seen.add(key)
            for said in self._choices_of(known, schemas):
                # Where more is known by a condition, what holds without it has been looked at.
                for narrowing in self._narrowings if not known else ():
                    if (narrowing.when or not place) and self._misses(said, narrowing):
                        return narrowing, "/".join(place) or "the arguments"
                todo += [([], below, (*place, name)) for below, name in self._below(said)]
                more = self._conjuncts([schema for node in said for schema in conditional(node)], said)
                todo += [(said, [node], place) for node in more]
        return None

    def _choices_of(self, known: list[Node], schemas: Sequence[Node]) -> Iterator[list[Node]]:
        """What applies to one instance beside what is known of it, for every choice among the alternatives."""
        start = self._conjuncts(schemas, known)
        waiting = [([*known, *start], _unions(start))]
        while waiting:
            said, unions = waiting.pop()
            self._choices += 1
            if self._choices > MAX_CHOICES:
                raise TooMany
            if not unions:
                yield said
                continue
            for branch in unions[0]:
                new = self._conjuncts([branch], said) if isinstance(branch, dict) else []
                if branch is not False:
                    waiting.append(([*said, *new], [*unions[1:], *_unions(new)]))

    def _conjuncts(self, schemas: Sequence[Any], known: Sequence[Node]) -> list[Node]:
        found = {id(node): node for node in known}
        new: list[Node] = []
        for schema in schemas:
            if id(schema) not in self._parts:
                legacy, parts = self._reads.legacy, self._reads.conjuncts(schema)
                self._parts[id(schema)] = [p for p in parts if not legacy or self._reads.target(p) is None]
            for node in self._parts[id(schema)]:
                if id(node) not in found:
                    found[id(node)] = node
                    new.append(node)
        return new

    def _misses(self, said: Sequence[Node], narrowing: Narrowing) -> bool:
        listed = [node["enum"] for node in said if isinstance(node.get("enum"), list)]
        listed += [[node["const"]] for node in said if "const" in node]
        if listed:
            return all(any(self._bad(value, narrowing) for value in values) for values in listed)
        if any("type" in node and "object" not in types(node) for node in said):
            return False
        names = (narrowing.name, *narrowing.when)
        if not any(self._spoken(said, name) for name in names):
            return False
        # A reference that leads nowhere, or back to itself, is not held by a grammar, nor is what stands beside it.
        if any("$ref" in node and self._reads.target(node) is None for node in said) or any(map(self._circular, said)):
            return True
        if not all(self._tag_fits(said, tag, value) for tag, value in narrowing.when.items()):
            return False
        return self._field_is_free(said, narrowing)

    def _tag_fits(self, said: Sequence[Node], tag: str, value: str) -> bool:
        schemas = self._schemas(said, tag)
        if not schemas and not self._spoken(said, tag) and not _open(said):
            return False
        for schema in schemas:
            counted = self._reads.finite(schema)
            if (counted is not None and value not in counted) or not self._reads.admits(schema, "string"):
                return False
        return all(self._fields.fit(schema, [value]) for schema in schemas)

    def _field_is_free(self, said: Sequence[Node], narrowing: Narrowing) -> bool:
        schemas = self._schemas(said, narrowing.name, patterns=False)
        if not schemas and not self._spoken(said, narrowing.name) and not _open(said):
            return False
        # Of what can't be merged a grammar may not hold all.
        return not any(self._holds(schema, narrowing) for schema in schemas) or not _mergeable(said)

    def _circular(self, node: Node) -> bool:
        return any(part is node for part in self._reads.conjuncts(self._reads.target(node)))

    def _holds(self, schema: Any, narrowing: Narrowing) -> bool:
        key = (id(schema), id(narrowing))
        if isinstance(schema, bool):
            return not schema
        if key not in self._held:
            self._held[key] = self._holds_deep(schema, self._allowed[id(narrowing)], narrowing.lists)
        return self._held[key]

    def _holds_deep(self, schema: Any, allowed: frozenset[str], lists: int, depth: int = 8) -> bool:
        """Whether no text but the allowed ones is admitted, ``lists`` lists deep."""
        if not depth or not self._reads.admits(schema, "array" if lists else "string"):
            return bool(depth)
        said = self._reads.flat(schema)
        for key in APART:
            branches = said.get(key)
            if isinstance(branches, list) and all(self._holds_deep(b, allowed, lists, depth - 1) for b in branches):
                return True
        if not lists:
            counted = self._reads.finite(schema)
            return counted is not None and all(value in allowed or value.startswith("\0") for value in counted)
        if isinstance(said.get("enum"), list):
            return all(not isinstance(value, list) or _within(value, allowed, lists) for value in said["enum"])
        ahead = said.get("prefixItems", [])
        items = said.get("items", True)
        if isinstance(items, list):
            ahead, items = [*ahead, *items], said.get("additionalItems", True)
        return all(self._holds_deep(item, allowed, lists - 1, depth - 1) for item in (*ahead, items))

    def _bad(self, value: Any, narrowing: Narrowing) -> bool:
        """Whether a listed value is, or holds, an object with a name that isn't allowed."""
        if isinstance(value, list):
            return any(self._bad(item, narrowing) for item in value)
        if not isinstance(value, dict):
            return False
        if all(value.get(tag) == wanted for tag, wanted in narrowing.when.items()):
            return not _within(value.get(narrowing.name), self._allowed[id(narrowing)], narrowing.lists)
        return any(self._bad(item, narrowing) for item in value.values())

    def _spoken(self, said: Sequence[Node], name: str) -> bool:
        for node in said:
            key = (id(node), name)
            if key not in self._says:
                self._says[key] = says(node, name) or self._conditionally(node, name)
            if self._says[key]:
                return True
        return False

    def _conditionally(self, node: Node, name: str) -> bool:
        return any(self._reads.speaks(schema, name) for schema in conditional(node))

    def _schemas(self, said: Sequence[Node], name: str, patterns: bool = True) -> list[Any]:
        """What is said about the member of this name, if it is there."""
        found: list[Any] = []
        declared = False
        for node in said:
            own = [mapping(node, "properties")[name]] if name in mapping(node, "properties") else []
            matched = patterned(node, name)
            declared = declared or bool(own or matched)
            found += own + (matched if patterns else [])
            if not own and not matched and isinstance(node.get("additionalProperties"), (dict, bool)):
                found.append(node["additionalProperties"])
                declared = True
        if not declared and not any(self._conditionally(node, name) for node in said):
            unevaluated = [node.get("unevaluatedProperties") for node in said]
            found += [schema for schema in unevaluated if isinstance(schema, (dict, bool))]
        return found

    def _below(self, said: Sequence[Node]) -> Iterator[tuple[tuple[Node, ...], str]]:
        """What applies to each thing inside the instance, and the thing's name."""
        names = dict.fromkeys(name for node in said for name in mapping(node, "properties"))
        groups = [(self._schemas(said, name), name) for name in names]
        for keyword in (*_OTHERS, "additionalItems", "unevaluatedItems"):
            groups += [([node.get(keyword)], "*") for node in said]
        groups += [([schema], "*") for node in said for schema in mapping(node, "patternProperties").values()]
        ahead = [[*members(node, ("prefixItems",)), *members(node, ("items",))] for node in said]
        for at in range(max(map(len, ahead), default=0) + 1):
            items = [some[at] if at < len(some) else n.get("items") for n, some in zip(said, ahead, strict=True)]
            groups.append((items, "*"))
        for group, name in groups:
            below = tuple(schema for schema in group if isinstance(schema, dict))
            if below:
                yield below, name


def _within(value: Any, allowed: frozenset[str], lists: int) -> bool:
    if lists and isinstance(value, list):
        return all(_within(item, allowed, lists - 1) for item in value)
    return not isinstance(value, str) or bool(lists) or value in allowed


def _mergeable(said: Sequence[Node]) -> bool:
    merged: Any = True
    for node in said:
        merged = merge(merged, {key: value for key, value in node.items() if key in ASSERTING - _APPLIED})
        if merged is None:
            return False
    return not isinstance(merged, dict) or OPEN not in merged


def _unions(nodes: Sequence[Node]) -> list[list[Any]]:
    return [node[key] for node in nodes for key in APART if isinstance(node.get(key), list)]


def _open(said: Sequence[Node]) -> bool:
    """Whether there is room for members of which nothing is said."""
    if any(keyword in node and node[keyword] is not False for node in said for keyword in _OTHERS):
        return True
    return not any("properties" in node for node in said) or any(key in node for node in said for key in _ELSEWHERE)


__all__ = ["MAX_CHOICES", "Missed", "TooMany"]
