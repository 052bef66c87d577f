"""The keywords about members of two schemas as one.

What one schema says of undeclared members holds for those that only the other declares; where patterns of names are
involved too, it is said by a pattern of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from tacid.patterns import Language, string_language

Both: TypeAlias = Callable[[Any, Any], Any]
_SYNTAX = re.compile(r"[\\^$.*+?()[\]{}|/]")


def join_objects(one: Mapping[str, Any], other: Mapping[str, Any], both: Both) -> tuple[dict[str, Any], list[str]]:
    """``properties``, ``patternProperties`` and ``additionalProperties`` for both, and which couldn't be held."""
    lost: list[str] = []
    left, right = _readable(one, lost), _readable(other, lost)
    joined: dict[str, Any] = {}
    properties = left.get("properties", {}), right.get("properties", {})
    patterns = left.get("patternProperties", {}), right.get("patternProperties", {})
    declared = _mapped(*properties, both)
    together = _mapped(*patterns, both)
    for index, side in ((0, left), (1, right)):
        inner = side.get("additionalProperties", True)
        if inner is True:
            continue
        own, foreign = patterns[index], 1 - index
        for key in properties[foreign]:
            if key in properties[index]:
                continue
            matched = matches_any(own, key)
            if matched is False:
                declared[key] = both(declared[key], inner)
            elif matched is None:
                lost.append("additionalProperties")
        for pattern in patterns[foreign]:
            if pattern in own:
                continue
            if own or properties[index]:
                narrowed = _but(pattern, own, properties[index])
                together[narrowed] = both(together.get(narrowed, True), inner)
            else:
                together[pattern] = both(together[pattern], inner)
    if "properties" in left or "properties" in right:
        joined["properties"] = declared
    if together:
        joined["patternProperties"] = together
    extras = [side["additionalProperties"] for side in (left, right) if "additionalProperties" in side]
    if extras:
        joined["additionalProperties"] = extras[0] if len(extras) == 1 else both(*extras)
    if "unevaluatedProperties" in left:
        joined["unevaluatedProperties"] = left["unevaluatedProperties"]
        if "additionalProperties" in right:
            lost.append("unevaluatedProperties")
    if "unevaluatedProperties" in right:
        lost.append("unevaluatedProperties")
    return joined, lost


def matches_any(patterns: Iterable[str], key: str) -> bool | None:
    """Whether any pattern is found in a name; ``None`` where that can't be told."""
    unsure = False
    for pattern in patterns:
        matched = matches(pattern, key)
        if matched:
            return True
        unsure = unsure or matched is None
    return None if unsure else False


@lru_cache(maxsize=4096)
def matches(pattern: str, key: str) -> bool | None:
    """Whether a pattern is found in a name; ``None`` where that can't be told."""
    language = pattern_language(pattern)
    return None if language is None else language.accepts(key)


@lru_cache(maxsize=512)
def pattern_language(pattern: str) -> Language | None:
    """The texts that a pattern is found in; ``None`` where that can't be had exactly."""
    return string_language(pattern)


def literal(text: str) -> str:
    """A pattern that only this text fits, without anchors."""
    return _SYNTAX.sub(lambda found: "\\" + found[0], text)


def none_of(texts: Iterable[str]) -> str:
    """The beginning of a pattern, right after ``^``: the text is none of these."""
    listed = [literal(text) for text in texts]
    return f"(?!(?:{'|'.join(listed)})$)" if listed else ""


def _but(pattern: str, patterns: Iterable[str], names: Iterable[str]) -> str:
    """A pattern for the texts of a pattern that are none of these names and fit none of these patterns."""
    others = "".join(f"(?![\\s\\S]*(?:{one}))" for one in patterns)
    return f"^(?=[\\s\\S]*(?:{pattern})){others}{none_of(names)}"


def _mapped(one: Mapping[str, Any], other: Mapping[str, Any], both: Both) -> dict[str, Any]:
    joined = dict(one)
    for key, schema in other.items():
        joined[key] = both(joined[key], schema) if key in joined else schema
    return joined


def _readable(side: Mapping[str, Any], lost: list[str]) -> Mapping[str, Any]:
    wrong = [k for k in ("properties", "patternProperties") if k in side and not isinstance(side[k], Mapping)]
    lost.extend(wrong)
    return {k: v for k, v in side.items() if k not in wrong} if wrong else side
