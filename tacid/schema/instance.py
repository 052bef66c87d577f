"""What all applies to one instance: a schema, its references, its ``allOf``, and the values that a tag may have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tacid.jsontext import dumps
from tacid.schema.refs import Resolver

Node: TypeAlias = dict[str, Any]

#: Keywords whose schemas speak about the same instance: all of them, or one of several.
TOGETHER = ("allOf",)
APART = ("anyOf", "oneOf")
#: Keywords of a schema resource, which stay with it when what it says is copied elsewhere.
RESOURCE = frozenset({"$defs", "definitions", "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary"})
#: Keywords that make what ``properties`` declares matter to members that it doesn't declare.
CLOSING = frozenset({"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"})
#: Keywords whose schemas speak of the same instance, where a condition holds: one of two, or by a member that is there.
CONSEQUENCES = ("then", "else")
DEPENDENT = ("dependentSchemas", "dependencies")


class Instance:
    """Reads schemas of one document as statements about one instance. Changes nothing."""

    def __init__(self, root: Node) -> None:
        self._resolver = Resolver(root)

    @property
    def legacy(self) -> bool:
        """Whether keywords beside a ``$ref`` don't count in this document."""
        return self._resolver.legacy

    def target(self, node: Node) -> Node | None:
        """What the ``$ref`` of a schema leads to, if it has one and that is an object."""
        ref = node.get("$ref")
        found = self._resolver.resolve(ref) if isinstance(ref, str) else None
        return found[1] if found is not None and isinstance(found[1], dict) else None

    def conjuncts(self, schema: Any) -> list[Node]:
        """The schema itself, what it refers to and its ``allOf``, all the way down; each once."""
        found: dict[int, Node] = {}
        waiting = [schema]
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, dict) and id(node) not in found:
                found[id(node)] = node
                waiting += [self.target(node), *members(node, TOGETHER)]
        return list(found.values())

    def flat(self, schema: Any) -> Node:
        """One object with all that the conjuncts say, the outer word before the inner where they repeat a keyword."""
        merged: Node = {}
        for node in self.conjuncts(schema):
            for key, value in node.items():
                if key not in RESOURCE and key not in ("$ref", "allOf"):
                    merged.setdefault(key, value)
        return merged

    def mentions(self, schema: Any, name: str) -> bool:
        """Whether a property ``name`` is declared for this instance, in any conjunct or alternative."""
        return self._anywhere(schema, lambda node: name in mapping(node, "properties"))

    def speaks(self, schema: Any, name: str) -> bool:
        """Whether a member ``name`` is spoken of as `says` has it, in any conjunct or alternative."""
        return self._anywhere(schema, lambda node: says(node, name))

    def _anywhere(self, schema: Any, test: Callable[[Node], bool]) -> bool:
        seen: set[int] = set()
        waiting = [schema]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, dict) or id(node) in seen:
                continue
            seen.add(id(node))
            if test(node):
                return True
            waiting += [self.target(node), *members(node, TOGETHER + APART), *conditional(node)]
        return False

    def values(self, name: str, nodes: Iterable[Node]) -> frozenset[str] | None:
        """What ``nodes`` together leave to the property ``name``, as `finite` does."""
        found: frozenset[str] | None = None
        for node in nodes:
            if name in mapping(node, "properties"):
                some = self.finite(node["properties"][name])
                found = found if some is None else some if found is None else found & some
        return found

    def finite(self, schema: Any) -> frozenset[str] | None:
        """The values that a schema counts out, each by `key_of`; ``None`` where it doesn't."""
        return self._finite(schema, 8)

    def _finite(self, schema: Any, depth: int) -> frozenset[str] | None:
        found: frozenset[str] | None = None
        for node in self.conjuncts(schema) if depth else ():
            said = [[node["const"]]] if "const" in node else []
            said += [node["enum"]] if isinstance(node.get("enum"), list) else []
            some = [frozenset(key_of(value) for value in values if admits_type(node, value)) for values in said]
            for key in APART:
                branches = [self._finite(branch, depth - 1) for branch in members(node, (key,))]
                if len(branches) != len(node.get(key) or ()):
                    continue
                if branches and all(branch is not None for branch in branches):
                    some.append(frozenset().union(*(branch for branch in branches if branch is not None)))
            for values in some:
                found = values if found is None else found & values
        return found

    def admits(self, schema: Any, kind: str) -> bool:
        """Whether a schema has room for a value of this type, as far as types, constants and alternatives say."""
        return self._admits(schema, kind, 8)

    def _admits(self, schema: Any, kind: str, depth: int) -> bool:
        if schema is False:
            return False
        for node in self.conjuncts(schema) if depth else ():
            said = [node["const"]] if "const" in node else node.get("enum")
            if isinstance(said, list) and not any(type_of(value) == kind for value in said):
                return False
            if "type" in node and kind not in types(node):
                return False
            for key in APART:
                branches = node.get(key)
                if isinstance(branches, list) and not any(self._admits(b, kind, depth - 1) for b in branches):
                    return False
        return True


def members(node: Node, keywords: Iterable[str]) -> Iterator[Node]:
    """The object schemas in lists under these keywords."""
    for key in keywords:
        for member in node[key] if isinstance(node.get(key), list) else ():
            if isinstance(member, dict):
                yield member


def mapping(node: Mapping[str, Any], key: str) -> Node:
    """The object under a keyword; an empty one where there is none."""
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def conditional(node: Node) -> Iterator[Node]:
    """The schemas that speak of the same instance where a condition holds."""
    for schema in (*map(node.get, CONSEQUENCES), *(s for key in DEPENDENT for s in mapping(node, key).values())):
        if isinstance(schema, dict):
            yield schema


def patterned(node: Node, name: str) -> list[Any]:
    """The schemas in ``patternProperties`` for a member ``name``; a pattern that can't be read may be meant too."""
    found = []
    for pattern, schema in mapping(node, "patternProperties").items():
        try:
            matches = re.search(pattern, name) is not None
        except (re.error, RecursionError, OverflowError):
            matches = True
        if matches:
            found.append(schema)
    return found


def says(node: Node, name: str) -> bool:
    """Whether a schema itself declares, requires or matches by a pattern a member ``name``."""
    lists = [
        node.get("required"),
        *(v for key in ("dependentRequired", *DEPENDENT) for v in mapping(node, key).values()),
    ]
    return (
        name in mapping(node, "properties")
        or any(isinstance(names, list) and name in names for names in lists)
        or bool(patterned(node, name))
    )


def types(node: Node) -> list[Any]:
    """The ``type`` of a schema as a list."""
    kind = node.get("type")
    return kind if isinstance(kind, list) else [kind]


def type_of(value: Any) -> str:
    """The JSON Schema type of a value; a whole number counts as ``number``."""
    if value is None:
        return "null"
    names = ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "object")


def admits_type(node: Node, value: Any) -> bool:
    """Whether ``type`` has room for the value."""
    kind = type_of(value)
    return "type" not in node or kind in types(node) or (kind == "number" and "integer" in types(node))


def key_of(value: Any) -> str:
    """A text as itself; anything else as JSON behind NUL, which no tag begins with."""
    return value if isinstance(value, str) else "\0" + dumps(value)


def value_of(key: str) -> Any:
    """The value that `key_of` gave this key."""
    return json.loads(key[1:]) if key.startswith("\0") else key


def copied(value: Any) -> Any:
    """A copy in which nothing is shared, not even what the original shares with itself."""
    if isinstance(value, Mapping):
        return {key: copied(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(inner) for inner in value]
    return value
