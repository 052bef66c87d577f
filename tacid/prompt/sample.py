"""One small value of a JSON Schema, for examples: required members, first choices, values that people would write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacid.schema.refs import Resolver

_DEPTH = 8
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

#: Values for members whose name says what they hold; public example names and addresses (RFC 2606, RFC 5737).
_BY_NAME: Mapping[str, str] = {
    "path": "/home/ann/notes.txt", "file": "/home/ann/notes.txt", "file_path": "/home/ann/notes.txt",
    "filename": "notes.txt", "directory": "/home/ann", "url": "https://example.org", "uri": "https://example.org",
    "email": "ann@example.org", "to": "ann@example.org", "host": "example.org", "hostname": "example.org",
    "city": "Lima", "location": "Lima", "place": "Lima", "date": "2031-05-04", "time": "07:30",
    "user": "ann", "username": "ann", "query": "blue paint", "text": "some words", "title": "My title",
}  # fmt: skip
#: Names turn with the variant: the same one twice would teach that it is always this one.
_NAMES = ("alpha", "beta", "gamma")
_BY_FORMAT: Mapping[str, str] = {
    "date": "2031-05-04", "time": "07:30:00Z", "date-time": "2031-05-04T07:30:00Z", "duration": "PT1H",
    "email": "ann@example.org", "idn-email": "ann@example.org", "hostname": "example.org",
    "idn-hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.org",
    "uri-reference": "/a", "iri": "https://example.org", "iri-reference": "/a", "json-pointer": "/a", "regex": "a",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}  # fmt: skip
#: What is tried against a pattern.
_TRIED = (
    "a", "1", "A", "abc", "ABC", "12", "123", "1234", "12345", "07:30", "2031-05-04", "192.0.2.1", "example.org",
    "1.2.3", "v1.2.3", "#aabbcc", "/home", "https://example.org", "a_b", "a-b", "A-1", "AB-123", "1h", "10m", "true",
)  # fmt: skip


class NoSample(Exception):
    """This module knows no value that fits."""


def sample(schema: Mapping[str, Any], variant: int = 0) -> Any:
    """One small value of a schema, most likely valid; ``variant`` turns the choices inside. Raises `NoSample`."""
    return _Maker(schema, variant).value(schema, "", _DEPTH)


def words_of(name: str) -> str:
    """The words that a name in any case is made of, in lower case."""
    return " ".join(_WORDS.findall(name)).lower()


class _Maker:
    """Makes one small value of a schema; ``variant`` counts through the choices."""

    def __init__(self, root: Mapping[str, Any], variant: int) -> None:
        self.resolver = Resolver(root)
        self.variant = variant

    def value(self, schema: Any, name: str, depth: int) -> Any:
        if depth <= 0 or schema is False:
            raise NoSample
        if not isinstance(schema, Mapping):
            return name or "a"
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self.value({**self._target(schema["$ref"]), **rest}, name, depth - 1)
        if "const" in schema:
            return schema["const"]
        if isinstance(choices := schema.get("enum"), list) and choices:
            return _by_rank(choices)[self.variant % len(choices)]
        for keyword in ("anyOf", "oneOf"):
            if isinstance(options := schema.get(keyword), list) and options:
                return self._one_of(schema, keyword, options, name, depth)
        if isinstance(parts := schema.get("allOf"), list) and parts:
            return self.value(self._merged(schema, parts), name, depth - 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((k for k in kind if k != "null"), "null")
        make = _MAKERS.get(kind) if isinstance(kind, str) else None
        if make is None:
            raise NoSample
        return make(self, schema, name, depth)

    def _target(self, ref: Any) -> Mapping[str, Any]:
        found = self.resolver.resolve(ref) if isinstance(ref, str) else None
        if found is None or not isinstance(found[1], Mapping):
            raise NoSample
        return found[1]

    def _one_of(self, schema: Mapping[str, Any], keyword: str, options: list[Any], name: str, depth: int) -> Any:
        base = {key: value for key, value in schema.items() if key != keyword}
        options = [o for o in options if not (isinstance(o, Mapping) and o.get("type") == "null")] or options
        for offset in range(len(options)):
            option = options[(self.variant + offset) % len(options)]
            try:
                return self.value(self._merged(base, [option]), name, depth - 1)
            except NoSample:
                continue
        raise NoSample

    def _merged(self, schema: Mapping[str, Any], parts: list[Any]) -> dict[str, Any]:
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            if isinstance(part, Mapping) and "$ref" in part:
                part = {**self._target(part["$ref"]), **{k: v for k, v in part.items() if k != "$ref"}}
            if part is False:
                raise NoSample
            if not isinstance(part, Mapping):
                continue
            for key, value in part.items():
                mine = merged.get(key)
                if key == "properties" and isinstance(mine, Mapping) and isinstance(value, Mapping):
                    value = {**mine, **value}
                elif key == "required" and isinstance(mine, list) and isinstance(value, list):
                    value = [*mine, *value]
                merged[key] = value
        return merged

    def object(self, schema: Mapping[str, Any], _name: str, depth: int) -> dict[str, Any]:
        members = schema.get("properties")
        members = members if isinstance(members, Mapping) else {}
        required = schema.get("required")
        needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        made: dict[str, Any] = {}
        for name, inner in members.items():
            if name in needed:
                made[name] = self.value(inner, name, depth - 1)
            elif not needed and not made:
                # An example without any arguments would teach to give none.
                try:
                    made[name] = self.value(inner, name, depth - 1)
                except NoSample:
                    continue
        for name in needed:
            if name not in made:
                made[name] = self.value(schema.get("additionalProperties", True), name, depth - 1)
        return made

    def array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        least, most = _count(schema, "minItems", 0), _count(schema, "maxItems", 1)
        if least > 4:
            raise NoSample
        try:
            return [self.value(schema.get("items", True), name, depth - 1) for _ in range(max(least, min(1, most)))]
        except NoSample:
            if least:
                raise
            return []

    def string(self, schema: Mapping[str, Any], name: str, _depth: int) -> str:
        least, most = _count(schema, "minLength", 0), _count(schema, "maxLength", 64)
        words = words_of(name) or "text"
        known = _NAMES[self.variant % len(_NAMES)] if name.lower() == "name" else _BY_NAME.get(name.lower(), "")
        tried = [_BY_FORMAT.get(str(schema.get("format")), ""), known, f"my {words}", *_TRIED]
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            try:
                matcher = re.compile(pattern if len(pattern) <= 200 else "(?!)")
            except re.error:
                raise NoSample from None
            tried = [text for text in tried if matcher.search(text)]
        for text in tried:
            if text and least <= len(text) <= most:
                return text
        if pattern is None and least <= 64 and most >= least:
            return "a" * max(least, min(1, most))
        raise NoSample

    def number(self, schema: Mapping[str, Any], _name: str, _depth: int) -> int | float:
        step = schema.get("multipleOf", 1)
        step = step if isinstance(step, (int, float)) and step > 0 else 1
        low = _bound(schema, "minimum", "exclusiveMinimum", step)
        high = _bound(schema, "maximum", "exclusiveMaximum", -step)
        start = 1 if (low is None or low <= 1) and (high is None or high >= 1) else low if low is not None else high
        value = -(-(start or 0) // step) * step
        if high is not None and value > high:
            value = high
        return int(value) if float(value).is_integer() else value

    def boolean(self, _schema: Mapping[str, Any], _name: str, _depth: int) -> bool:
        return self.variant % 2 == 0

    def null(self, _schema: Mapping[str, Any], _name: str, _depth: int) -> None:
        return None


def _by_rank(choices: list[Any]) -> list[Any]:
    """The choices, short ones first; the very first last: people ask for it, and no example may be its answer."""
    return [*sorted(choices[1:], key=lambda choice: len(str(choice))), choices[0]]


_MAKERS: Mapping[str, Any] = {
    "object": _Maker.object,
    "array": _Maker.array,
    "string": _Maker.string,
    "integer": _Maker.number,
    "number": _Maker.number,
    "boolean": _Maker.boolean,
    "null": _Maker.null,
}


def _count(schema: Mapping[str, Any], keyword: str, default: int) -> int:
    value = schema.get(keyword, default)
    return int(value) if isinstance(value, (int, float)) and value >= 0 else default


def _bound(schema: Mapping[str, Any], plain: str, exclusive: str, inward: float) -> float | None:
    """The bound of a number at one end, an exclusive one moved inward by a step (draft 4's boolean too)."""
    bounds = []
    limit, open_limit = schema.get(plain), schema.get(exclusive)
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        bounds.append(limit + (inward if open_limit is True else 0))
    if isinstance(open_limit, (int, float)) and not isinstance(open_limit, bool):
        bounds.append(open_limit + inward)
    return (max if inward > 0 else min)(bounds) if bounds else None
