"""The figures of a run: for each category, and over all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacid.evaluation.rows import Item, Run, mean

HOPS_ROW = "bfcl/deferred_tools/get_tool_info_hops"


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The nearest-rank percentile, or nothing where there are no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None


def figures(items: Sequence[Item]) -> dict[str, Any]:
    """What a row of summary says of these items.

    ``score``: percent right. ``validity``: percent of the replies with calls whose arguments all fit their schemas,
    null without a call. ``latency``: seconds. ``tokens`` and ``hops``: means.
    """
    checked = [item.valid for item in items if item.valid is not None]
    told = [item.hops for item in items if item.hops is not None]
    return {
        "n": len(items),
        "right": sum(item.counts for item in items),
        "score": _rounded(_percent([item.counts for item in items])),
        "validity": _rounded(_percent(checked)),
        "errors": sum(item.error is not None for item in items),
        "latency": {
            "p50": percentile([item.latency for item in items], 50),
            "p95": percentile([item.latency for item in items], 95),
        },
        "tokens": {
            part: _rounded(mean(getattr(item.tokens, part) for item in items))
            for part in ("prompt", "completion", "cached")
        },
        "hops": _rounded(mean(told)),
    }


def average(groups: Sequence[Sequence[Item]]) -> float | None:
    """Percent right in the mean of the categories, each of the same weight."""
    return _rounded(mean(score for items in groups if (score := _percent([item.counts for item in items])) is not None))


def summaries(run: Run) -> list[dict[str, Any]]:
    """The rows of summary: one a category, the average, and for ``deferred`` the hops."""
    groups = run.by_category
    rows = [
        {"kind": "summary", "name": f"bfcl/{name}", "category": name, **figures(items)}
        for name, items in groups.items()
    ]
    everything = [item for items in groups.values() for item in items]
    rows.append(
        {"kind": "summary", "name": "bfcl/average", **figures(everything), "score": average(list(groups.values()))}
    )
    if run.settings.tool_mode == "deferred":
        told = [item.hops for item in everything if item.hops is not None]
        rows.append({"kind": "summary", "name": HOPS_ROW, "value": mean(told), "n": len(told)})
    return rows


def _percent(values: Sequence[bool]) -> float | None:
    return None if not values else 100 * sum(values) / len(values)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


__all__ = ["HOPS_ROW", "average", "figures", "percentile", "summaries"]
