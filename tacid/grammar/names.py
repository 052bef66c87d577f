"""Names of members as languages: what ``propertyNames`` and ``patternProperties`` say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.context import Scope
from tacid.grammar.formats import FORMATS
from tacid.patterns import ANY_TEXT, NO_TEXT, Language, TooLarge, any_of, both, of_texts, string_language, without
from tacid.schema.flat import applicators
from tacid.schema.keywords import EXCEPT, LOST, count_of, type_list

_MAX_DEPTH = 16


def names_fitting(scope: Scope, schema: Any, depth: int = 0) -> Language | None:
    """The texts that fit a schema; ``None`` where that can't be had exactly."""
    try:
        return _fitting(scope, schema, depth)
    except TooLarge:
        return None


def _fitting(scope: Scope, schema: Any, depth: int) -> Language | None:
    whole = scope.flat(schema)
    if isinstance(whole, bool):
        return ANY_TEXT if whole else NO_TEXT
    if LOST in whole or depth > _MAX_DEPTH:
        return None
    types = type_list(whole)
    if types is not None and "string" not in types:
        return NO_TEXT
    found = _own(whole)
    for part in applicators(whole):
        if found is None:
            return None
        inner = _applied(scope, part, depth + 1)
        found = None if inner is None else both(found, inner)
    return found


def _own(schema: Mapping[str, Any]) -> Language | None:
    least, most = (count_of(schema[word]) if word in schema else None for word in ("minLength", "maxLength"))
    if any(word in schema and bound is None for word, bound in (("minLength", least), ("maxLength", most))):
        return None
    if most is not None and most < (least or 0):
        return NO_TEXT
    pattern = schema.get("pattern")
    if pattern is not None and not isinstance(pattern, str):
        return None
    found = string_language(pattern, least or 0, most)
    form = FORMATS.get(schema["format"]) if isinstance(schema.get("format"), str) else None
    if form is not None and found is not None:
        language = None if form.inexact else string_language(form.pattern)
        found = None if language is None else both(found, language)
    for keyword in ("const", "enum"):
        if keyword in schema and found is not None:
            values = schema["enum"] if keyword == "enum" else [schema["const"]]
            found = both(found, of_texts(value for value in values if isinstance(value, str)))
    if EXCEPT in schema and found is not None:
        found = without(found, of_texts(value for value in schema[EXCEPT] if isinstance(value, str)))
    return found


def _applied(scope: Scope, part: Mapping[str, Any], depth: int) -> Language | None:
    if "not" in part:
        inner = _fitting(scope, part["not"], depth)
        return None if inner is None else without(ANY_TEXT, inner)
    if "if" in part:
        tests = [_fitting(scope, part.get(word, True), depth) for word in ("if", "then", "else")]
        if tests[0] is None or tests[1] is None or tests[2] is None:
            return None
        return any_of(both(tests[0], tests[1]), without(tests[2], tests[0]))
    keyword, branches = next(iter(part.items()))
    if keyword not in ("anyOf", "oneOf") or not isinstance(branches, list):
        return None
    once, twice = NO_TEXT, NO_TEXT
    for branch in branches:
        inner = _fitting(scope, branch, depth)
        if inner is None:
            return None
        twice = any_of(twice, both(once, inner))
        once = any_of(once, inner)
    return without(once, twice) if keyword == "oneOf" else once
