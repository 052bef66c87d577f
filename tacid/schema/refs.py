"""References within one schema document, resolved without ever fetching anything.

Sources: JSON Schema 2020-12 core, 8.2 (``$id``, ``$anchor``, ``$ref``); RFC 6901 (JSON Pointer) and its section 6
(pointers as URI fragments).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from tacid.catalogue import Schema

_INDEX = re.compile(r"0|[1-9][0-9]*")
#: Values that are data, not schemas: nothing in them is an anchor or an identifier.
_DATA = frozenset({"enum", "const", "default", "examples", "example"})
#: Objects whose keys are names of the author's, not keywords.
_NAMED = ("/properties", "/patternProperties", "/$defs", "/definitions")
#: Drafts in which a ``$ref`` hides every keyword beside it.
_LEGACY = re.compile(r"^https?://json-schema\.org/draft-0[3467]/schema#?$")
#: Keywords that name a schema, and those that may name a document too.
_ANCHORS = ("$anchor", "$dynamicAnchor")
_NAMES = ("$id", "id", *_ANCHORS)


class Resolver:
    """Finds the targets of references in one document: ``#``, ``#/…``, ``#anchor``, and the document's own ``$id``.

    A document that holds further documents (a nested ``$id``) changes what ``#/…`` means inside them; there
    every reference is taken as leading nowhere, which only ever widens.
    """

    def __init__(self, root: Schema) -> None:
        self.root = root
        base = root.get("$id") if isinstance(root, Mapping) else None
        self.base = base.rstrip("#") if isinstance(base, str) else ""
        self._scanned: tuple[bool, Mapping[str, str]] | None = None
        self._found: dict[str, tuple[str, Schema] | None] = {}

    @property
    def legacy(self) -> bool:
        """Whether the document declares a draft (up to 7) in which keywords beside ``$ref`` don't count."""
        declared = self.root.get("$schema") if isinstance(self.root, Mapping) else None
        return isinstance(declared, str) and _LEGACY.match(declared) is not None

    def resolve(self, ref: str) -> tuple[str, Schema] | None:
        """The JSON Pointer and the schema that ``ref`` leads to; ``None`` where it leads to no schema in here."""
        if ref not in self._found:
            self._found[ref] = self._resolve(ref)
        return self._found[ref]

    def _resolve(self, ref: str) -> tuple[str, Schema] | None:
        if self.base and ref.startswith(self.base) and ref[len(self.base) : len(self.base) + 1] in ("", "#"):
            ref = ref[len(self.base) :] or "#"
        if not ref.startswith("#"):
            return None
        try:
            fragment = unquote(ref[1:], errors="strict") if "%" in ref else ref[1:]
        except UnicodeDecodeError:
            return None
        embedded, anchors = self._scan()
        if embedded:
            return None
        if fragment and not fragment.startswith("/"):
            pointer = anchors.get(fragment)
            if pointer is None:
                return None
            fragment = pointer
        return self.walk(fragment)

    def walk(self, pointer: str) -> tuple[str, Schema] | None:
        """The schema at a JSON Pointer of the document, with the pointer."""
        place: Any = self.root
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            if isinstance(place, Mapping) and token in place:
                place = place[token]
            elif isinstance(place, list) and _INDEX.fullmatch(token) and len(token) < 10 and int(token) < len(place):
                place = place[int(token)]
            else:
                return None
        return (pointer, place) if isinstance(place, (Mapping, bool)) else None

    def _scan(self) -> tuple[bool, Mapping[str, str]]:
        """Whether further documents are embedded, and the pointers of all anchors."""
        if self._scanned is None:
            embedded = False
            anchors: dict[str, str] = {}
            for pointer, schema in _objects(self.root) if _names_any(self.root) else ():
                for keyword in ("$id", "id") if pointer else ():
                    name = schema.get(keyword)
                    # Draft 4 and 6 spell an anchor as an $id that is only a fragment.
                    if isinstance(name, str) and name.startswith("#"):
                        anchors.setdefault(name[1:], pointer)
                    elif isinstance(name, str) and keyword == "$id":
                        embedded = True
                for keyword in _ANCHORS:
                    name = schema.get(keyword)
                    if isinstance(name, str):
                        anchors.setdefault(name, pointer)
            self._scanned = (embedded, anchors)
        return self._scanned


def escape_token(key: str) -> str:
    """A key as one token of a JSON Pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def _names_any(root: Any) -> bool:
    """Whether anything in a document may be a name that references lead to; mostly nothing is."""
    places: list[Any] = [root]
    for place in places:  # grows on the way
        kind = type(place)
        if kind is str:
            continue
        if kind is list:
            places.extend(place)
        elif kind is dict or isinstance(place, Mapping):
            # What the root is called leads to the root.
            for keyword in _NAMES if place is not root else _ANCHORS:
                if isinstance(place.get(keyword), str):
                    return True
            places.extend(place.values())
    return False


def _objects(root: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a document that may be a schema, with its pointer, in document order."""
    places: list[tuple[str, Any]] = [("", root)]
    while places:
        pointer, place = places.pop()
        if isinstance(place, Mapping):
            yield pointer, place
            named = pointer.endswith(_NAMED)
            inner = [(f"{pointer}/{escape_token(k)}", v) for k, v in place.items() if named or k not in _DATA]
        elif isinstance(place, list):
            inner = [(f"{pointer}/{index}", value) for index, value in enumerate(place)]
        else:
            continue
        places.extend(reversed(inner))
