"""The last word on arguments: JSON Schema itself, after sampling, by `jsonschema-rs`.

The grammar may admit more than a schema says (a widening), and other endpoints hold to nothing at all; so every call
is checked here. Nothing is ever fetched, formats are not asserted, the draft is what ``$schema`` says, else 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import jsonschema_rs

from tacid.catalogue import Catalogue, Tool
from tacid.jsontext import MAX_DEPTH, deeper_than, dumps, quote
from tacid.schema.nullable import nullable as _nullable
from tacid.schema.nullable import with_null
from tacid.schema.refs import escape_token

#: Problems told of one call, characters of one message, alternatives listed in it.
MAX_PROBLEMS = 8
MAX_MESSAGE = 240
MAX_LISTED = 12

_DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field. ``pointer`` is a JSON Pointer (RFC 6901) into the arguments, "" for their root."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{quote(_cut(self.pointer, 160), shown=True) if self.pointer else 'the arguments'}: {self.message}"


def pointer_of(path: Iterable[str | int]) -> str:
    """The JSON Pointer (RFC 6901) of a path of keys and indexes."""
    return "".join("/" + escape_token(str(part)) for part in path)


class Validators:
    """Checks arguments against the schemas of a catalogue; each tool's is compiled at its first call."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._tools = {tool.name: tool for tool in catalogue}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}
        self._unchecked: dict[str, str] = {}

    @property
    def unchecked(self) -> Mapping[str, str]:
        """Tools, of those called so far, whose schema can't be checked against, with the reason."""
        return self._unchecked

    def problems(self, name: str, arguments: Any) -> tuple[Problem, ...]:
        """What is wrong with ``arguments`` by the schema of the tool ``name``; nothing if all is well or unchecked."""
        tool = self._tools.get(name)
        if tool is None:
            return (Problem("", f"there is no tool {_shown(name)}"),)
        if deeper_than(arguments, MAX_DEPTH):
            return (Problem("", f"nests lists and objects deeper than {MAX_DEPTH}"),)
        validator = self._validator(tool)
        if validator is None:
            return ()
        try:
            return _problems(validator, arguments)
        except UnicodeEncodeError:
            return _problems(validator, _encodable(arguments))
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            self._unchecked[name] = _cut(str(error).partition("\n")[0], MAX_MESSAGE)
            return ()

    def _validator(self, tool: Tool) -> jsonschema_rs.Validator | None:
        if tool.name not in self._compiled:
            try:
                self._compiled[tool.name] = compile_validator(tool.parameters)
            except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, RecursionError) as error:
                self._compiled[tool.name] = None
                self._unchecked[tool.name] = _cut(str(error).partition("\n")[0], MAX_MESSAGE)
        return self._compiled[tool.name]


def compile_validator(schema: Mapping[str, Any] | bool) -> jsonschema_rs.Validator:
    """A validator that fetches nothing and asserts no formats; OpenAPI's ``nullable`` counts.

    Raises what `jsonschema_rs` raises: ``ValidationError`` (no schema, or a reference that resolves to nothing here)
    or ``ValueError`` (too deep, or not to be written as UTF-8).
    """
    if isinstance(schema, Mapping):
        schema = {"$schema": _DRAFT_2020, **(with_null(schema) if _nullable(schema) else schema)}
        if not isinstance(schema["$schema"], str):
            schema["$schema"] = _DRAFT_2020
    return jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch, validate_formats=False)


def refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"nothing is fetched, {_cut(uri, 100)} neither")


def _problems(validator: jsonschema_rs.Validator, arguments: Any) -> tuple[Problem, ...]:
    found: dict[str, Problem] = {}
    for error in validator.iter_errors(arguments):
        problem = _problem(error)
        found.setdefault(problem.pointer, problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return tuple(found.values())


def _problem(error: jsonschema_rs.ValidationError) -> Problem:
    """One error, followed into the alternative of a union that was most likely meant."""
    for _ in range(MAX_DEPTH):
        context = error.kind.as_dict().get("context") if error.kind.name in ("anyOf", "oneOf") else None
        branches = [branch for branch in context or () if branch]
        if not branches:
            break
        best = min(branches, key=_distance)
        ties = sum(_distance(branch) == _distance(best) for branch in branches)
        if ties > 1 and best[0].instance_path == error.instance_path:
            break
        error = best[0]
    worded = _WORDS.get(error.kind.name)
    # The engine's own words quote the whole value; only where no words of ours stand, and cut.
    message = worded(error) if worded else _cut(error.message, MAX_MESSAGE)
    return Problem(pointer_of(error.instance_path), message)


def _distance(branch: list[jsonschema_rs.ValidationError]) -> tuple[bool, bool, int]:
    """How far a value is from an alternative: another constant or type first, then the number of errors."""
    names = [error.kind.name for error in branch]
    return ("const" in names, "type" in names, len(branch))


def _listed(values: Iterable[Any]) -> str:
    texts = [_cut(dumps(value, shown=True), 60) for value in values]
    more = len(texts) - MAX_LISTED
    shown = ", ".join(texts[:MAX_LISTED])
    return shown if more <= 0 else f"{shown} and {more:,} more"


def _enum(error: jsonschema_rs.ValidationError) -> str:
    return f"is {_shown(error.instance)}, which is none of {_listed(error.kind.as_dict()['options'])}"


def _limit(words: str) -> Callable[[jsonschema_rs.ValidationError], str]:
    return lambda error: words.format(_cut(str(error.kind.as_dict()["limit"]), 40))


_WORDS: Mapping[str, Callable[[jsonschema_rs.ValidationError], str]] = {
    "enum": _enum,
    "const": lambda error: (
        f"is {_shown(error.instance)} and must be {_cut(dumps(error.kind.as_dict()['expected_value'], shown=True), 60)}"
    ),
    "type": lambda error: (
        f"is {_shown(error.instance)} and must be of type {' or '.join(error.kind.as_dict()['types'])}"
    ),
    "required": lambda error: f"lacks {_shown(error.kind.as_dict()['property'])}",
    "additionalProperties": lambda error: f"has members that nobody declared: {_unexpected(error)}",
    "unevaluatedProperties": lambda error: f"has members that nobody declared: {_unexpected(error)}",
    "minimum": _limit("is below the minimum {}"),
    "maximum": _limit("is above the maximum {}"),
    "exclusiveMinimum": _limit("must be above {}"),
    "exclusiveMaximum": _limit("must be below {}"),
    "minLength": _limit("has fewer than {} characters"),
    "maxLength": _limit("has more than {} characters"),
    "minItems": _limit("has fewer than {} items"),
    "maxItems": _limit("has more than {} items"),
    "minProperties": _limit("has fewer than {} members"),
    "maxProperties": _limit("has more than {} members"),
    "multipleOf": lambda error: f"is no multiple of {_cut(str(error.kind.as_dict()['multiple_of']), 40)}",
    "pattern": lambda error: f"does not match the pattern {_shown(error.kind.as_dict()['pattern'])}",
    "uniqueItems": lambda error: "holds an item twice",
    "oneOf": lambda error: "fits none of the alternatives, or more than one",
    "anyOf": lambda error: "fits none of the alternatives",
    "not": lambda error: "is what the schema excludes",
    "falseSchema": lambda error: "must not be given",
    "contains": lambda error: "lacks an item of the kind that must be in it",
}


def _unexpected(error: jsonschema_rs.ValidationError) -> str:
    return _listed(error.kind.as_dict()["unexpected"])


def _shown(value: Any) -> str:
    """A value as a few characters of JSON, without spelling out what is large."""
    if isinstance(value, str):
        return quote(_cut(value, 60), shown=True)
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return _cut(dumps(value), 40)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _encodable(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates, which JSON can spell and UTF-8 can't."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


__all__ = ["Problem", "Validators", "compile_validator", "pointer_of"]
