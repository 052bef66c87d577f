"""The gate: whether a mode is as good as reading every schema. It can refuse, and it can say that nothing was measured.

In this order. *Not measured*: the two runs can't be compared, or say too little (see `_unmeasured`). *Reject*: the
average is lower by more than `AVERAGE`, or a category lost more than `allowed`, or there were more than `HOPS` hops.
*Better*: the average is higher by more than `AVERAGE`; an accept of its own name. Else *accept*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from tacid.evaluation.bootstrap import COVERAGE, paired_interval
from tacid.evaluation.categories import BY_NAME, Category
from tacid.evaluation.rows import Item, Run, mean

#: Points that the average may lie away from that of the full run.
AVERAGE = 2.0
#: Points that one category may lose, and the items that it may lose in any case: in a category of 16 one item is 6
#: points, and two runs of equal worth often lie two items apart.
CATEGORY_POINTS = 10.0
CATEGORY_ITEMS = 3
#: Items below which a category says nothing: `CATEGORY_ITEMS` of them would be a third of it.
FEWEST = 10
#: Hops that a question may take in the mean, weighted by the items of each category.
HOPS = 2.0
#: Percent that the full run must have right in the mean of the categories whose arguments are checked. Below it,
#: `AVERAGE` points are more than a fifteenth of all that the model can do, and a mode that breaks much of it would
#: still lie within them. A model that always calls, or never, is right in some categories for free: those don't count.
MEANINGFUL = 30.0
#: Percent of the full run's questions that may be without a readable reply; what isn't answered isn't measured.
UNREAD = 5.0


class Outcome(Enum):
    """What the gate says, with its exit status."""

    ACCEPT = "accept"
    BETTER = "better"
    REJECT = "reject"
    NOT_MEASURED = "not measured"

    @property
    def status(self) -> int:
        """0 accepted, 1 rejected, 2 not measured."""
        return {Outcome.REJECT: 1, Outcome.NOT_MEASURED: 2}.get(self, 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One category: its items, how many each side has right, and how many it may lose."""

    category: str
    n: int
    full: int
    deferred: int
    may_lose: int

    @property
    def lost(self) -> int:
        """Items that the full run has right more than the other."""
        return self.full - self.deferred


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out: percent, points, and the sentences that led to it."""

    outcome: Outcome
    reasons: tuple[str, ...]
    full: float | None = None
    deferred: float | None = None
    interval: tuple[float, float] | None = None
    hops: float | None = None
    rows: tuple[Row, ...] = ()

    @property
    def difference(self) -> float | None:
        """Points that the average lies above that of the full run."""
        return None if self.full is None or self.deferred is None else self.deferred - self.full

    def document(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "outcome": self.outcome.value,
            "reasons": list(self.reasons),
            "average": {"full": self.full, "deferred": self.deferred, "difference": self.difference},
            "interval": {"coverage": COVERAGE, "points": self.interval and list(self.interval)},
            "hops": self.hops,
            "categories": [{**asdict(row), "lost": row.lost} for row in self.rows],
            "rules": {
                "average_points": AVERAGE,
                "category_points": CATEGORY_POINTS,
                "category_items": CATEGORY_ITEMS,
                "fewest_items": FEWEST,
                "hops": HOPS,
                "meaningful_percent": MEANINGFUL,
                "unread_percent": UNREAD,
            },
        }


def allowed(n: int) -> int:
    """The items that a category of ``n`` may lose: `CATEGORY_POINTS` of it, and `CATEGORY_ITEMS` in any case."""
    return max(CATEGORY_ITEMS, int(n * CATEGORY_POINTS / 100))


def judge(full: Run, deferred: Run, wanted: Sequence[Category], *, require_hops: bool = False) -> Verdict:
    """The verdict on ``deferred`` beside ``full`` over the categories that are ``wanted``."""
    if reasons := tuple(_incomparable(full, deferred, wanted)):
        return Verdict(Outcome.NOT_MEASURED, reasons)
    rows = tuple(_rows(full, deferred, wanted))
    averages = (_average(rows, "full"), _average(rows, "deferred"))
    differences = {
        row.category: [
            int(deferred.items[item.id].counts) - int(item.counts) for item in full.by_category[row.category]
        ]
        for row in rows
    }
    hops, missing = _hops([item for row in rows for item in deferred.by_category[row.category]])
    reasons = tuple(_unmeasured(full, rows)) + tuple(_hops_missing(hops, missing, require_hops))
    outcome = Outcome.NOT_MEASURED
    if not reasons:
        reasons = tuple(_refusals(rows, averages[1] - averages[0], hops))
        outcome = Outcome.REJECT
    if not reasons:
        better = averages[1] - averages[0] > AVERAGE
        outcome = Outcome.BETTER if better else Outcome.ACCEPT
        reasons = (
            (f"The average is higher by more than {AVERAGE:g} points.",)
            if better
            else (f"The averages lie within {AVERAGE:g} points of each other.",)
        )
    return Verdict(outcome, reasons, *averages, paired_interval(differences), hops, rows)


def _incomparable(full: Run, deferred: Run, wanted: Sequence[Category]) -> Iterator[str]:
    """Why the two files are no two sides of one comparison."""
    if full.settings.tool_mode != "full":
        yield f"{full.path} is a run in the mode {full.settings.tool_mode}; --full wants one in full."
    if deferred.settings.tool_mode == "full":
        yield f"{deferred.path} is a run in the mode full; --deferred wants one in another mode."
    ours, theirs = full.settings.asked(), deferred.settings.asked()
    for key, value in ours.items():
        if value != theirs[key]:
            yield f"The two runs differ in {key}: {value} and {theirs[key]}; both sides must be asked the same."
    for run in (full, deferred):
        for name, count in run.settings.items.items():
            there = sum(item.category == name for item in run.items.values())
            if there != count:
                yield f"{run.path} has {there} of the {count} items of {name}; start that run again, it goes on."
        for category in wanted:
            if category.name not in run.settings.items:
                yield f"{run.path} was not asked {category.name}; ask it, or name what counts with --categories."
    if only := sorted(full.items.keys() ^ deferred.items.keys()):
        more = f" and {len(only) - 3} more" if len(only) > 3 else ""
        yield f"Items that only one side has: {', '.join(only[:3])}{more}."
    elif any(deferred.items[item.id].category != item.category for item in full.items.values()):
        yield "An item stands in one category on one side and in another on the other."


def _rows(full: Run, deferred: Run, wanted: Sequence[Category]) -> Iterator[Row]:
    for category in wanted:
        items = full.by_category[category.name]
        others = [deferred.items[item.id] for item in items]
        yield Row(category.name, len(items), _right(items), _right(others), allowed(len(items)))


def _right(items: Sequence[Item]) -> int:
    return sum(item.counts for item in items)


def _average(rows: Sequence[Row], side: str) -> float:
    return mean(100 * float(getattr(row, side)) / row.n for row in rows if row.n) or 0.0


def _unmeasured(full: Run, rows: Sequence[Row]) -> Iterator[str]:
    """Why figures that can be compared say nothing."""
    for row in rows:
        if row.n < FEWEST:
            yield f"{row.category} has {row.n} items; fewer than {FEWEST} say nothing."
    items = [item for row in rows for item in full.by_category[row.category]]
    unread = sum(item.error is not None for item in items)
    if items and 100 * unread / len(items) > UNREAD:
        yield (
            f"{unread} of the full run's {len(items)} questions have no readable reply; "
            f"more than {UNREAD:g} % can't be a measure."
        )
    checked = [row for row in rows if BY_NAME[row.category].wants == "calls"]
    score = _average(checked, "full")
    if score < MEANINGFUL:
        yield (
            f"The full run has {score:.1f} % right where arguments are checked; under {MEANINGFUL:g} % "
            "the model is too weak for the modes to be told apart."
        )


def _hops(items: Sequence[Item]) -> tuple[float | None, int]:
    """The mean of the hops over all items, and how many replies don't say theirs."""
    replies = [item for item in items if item.error is None]
    told = [item.hops for item in replies if item.hops is not None]
    return mean(told), len(replies) - len(told)


def _hops_missing(hops: float | None, missing: int, required: bool) -> Iterator[str]:
    if required and hops is None:
        yield "No reply says how many hops it took; is it a server that counts them (usage.get_tool_info_hops)?"
    elif missing and hops is not None:
        yield f"{missing} replies don't say how many hops they took; all must, or none."


def _refusals(rows: Sequence[Row], difference: float, hops: float | None) -> Iterator[str]:
    if difference < -AVERAGE:
        yield f"The average is lower by {-difference:.1f} points; {AVERAGE:g} are allowed."
    for row in rows:
        if row.lost > row.may_lose:
            yield (
                f"{row.category} fell from {row.full} to {row.deferred} of {row.n}: "
                f"{row.lost} items lost, {row.may_lose} allowed."
            )
    if hops is not None and hops > HOPS:
        yield f"A question took {hops:.2f} hops in the mean; {HOPS:g} are allowed."


__all__ = [
    "AVERAGE",
    "CATEGORY_ITEMS",
    "CATEGORY_POINTS",
    "FEWEST",
    "HOPS",
    "MEANINGFUL",
    "UNREAD",
    "Outcome",
    "Row",
    "Verdict",
    "allowed",
    "judge",
]
