"""Examples of calls for the system turn, generated from the offered tools themselves.

An example is a request and the envelope that serves it. The request is made of the tool's name and of the values
that the call then uses, so that what a model learns is to copy values, not to prefer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacid.catalogue import Catalogue, Tool
from tacid.jsontext import dumps
from tacid.schema.refs import Resolver
from tacid.schema.validate import Validators

#: Characters of an example's arguments; a longer one teaches its length.
MAX_ARGUMENTS = 240
#: Tools that are tried for examples, so that a catalogue of thousands costs no more than one of fifty.
MAX_TRIED = 48
_DEPTH = 8
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}\Z")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

#: Values for members whose name says what they hold; public example names and addresses (RFC 2606, RFC 5737).
_BY_NAME: Mapping[str, str] = {
    "path": "/home/ann/notes.txt", "file": "/home/ann/notes.txt", "file_path": "/home/ann/notes.txt",
    "filename": "notes.txt", "directory": "/home/ann", "url": "https://example.org", "uri": "https://example.org",
    "email": "ann@example.org", "to": "ann@example.org", "host": "example.org", "hostname": "example.org",
    "city": "Lima", "location": "Lima", "place": "Lima", "date": "2031-05-04", "time": "07:30", "name": "alpha",
    "user": "ann", "username": "ann", "query": "blue paint", "text": "some words", "title": "My title",
}  # fmt: skip
#: How people ask for the changes of the machine's own protocol (`tacid.machine.protocol`), by the tag in ``kind``.
_BY_TAG: Mapping[str, str] = {
    "service_enable": "Turn on {name}, please", "service_disable": "Turn off {name}",
    "service_restart": "Restart {name}", "package_add": "Install {name}", "package_remove": "Uninstall {name}",
    "user_add": "Create the user {name}", "user_remove": "Remove the user {name}",
}  # fmt: skip
_BY_TOOL: Mapping[str, str] = {"facts_get": "What kind of machine is this?"}
_PROPOSE = "propose_changes"
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


@dataclass(frozen=True, slots=True)
class Example:
    """A request, and the reply that answers it: an envelope in the grammar's own spelling."""

    request: str
    reply: str


def say(text: str) -> str:
    """The envelope of an answer."""
    return f'{{"say":{dumps(text)}}}'


def call(name: str, arguments: Mapping[str, Any]) -> str:
    """The envelope of a call."""
    return f'{{"tool":{dumps(name)},"arguments":{dumps(arguments)}}}'


def call_examples(tools: Iterable[Tool], count: int) -> tuple[Example, ...]:
    """At most ``count`` examples of calls, each of valid arguments; deterministic.

    One a tool where there are tools enough: those with the shortest arguments, spread over the catalogue. Else tools
    with a choice inside (a union, an enum) give several. Tools with odd names, or without valid arguments that this
    module can make, are passed over.
    """
    usable = [tool for tool in tools if _PLAIN.match(tool.name)]
    # The machine's own tool first: nothing else shows how a change is spelled.
    usable.sort(key=lambda tool: tool.name != _PROPOSE)
    step = max(1, -(-len(usable) // MAX_TRIED))
    variants = [list(_examples(tool, count)) for tool in usable[::step]]
    variants = [found for found in variants if found]
    if not variants or count <= 0:
        return ()
    if len(variants) >= count:
        return tuple(found[0] for found in _spread(variants, count))
    taken: list[Example] = []
    for round_ in range(count):
        taken += [found[round_] for found in variants if len(found) > round_]
    return tuple(taken[:count])


def example_arguments(tool: Tool, variant: int = 0, *, validators: Validators | None = None) -> dict[str, Any] | None:
    """Small valid arguments for a tool, or ``None``. ``variant`` turns the choices inside (unions, enums)."""
    try:
        made = _Maker(tool.parameters, variant).value(tool.parameters, "", _DEPTH)
        if not isinstance(made, dict) or len(dumps(made)) > MAX_ARGUMENTS:
            return None
    except (_NoExample, ValueError, TypeError, OverflowError, RecursionError):
        return None
    check = validators or Validators(Catalogue((tool,)))
    return None if check.problems(tool.name, made) or tool.name in check.unchecked else made


def _examples(tool: Tool, count: int) -> Iterator[Example]:
    seen: set[str] = set()
    validators = Validators(Catalogue((tool,)))
    for variant in range(count):
        arguments = example_arguments(tool, variant, validators=validators)
        if arguments is None or not _is_plain(arguments):
            continue
        reply = call(tool.name, arguments)
        if reply not in seen:
            seen.add(reply)
            yield Example(_request(tool.name, arguments), reply)


def _spread(variants: list[list[Example]], count: int) -> list[list[Example]]:
    """``count`` of them: of each stretch of the catalogue the shortest reply, one without arguments only if need be."""
    edges = [index * len(variants) // count for index in range(count + 1)]
    if f'"{_PROPOSE}"' in variants[0][0].reply:
        return [variants[0], *(_spread(variants[1:], count - 1) if count > 1 else ())]
    return [
        min(variants[start:end], key=lambda found: (found[0].reply.endswith(":{}}"), len(found[0].reply)))
        for start, end in pairwise(edges)
    ]


def _request(name: str, arguments: Mapping[str, Any]) -> str:
    if told := _told_by_tag(name, arguments):
        return told
    if not arguments and name in _BY_TOOL:
        return _BY_TOOL[name]
    words = " ".join(_WORDS.findall(name)).lower() or name
    values = ", ".join(_told(arguments))
    return f"{words.capitalize()}{': ' if values else ''}{values}"


def _told_by_tag(name: str, arguments: Mapping[str, Any]) -> str | None:
    changes = arguments.get("changes")
    if name != _PROPOSE or not isinstance(changes, list) or len(changes) != 1 or not isinstance(changes[0], Mapping):
        return None
    asked, named = _BY_TAG.get(str(changes[0].get("kind"))), changes[0].get("name")
    return asked.replace("{name}", named) if asked and isinstance(named, str) else None


def _told(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _told(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _told(inner, key)
    else:
        label = " ".join(_WORDS.findall(key)).lower()
        text = value if isinstance(value, str) else dumps(value)
        yield f"{label} {text}".strip()


def _is_plain(value: Any) -> bool:
    """Whether every text in an example is printable ASCII without ``<``: nothing of it may read as an order."""
    if isinstance(value, Mapping):
        return all(_PLAIN.match(key) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, str) or (
        len(value) <= 64 and value.isascii() and value.isprintable() and "<" not in value
    )


class _NoExample(Exception):
    pass


class _Maker:
    """Makes one small value of a schema; ``variant`` counts through the choices."""

    def __init__(self, root: Mapping[str, Any], variant: int) -> None:
        self.resolver = Resolver(root)
        self.variant = variant

    def value(self, schema: Any, name: str, depth: int) -> Any:
        if depth <= 0 or schema is False:
            raise _NoExample
        if not isinstance(schema, Mapping):
            return name or "a"
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self.value({**self._target(schema["$ref"]), **rest}, name, depth - 1)
        if "const" in schema:
            return schema["const"]
        if isinstance(choices := schema.get("enum"), list) and choices:
            return choices[self.variant % len(choices)]
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
            raise _NoExample
        return make(self, schema, name, depth)

    def _target(self, ref: Any) -> Mapping[str, Any]:
        found = self.resolver.resolve(ref) if isinstance(ref, str) else None
        if found is None or not isinstance(found[1], Mapping):
            raise _NoExample
        return found[1]

    def _one_of(self, schema: Mapping[str, Any], keyword: str, options: list[Any], name: str, depth: int) -> Any:
        base = {key: value for key, value in schema.items() if key != keyword}
        options = [o for o in options if not (isinstance(o, Mapping) and o.get("type") == "null")] or options
        for offset in range(len(options)):
            option = options[(self.variant + offset) % len(options)]
            try:
                return self.value(self._merged(base, [option]), name, depth - 1)
            except _NoExample:
                continue
        raise _NoExample

    def _merged(self, schema: Mapping[str, Any], parts: list[Any]) -> dict[str, Any]:
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            if isinstance(part, Mapping) and "$ref" in part:
                part = {**self._target(part["$ref"]), **{k: v for k, v in part.items() if k != "$ref"}}
            if part is False:
                raise _NoExample
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
                except _NoExample:
                    continue
        for name in needed:
            if name not in made:
                made[name] = self.value(schema.get("additionalProperties", True), name, depth - 1)
        return made

    def array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        least, most = _count(schema, "minItems", 0), _count(schema, "maxItems", 1)
        if least > 4:
            raise _NoExample
        try:
            return [self.value(schema.get("items", True), name, depth - 1) for _ in range(max(least, min(1, most)))]
        except _NoExample:
            if least:
                raise
            return []

    def string(self, schema: Mapping[str, Any], name: str, _depth: int) -> str:
        least, most = _count(schema, "minLength", 0), _count(schema, "maxLength", 64)
        words = " ".join(_WORDS.findall(name)).lower() or "text"
        tried = [_BY_FORMAT.get(str(schema.get("format")), ""), _BY_NAME.get(name.lower(), ""), f"my {words}", *_TRIED]
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            try:
                matcher = re.compile(pattern if len(pattern) <= 200 else "(?!)")
            except re.error:
                raise _NoExample from None
            tried = [text for text in tried if matcher.search(text)]
        for text in tried:
            if text and least <= len(text) <= most:
                return text
        if pattern is None and least <= 64 and most >= least:
            return "a" * max(least, min(1, most))
        raise _NoExample

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
