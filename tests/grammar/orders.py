"""Canonical texts of a value, its keys in any order: what order a schema declares isn't always plain from outside."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import Any

from tacid.jsontext import dumps, quote


def texts(value: Any, limit: int = 2000) -> Iterator[str]:
    """Every canonical text of a value, up to ``limit``."""
    return islice(_texts(value), limit)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for order in permutations(value):
            for parts in product(*(list(_texts(value[key])) for key in order)):
                yield "{" + ",".join(f"{quote(k)}:{part}" for k, part in zip(order, parts, strict=True)) + "}"
    elif isinstance(value, list):
        for parts in product(*(list(_texts(item)) for item in value)):
            yield "[" + ",".join(parts) + "]"
    else:
        yield dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
