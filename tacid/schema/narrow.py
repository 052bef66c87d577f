"""Narrowing: an allow-list of the machine put into schemas as an ``enum``, before prompt and grammar are made.

Where it goes is told by the discriminant, a property whose constant (or enum of one) says which alternative this is,
and not by where a generator put a definition. The schema is walked as the instances it speaks of: what an object's
references, ``allOf`` and enclosing alternatives say about its tag is known when its field is met. A definition that
others use too is copied before it is narrowed for one of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacid.catalogue import Catalogue, Tool
from tacid.errors import CatalogueError
from tacid.jsontext import MAX_DEPTH, deeper_than, quote
from tacid.schema.field import ABOUT, IMPLIED, Fields
from tacid.schema.instance import (
    APART,
    CLOSING,
    CONSEQUENCES,
    DEPENDENT,
    RESOURCE,
    Instance,
    Node,
    copied,
    key_of,
    mapping,
    members,
    patterned,
    value_of,
)
from tacid.schema.merge import ASSERTING, OPEN, merge
from tacid.schema.missed import Missed, TooMany
from tacid.schema.narrowing import Narrowing

#: Definitions that may be copied, and objects that may be split by their tag, in one tool.
MAX_COPIES = 256

_ONE_BELOW = ("items", "additionalItems", "unevaluatedItems", "additionalProperties", "unevaluatedProperties")
_MANY_BELOW = ("prefixItems", "items")
_NAMED_BELOW = ("properties", "patternProperties")


def narrow(catalogue: Catalogue, narrowings: Sequence[Narrowing]) -> Catalogue:
    """The catalogue with every narrowing in its schemas; what was handed in is not changed.

    A narrowed field admits only those names that its own schema admits, and null where it says so. Alternatives of
    other types go.
    Raises ``CatalogueError`` that names tool and field: a required narrowing without a place, or with an object that
    it may be meant for and that can't be narrowed; no name that fits; a schema too deep or too tangled.
    """
    live = [narrowing for narrowing in narrowings if narrowing.to]
    placed: set[int] = set()
    tools = []
    for tool in catalogue:
        mine = [n for n in live if n.tool in (None, tool.name)]
        work = _Narrower(tool, mine) if mine else None
        if work is not None and work.placed:
            tool = dataclasses.replace(tool, parameters=work.root)
            placed |= {id(n) for n in work.placed}
        tools.append(tool)
    for n in live:
        if n.required and id(n) not in placed and (n.tool is None or n.tool in catalogue):
            where = "no tool" if n.tool is None else f"no place in the tool {quote(n.tool, shown=True)}"
            tags = " and ".join(f"{key} is {value}" for key, value in n.when.items()) or "always"
            raise CatalogueError(
                f'The allow-list for "{n.field}" ({tags}) fits {where}; its schema has another form than expected.'
            )
    return Catalogue(tuple(tools))


class _Narrower:
    """One tool's schema, copied and narrowed: ``root`` is the result, ``placed`` the narrowings that found a place."""

    def __init__(self, tool: Tool, narrowings: Sequence[Narrowing]) -> None:
        self._tool = tool
        self._narrowings = narrowings
        self.placed: list[Narrowing] = []
        if deeper_than(tool.parameters, MAX_DEPTH):
            raise self._error("its schema nests too deep for that")
        self.root: Node = copied(tool.parameters)
        self._reads = Instance(self.root)
        self._fields = Fields(self._reads, copied(tool.parameters))
        self._copies = 0
        # The values keep alive what the identities in the keys belong to.
        self._seen: dict[tuple[int, tuple[int, ...], bool], tuple[Node, ...]] = {}
        #: By the identity of a node, what was taken into it.
        self._taken: dict[int, list[Node]] = {}
        before = _references(self.root)
        try:
            self._visit(self.root, (), True)
        except RecursionError:
            raise self._error("its schema nests too deep for that") from None
        self._prove()
        self._drop_unused(before - _references(self.root))

    def _error(self, words: str, field: str = "") -> CatalogueError:
        named = f'the field "{field}" of ' if field else ""
        return CatalogueError(
            f"The allow-list can't be put into {named}the tool {quote(self._tool.name, shown=True)}: {words}."
        )

    def _prove(self) -> None:
        """Raise where a required narrowing has left room for other names."""
        required = [narrowing for narrowing in self._narrowings if narrowing.required]
        try:
            found = Missed(self.root, self._reads, self._fields, required).first() if required else None
        except TooMany:
            raise self._error("its schema has too many alternatives for that") from None
        if found is not None:
            narrowing, place = found
            tags = " and ".join(f'"{tag}" is {quote(value, shown=True)}' for tag, value in narrowing.when.items())
            when = f"whether {tags}" if tags else "what it may hold"
            raise self._error(
                f"in {quote(place, shown=True)} it can't be told {when}; declare tag and field there in properties,"
                " the tag as a const",
                narrowing.field,
            )

    def _visit(self, node: Any, outer: tuple[Node, ...], root: bool) -> None:
        """Narrow ``node``; ``outer`` are the enclosing schemas that speak of the same instance."""
        key = (id(node), tuple(map(id, outer)), root)
        if not isinstance(node, dict) or key in self._seen:
            return
        self._seen[key] = (node, *outer)
        self._gather(node, outer, root)
        self._split(node, outer)
        known = (*outer, *self._reads.conjuncts(node))
        for narrowing in self._narrowings:
            if self._holds(narrowing, known, root):
                self._place(narrowing, node, outer, root)
        for member in members(node, ("allOf", *APART)):
            self._visit(member, known, root)
        condition = self._reads.conjuncts(node.get("if"))
        self._visit(node.get("then"), (*known, *condition), root)
        self._visit(node.get("else"), known, root)
        for schema in (*mapping(node, "dependentSchemas").values(), *mapping(node, "dependencies").values()):
            self._visit(schema, known, root)
        self._visit(self._reads.target(node), (), False)
        for below in _below(node):
            self._visit(below, (), False)

    def _holds(self, narrowing: Narrowing, known: Sequence[Node], root: bool) -> bool:
        if not narrowing.when:
            return root
        return all(
            values is not None and value in values and values <= self._alike(narrowing, tag)
            for tag, value in narrowing.when.items()
            for values in (self._reads.values(tag, known),)
        )

    def _alike(self, narrowing: Narrowing, tag: str) -> frozenset[str]:
        """The values of the tag for which the field is narrowed to the same names."""
        return frozenset(
            other.when[tag]
            for other in self._narrowings
            if other.field == narrowing.field
            and (other.to is narrowing.to or other.to == narrowing.to)
            and other.when.keys() == narrowing.when.keys()
            and all(other.when[key] == value for key, value in narrowing.when.items() if key != tag)
        )

    def _gather(self, node: Node, outer: tuple[Node, ...], root: bool) -> None:
        """Take what a reference or ``allOf`` says into the node itself, where only together they tell the tag."""
        if not self._belongs_together(node, outer, root):
            return
        self._count()
        target = self._reads.target(node)
        taken = self._reads.conjuncts(node)
        merged = self._merged(node)
        if merged is None and target is not None:
            # Beside each other then, copied: exact, though no grammar's friend.
            said = {key: value for key, value in copied(target).items() if key not in RESOURCE}
            merged = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
            merged["allOf"] = [*node.get("allOf", ()), said]
        if merged is not None:
            node.clear()
            node.update(merged)
            self._taken[id(node)] = taken

    def _merged(self, node: Node) -> Node | None:
        merged: Any = {}
        about: Node = {}
        for part in self._reads.conjuncts(node):
            if "$ref" in part and self._reads.target(part) is None:
                return None
            if not all(isinstance(member, dict) for member in part.get("allOf", ())):
                return None
            about = {**{key: value for key, value in part.items() if key not in ASSERTING}, **about}
            own = {key: value for key, value in part.items() if key in ASSERTING and key not in ("$ref", "allOf")}
            merged = merge(merged, own)
            if not isinstance(merged, Mapping) or OPEN in merged:
                return None
            if part is node:
                kept = {key: about.pop(key) for key in RESOURCE & about.keys()}
        for key in RESOURCE & about.keys():
            del about[key]
        return {**copied(merged), **copied(about), **kept}

    def _belongs_together(self, node: Node, outer: tuple[Node, ...], root: bool) -> bool:
        target = self._reads.target(node)
        if target is None and not any(members(node, ("allOf",))):
            return False
        if any(target is known for one in outer for known in (one, *self._taken.get(id(one), ()))):
            return False  # leads back to what is known of this instance already
        everything = (*outer, *self._reads.conjuncts(node))
        alone = self._reads.conjuncts({"$ref": node["$ref"]}) if "$ref" in node and "allOf" not in node else []
        for narrowing in self._narrowings:
            if not self._room(node, narrowing.name):
                continue
            if not narrowing.when:
                if root:
                    return True
                continue
            tags = {tag: self._reads.values(tag, everything) for tag in narrowing.when}
            possible = all(values is None or narrowing.when[tag] in values for tag, values in tags.items())
            if possible and any(v is not None and v != self._reads.values(tag, alone) for tag, v in tags.items()):
                return True
        return False

    def _split(self, node: Node, outer: tuple[Node, ...]) -> None:
        """Make alternatives of an object whose tag has several values of which only some narrow the field."""
        known = (*outer, *self._reads.conjuncts(node))
        for narrowing in self._narrowings:
            for tag, value in narrowing.when.items():
                values = self._reads.values(tag, known)
                if values is None or value not in values or not self._room(node, narrowing.name):
                    continue
                alike = self._alike(narrowing, tag) & values
                if alike == values:
                    continue
                if tag not in mapping(node, "properties"):
                    if values == self._reads.values(tag, self._reads.conjuncts(self._reads.target(node))):
                        continue  # split where the reference leads to
                    raise self._error(f'the tag "{tag}" has several values, and stands elsewhere', narrowing.field)
                self._count()
                kept = {key: node.pop(key) for key in RESOURCE & node.keys()}
                if node is self.root:
                    kept["type"] = "object"
                halves = [self._with_tag(node, tag, half) for half in (alike, values - alike)]
                node.clear()
                node.update({**kept, "anyOf": halves})
                return

    def _with_tag(self, node: Node, tag: str, values: frozenset[str]) -> Node:
        half: Node = copied(node)
        said = self._reads.flat(half["properties"][tag])
        listed = [key_of(value) for value in said.get("enum", ()) if isinstance(said["enum"], list)]
        ordered = [value_of(key) for key in listed if key in values] or [value_of(key) for key in sorted(values)]
        plain = {key: value for key, value in said.items() if key not in {*IMPLIED, *ABOUT} or key == "description"}
        tagged: Node = {"const": ordered[0]} if len(ordered) == 1 else {"enum": ordered}
        half["properties"][tag] = {**tagged, **plain}
        return half

    def _place(self, narrowing: Narrowing, node: Node, outer: tuple[Node, ...], root: bool) -> None:
        name = narrowing.name
        if name in mapping(node, "properties"):
            narrowed = self._narrowed(node["properties"][name], narrowing)
            if narrowed is not None:
                node["properties"][name] = narrowed
                self.placed.append(narrowing)
            return
        if self._holds(narrowing, outer, root):
            return
        # The tag stands in here, the field in an enclosing schema that other alternatives share.
        for schema in outer:
            declared = mapping(schema, "properties").get(name)
            narrowed = None if declared is None else self._narrowed(declared, narrowing)
            if narrowed is None or node.get("additionalProperties") is False:
                continue
            if CLOSING & node.keys():
                node["allOf"] = [*node.get("allOf", ()), {"properties": {name: narrowed}}]
            else:
                node["properties"] = {**mapping(node, "properties"), name: narrowed}
            self.placed.append(narrowing)
            return
        self._declare(narrowing, node)

    def _declare(self, narrowing: Narrowing, node: Node) -> None:
        """Declare the field where the tag is known and something else than ``properties`` gives the field room.

        A grammar may not hold conditions and patterns; where the tag is known before them, so is the field.
        """
        name = narrowing.name
        said = self._reads.conjuncts(node)
        branches = [branch for part in said for branch in members(part, APART)]
        if any(name in mapping(part, "properties") for part in said):
            return  # narrowed where it stands
        if not self._room(node, name) or any(self._reads.mentions(branch, name) for branch in branches):
            return
        parts = patterned(node, name) or [node.get("additionalProperties", True)]
        consequences = [*map(node.get, CONSEQUENCES), *(s for key in DEPENDENT for s in mapping(node, key).values())]
        declared = [mapping(self._reads.flat(schema), "properties").get(name) for schema in consequences]
        found = [schema for schema in declared if schema is not None]
        if not found and parts == [True]:
            parts = [node.get("unevaluatedProperties", True)]
        for schema in found or [True]:
            if False in (schema, *parts):
                continue
            said_of_it = [part for part in (schema, *parts) if part is not True]
            narrowed = self._narrowed({"allOf": said_of_it} if len(said_of_it) > 1 else [*said_of_it, {}][0], narrowing)
            if narrowed is not None:
                node["properties"] = {**mapping(node, "properties"), name: narrowed}
                self.placed.append(narrowing)
                return

    def _room(self, node: Node, name: str) -> bool:
        """Whether an object is said to have, or to be open for, a member of this name."""
        return self._reads.speaks(node, name) or any(
            keyword in part and part[keyword] is not False
            for part in self._reads.conjuncts(node)
            for keyword in ("additionalProperties", "unevaluatedProperties")
        )

    def _narrowed(self, schema: Any, narrowing: Narrowing) -> Node | None:
        try:
            return self._fields.narrowed(schema, narrowing.to, narrowing.lists)
        except ValueError as error:
            raise self._error(str(error), narrowing.field) from None

    def _count(self) -> None:
        self._copies += 1
        if self._copies > MAX_COPIES:
            raise self._error("its schema is too tangled for that")

    def _drop_unused(self, unused: set[str]) -> None:
        """Remove definitions that only narrowed fields referred to: what they still show is what can't be said."""
        while unused:
            before = _references(self.root)
            for container in ("$defs", "definitions"):
                definitions = mapping(self.root, container)
                for name in [name for name in definitions if f"#/{container}/{name}" in unused]:
                    del definitions[name]
                if container in self.root and not definitions:
                    del self.root[container]
            unused = before - _references(self.root)


def _below(node: Node) -> Iterator[Any]:
    """The schemas for what is inside the instance. Not ``not``, ``if``, ``contains``: narrowing those would widen."""
    for key in _ONE_BELOW:
        yield node.get(key)
    yield from members(node, _MANY_BELOW)
    for key in _NAMED_BELOW:
        yield from mapping(node, key).values()


def _references(root: Node) -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                found.add(value["$ref"])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


__all__ = ["Narrowing", "narrow"]
