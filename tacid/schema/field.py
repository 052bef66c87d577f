"""The schema of one field with an allow-list in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonschema_rs

from tacid.schema.instance import APART, Instance, Node, copied, members, types
from tacid.schema.validate import refuse_to_fetch

#: Keywords that an enum of fitting names makes needless, and that a grammar might have to widen.
IMPLIED = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "const", "enum", "type", "$ref"})
ABOUT = ("title", "description", "default", "examples")


class Fields:
    """Narrows the schemas of fields of one document; ``original`` is the document as it was."""

    def __init__(self, reads: Instance, original: Node) -> None:
        self._reads = reads
        self._original = original

    def narrowed(self, schema: Any, names: Sequence[str], lists: int) -> Node | None:
        """The schema with only ``names`` in it, ``lists`` lists deep; ``None`` where it has no room for names.

        What it says of null stays; alternatives of other types go. Raises ``ValueError`` where no name fits.
        """
        if not self._reads.admits(schema, "array" if lists else "string"):
            return None
        return self._list(schema, names, lists) if lists else self._text(schema, names)

    def _text(self, schema: Any, names: Sequence[str]) -> Node:
        said = self._said(schema, "string")
        null = self._null(schema)
        fitting = self._fitting(schema, names)
        plain = {key: copied(value) for key, value in said.items() if key not in IMPLIED}
        if "default" in plain and plain["default"] not in (*fitting, *([None] if null else [])):
            del plain["default"]
        if isinstance(plain.get("examples"), list):
            plain["examples"] = [value for value in plain["examples"] if value in fitting]
        if null == "type":
            return _under({"type": ["string", "null"], "enum": [*fitting, None]}, plain)
        return _or_null({"type": "string", "enum": fitting}, plain, null)

    def _list(self, schema: Any, names: Sequence[str], lists: int) -> Node:
        said = self._said(schema, "array")
        typed: Node = {"type": "array"}
        several = [key for key in APART if key in said]
        for key in several:
            branches = [self.narrowed(branch, names, lists) for branch in members(said, (key,))]
            typed[key] = [branch for branch in branches if branch is not None]
        for key in ("prefixItems", "items", "additionalItems"):
            items = said.get(key, True if key == "items" and not several else None)
            if isinstance(items, list):
                typed[key] = [self.narrowed(item, names, lists - 1) or item for item in items]
            elif items is not None and items is not False:
                typed[key] = self.narrowed(items, names, lists - 1)
                if typed[key] is None:
                    raise ValueError("the items of its list are no names")
        if isinstance(said.get("enum"), list):
            typed["enum"] = [v for v in said["enum"] if isinstance(v, list) and all(item in names for item in v)]
        plain = {key: copied(value) for key, value in said.items() if key not in IMPLIED - {"not"}}
        return _or_null(typed, plain, self._null(schema))

    def _said(self, schema: Any, kind: str) -> Node:
        """All that is said of the field, with the one alternative of this kind in it if there is just one."""
        said = self._reads.flat(schema)
        for key in APART:
            fitting = [branch for branch in members(said, (key,)) if self._reads.admits(branch, kind)]
            if len(fitting) == 1:
                said = {**self._reads.flat(fitting[0]), **{name: value for name, value in said.items() if name != key}}
        return said

    def _null(self, schema: Any) -> str:
        """How a field says that it may be null: ``type`` for a list of types, ``anyOf`` for an alternative, or not."""
        if not self._reads.admits(schema, "null"):
            return ""
        for node in self._reads.conjuncts(schema):
            if isinstance(node.get("type"), list) and "null" in types(node):
                return "type"
            if any("null" in types(self._reads.flat(branch)) for branch in members(node, APART)):
                return "anyOf"
            if isinstance(node.get("enum"), list) and None in node["enum"]:
                return "type"
        return ""

    def _fitting(self, schema: Any, names: Sequence[str]) -> list[str]:
        counted = self._reads.finite(schema)
        fitting = self.fit(schema, [name for name in dict.fromkeys(names) if counted is None or name in counted])
        if not fitting:
            raise ValueError(f"none of the {len(names):,} names fits its schema")
        return fitting

    def fit(self, schema: Any, names: list[str]) -> list[str]:
        """The names that a schema of the document admits, in their order; all of them where it can't be judged."""
        document = {key: value for key, value in self._original.items() if key != "$id"}
        try:
            registry = jsonschema_rs.Registry(
                [("urn:tool", {**document, "x-narrowed": schema})], retriever=refuse_to_fetch
            )
            validator = jsonschema_rs.validator_for(
                {"$ref": "urn:tool#/x-narrowed"},
                registry=registry,
                retriever=refuse_to_fetch,
                validate_formats=False,
            )
            return [name for name in names if validator.is_valid(name)]
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
            return names


def _or_null(typed: Node, plain: Node, null: str) -> Node:
    if not null:
        return _under(typed, plain)
    about = {key: value for key, value in plain.items() if key in ABOUT}
    inner = {key: value for key, value in plain.items() if key not in ABOUT}
    return {"anyOf": [_under(typed, inner), {"type": "null"}], **about}


def _under(typed: Node, plain: Node) -> Node:
    """Type and names first, then whatever else was said."""
    return {**typed, **{key: value for key, value in plain.items() if key not in typed}}
