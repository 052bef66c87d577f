"""Documents within a document: every reference written as a pointer from the root, so that it may be moved.

A nested ``$id`` (draft 4: ``id``) opens a document of its own, in which ``#/…``, anchors and relative references mean
other places. `standalone` gives the same schema with references that mean the same wherever they stand. Source: JSON
Schema 2020-12 core, 8.2 (identifiers, anchors, references), 8.2.3.2 (dynamic references); 2019-09 core, 8.2.4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

from tacid.catalogue import Schema
from tacid.schema.keywords import ASSERTING, DATA, NAMED, OURS, draft, known_in
from tacid.schema.refs import Resolver, escape_token

#: Keywords whose values are schemas or lists of them; what stands elsewhere identifies nothing.
_APPLYING = frozenset(
    {"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "propertyNames"}
    | {"unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema"}
)
#: What holds nothing further, which takes longer to see by asking whether it is a mapping.
_PLAIN = frozenset({str, bool, int, float, type(None)})
#: Before a reference that leads nowhere from where it stands, so that it leads nowhere from the root either.
_ELSEWHERE = "#/tacid:elsewhere/"


def as_written(ref: str) -> str:
    """A reference of a standalone document that leads nowhere, as its author wrote it."""
    return ref.removeprefix(_ELSEWHERE)


def standalone(root: Schema) -> Schema:
    """The document with pointers from its root for all references, and read by the latest draft's rules.

    Keywords that its own draft doesn't know or doesn't heed are gone, so are those that only the compiler may write,
    and so is ``$schema`` where that is an older one; lists of ``items`` stay as they are.
    """
    if not isinstance(root, Mapping):
        return root
    old = draft(root)
    unknown = (ASSERTING - known_in(root)) | OURS
    if _needed(root, unknown, old):
        root = _Documents(root, unknown).rewritten()
    return {k: v for k, v in root.items() if k != "$schema"} if old else root


@dataclass
class _Document:
    pointer: str
    anchors: dict[str, str] = field(default_factory=dict)
    dynamic: dict[str, str] = field(default_factory=dict)
    recursive: bool = False


class _Documents:
    def __init__(self, root: Mapping[str, Any], unknown: frozenset[str]) -> None:
        self.root = root
        self.unknown = unknown
        self.places = Resolver(root)
        declared = draft(root)
        self.legacy = bool(declared)
        self.word = "id" if declared == "04" else "$id"
        #: Documents by their absolute URI without fragment.
        self.known: dict[str, _Document] = {}
        self.bases: dict[str, str] = {}
        self._scan(root, "", "", named=False)

    def _scan(self, place: Any, pointer: str, base: str, *, named: bool) -> None:
        if isinstance(place, list):
            for index, inner in enumerate(place):
                self._scan(inner, f"{pointer}/{index}", base, named=False)
        if not isinstance(place, Mapping):
            return
        if not named:
            base = self._entered(place, pointer, base)
            self.bases[pointer] = base
        for key, inner in place.items():
            if named or key in NAMED or key in _APPLYING:
                self._scan(inner, f"{pointer}/{escape_token(key)}", base, named=not named and key in NAMED)

    def _entered(self, place: Mapping[str, Any], pointer: str, base: str) -> str:
        own = place.get(self.word)
        if self.legacy and "$ref" in place and pointer:
            own = None
        if isinstance(own, str) and not own.startswith("#"):
            base = _absolute(base, own)
            self.known.setdefault(base, _Document(pointer))
        document = self.known.setdefault(base, _Document(pointer))
        if isinstance(own, str) and own.startswith("#"):
            document.anchors.setdefault(own[1:], pointer)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := place.get(keyword), str):
                document.anchors.setdefault(name, pointer)
        if isinstance(name := place.get("$dynamicAnchor"), str):
            document.dynamic.setdefault(name, pointer)
        if place.get("$recursiveAnchor") is True and document.pointer == pointer:
            document.recursive = True
        return base

    def rewritten(self) -> dict[str, Any]:
        return dict(self._copied(self.root, "", named=False))

    def _copied(self, place: Any, pointer: str, *, named: bool) -> Any:
        if isinstance(place, list):
            return [self._copied(inner, f"{pointer}/{index}", named=False) for index, inner in enumerate(place)]
        if not isinstance(place, Mapping):
            return place
        copy: dict[str, Any] = {}
        # Up to draft 7, nothing beside a reference counts.
        hidden = self.legacy and not named and isinstance(place.get("$ref"), str)
        for key, inner in place.items():
            if not named and (key in self.unknown or (hidden and key in ASSERTING and key != "$ref")):
                continue
            if not named and key in DATA:
                copy[key] = inner
            elif not named and key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(inner, str):
                self._put(copy, key, inner, pointer)
            elif not named and key in ("$id", "id", "$anchor", "$dynamicAnchor") and isinstance(inner, str):
                # What they name has been found; a nested document would change what pointers mean.
                continue
            else:
                copy[key] = self._copied(inner, f"{pointer}/{escape_token(key)}", named=not named and key in NAMED)
        return copy

    def _put(self, copy: dict[str, Any], keyword: str, ref: str, pointer: str) -> None:
        target = self._target(ref, self._base(pointer))
        if keyword != "$ref" and target is not None:
            target = self._dynamic(keyword, ref, target, self._base(pointer))
            if target is None:
                copy[keyword] = ref  # depends on the way there
                return
        if target is not None:
            written = "#" + quote(target, safe="/~!$&'()*+,;=:@")
        else:
            written = _ELSEWHERE + ref if ref.startswith("#") else ref
        if "$ref" in copy:
            copy["allOf"] = [*copy.get("allOf", ()), {"$ref": written}]
        else:
            copy["$ref"] = written

    def _target(self, ref: str, base: str) -> str | None:
        try:
            uri, fragment = urldefrag(urljoin(base, ref) if not ref.startswith("#") else base + ref)
        except ValueError:
            return None
        document = self.known.get(uri)
        if document is None:
            return None
        fragment = unquote(fragment)
        if not fragment.startswith("/"):
            return document.anchors.get(fragment) if fragment else document.pointer
        if document.pointer and not self._leads(document.pointer + fragment) and self._leads(fragment):
            return fragment  # written as if there were one document, as many do
        return document.pointer + fragment

    def _base(self, pointer: str) -> str:
        """The base of the references at a place, which is that of the nearest schema around it."""
        while pointer not in self.bases:
            pointer = pointer.rpartition("/")[0]
        return self.bases[pointer]

    def _leads(self, pointer: str) -> bool:
        return self.places.walk(pointer) is not None

    def _dynamic(self, keyword: str, ref: str, target: str, base: str) -> str | None:
        """Where a dynamic reference leads whatever the way there; ``None`` where that depends on it."""
        if keyword == "$recursiveRef":
            first = self.known.get(base)
            if first is None or not first.recursive:
                return target
            others = [document.pointer for document in self.known.values() if document.recursive]
            outermost = self.known.get(self.bases[""])
            if outermost is not None and outermost.recursive:
                return outermost.pointer
            return others[0] if len(others) == 1 else None
        name = urldefrag(ref)[1]
        if target not in [document.dynamic.get(name) for document in self.known.values()]:
            return target
        outermost = self.known.get(self.bases[""])
        if outermost is not None and name in outermost.dynamic:
            return outermost.dynamic[name]
        found = [document.dynamic[name] for document in self.known.values() if name in document.dynamic]
        return found[0] if len(found) == 1 else None


def _absolute(base: str, ref: str) -> str:
    try:
        return urldefrag(urljoin(base, ref))[0]
    except ValueError:
        return ref


def _needed(root: Mapping[str, Any], unknown: frozenset[str], old: str) -> bool:
    """Whether anything in a document names a document, refers dynamically, or has another meaning by its draft."""
    # Objects that may be schemas and lists of them, and objects whose keys are names of the author's.
    places: list[Any] = [root]
    named: list[Mapping[str, Any]] = []
    while places or named:
        if named:
            places.extend(named.pop().values())
            continue
        place = places.pop()
        if isinstance(place, list):
            places.extend(place)
            continue
        if not isinstance(place, (dict, Mapping)):
            continue
        if place is not root and isinstance(place.get("$id", place.get("id")), str):
            return True
        if "$dynamicRef" in place or "$recursiveRef" in place:
            return True
        if not OURS.isdisjoint(place):
            return True
        if old and (not unknown.isdisjoint(place) or ("$ref" in place and len(ASSERTING.intersection(place)) > 1)):
            return True
        for key, inner in place.items():
            kind = type(inner)
            if kind is dict or kind is list or (kind not in _PLAIN and isinstance(inner, (dict, list, Mapping))):
                if key in NAMED and not isinstance(inner, list):
                    named.append(inner)
                elif key not in DATA:
                    places.append(inner)
    return False


__all__ = ["standalone"]
