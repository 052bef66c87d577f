"""How far a difference of two averages could be chance: a paired bootstrap, the same at every call."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

RESAMPLES = 4000
SEED = 20_250_101
#: Percent of the resamples that lie within the interval.
COVERAGE = 95.0


def paired_interval(
    differences: Mapping[str, Sequence[int]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """The interval of the difference of two averages over categories, in points.

    ``differences`` holds for each category and item whether the second side is right (1, 0) minus whether the first
    is. Items are drawn with replacement within their category, both sides of an item together; every category weighs
    the same, as it does in the average. Time: resamples times items. Source: Efron and Tibshirani, An Introduction to
    the Bootstrap (1993), chapter 13 (percentile interval).
    """
    rng = random.Random(seed)  # noqa: S311
    drawn = []
    for _ in range(resamples):
        means = [sum(rng.choices(items, k=len(items))) / len(items) for items in differences.values() if items]
        drawn.append(100 * sum(means) / len(means) if means else 0.0)
    drawn.sort()
    cut = int(resamples * (100 - COVERAGE) / 200)
    return drawn[cut], drawn[-1 - cut]


__all__ = ["COVERAGE", "RESAMPLES", "SEED", "paired_interval"]
