"""Runs made up for the tests: how many items of each category are right, and what else is said of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacid.evaluation.categories import CATEGORIES
from tacid.evaluation.rows import Item, Run, Settings

#: Of how many items, how many are right: a model that is worth measuring.
GOOD: dict[str, tuple[int, int]] = {
    "simple_python": (50, 40),
    "multiple": (50, 36),
    "parallel": (50, 25),
    "parallel_multiple": (50, 22),
    "irrelevance": (50, 30),
    "live_simple": (50, 30),
    "live_multiple": (50, 25),
    "live_parallel": (16, 6),
    "live_parallel_multiple": (24, 8),
    "live_relevance": (16, 14),
}
assert list(GOOD) == [category.name for category in CATEGORIES]


def items_of(scores: Mapping[str, tuple[int, int]], **more: Any) -> list[Item]:
    """The items of these categories, of which the first so many are right."""
    return [
        Item(id=f"{name}_{index}", category=name, right=index < right, **more)
        for name, (n, right) in scores.items()
        for index in range(n)
    ]


def settings_of(scores: Mapping[str, tuple[int, int]], mode: str, **more: Any) -> Settings:
    """The settings of a run over these categories."""
    fields: dict[str, Any] = {
        "package": "2026.3.23", "model": "m", "tool_mode": mode, "seed": 0, "limit": 50, "pool": 0, "tools": None,
        "max_tokens": 512, "items": {name: n for name, (n, _) in scores.items()},
        "ids": hashlib.sha256(repr(sorted(scores)).encode()).hexdigest(),
    }  # fmt: skip
    return Settings.model_validate({**fields, **more})


def run_of(scores: Mapping[str, tuple[int, int]], mode: str = "full", **more: Any) -> Run:
    """A run with these scores; ``hops`` and ``error`` go to its items, the rest to its settings."""
    told = {key: more.pop(key) for key in ("hops", "error") if key in more}
    items = {item.id: item for item in items_of(scores, **told)}
    return Run(path=Path(f"{mode}.jsonl"), settings=settings_of(scores, mode, **more), items=items)


def text_of(run: Run) -> str:
    """The run as its file has it."""
    rows = [run.settings.model_dump_json(), *(item.model_dump_json() for item in run.items.values())]
    return "".join(f"{row}\n" for row in rows)
