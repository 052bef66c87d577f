"""Bounds as authors write them: counts, where ``3.0`` is 3 and nonsense is recorded, not obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.grammar.context import Scope
from tacid.grammar.shapes import MAX_COUNT


def bound(scope: Scope, schema: Mapping[str, Any], pointer: str, keyword: str) -> int | None:
    """The count that a keyword gives, ``None`` where it gives none that can be held."""
    if keyword not in schema:
        return None
    value = schema[keyword]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        scope.widen(pointer, keyword, "this is no count, so it isn't held")
        return None
    if value > MAX_COUNT:
        scope.widen(pointer, keyword, f"counts are held up to {MAX_COUNT:,}")
        return None
    return value
