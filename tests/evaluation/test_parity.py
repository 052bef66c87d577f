"""The gate: what it accepts, and everything that a weak gate would let through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tacid.evaluation.bootstrap import paired_interval
from tacid.evaluation.categories import CATEGORIES
from tacid.evaluation.parity import FEWEST, Outcome, Verdict, allowed, judge
from tacid.evaluation.rows import Item, Run, parse_run
from tests.evaluation.made import GOOD, run_of, text_of


def _judge(full: Run, deferred: Run, *, require_hops: bool = False) -> Verdict:
    # As the command does: what is judged went through a file.
    read = [parse_run(text_of(run), run.path) for run in (full, deferred)]
    return judge(*read, CATEGORIES, require_hops=require_hops)


def _moved(scores: Mapping[str, tuple[int, int]], **by: int) -> dict[str, tuple[int, int]]:
    return {name: (n, right + by.get(name, 0)) for name, (n, right) in scores.items()}


def test_the_same_scores_are_accepted() -> None:
    verdict = _judge(run_of(GOOD), run_of(GOOD, "deferred", hops=1), require_hops=True)
    assert verdict.outcome is Outcome.ACCEPT
    assert verdict.outcome.status == 0
    assert verdict.difference == 0
    assert verdict.interval == (0, 0)
    assert verdict.hops == 1


def test_direct_is_judged_as_deferred_is() -> None:
    assert _judge(run_of(GOOD), run_of(GOOD, "direct")).outcome is Outcome.ACCEPT


@pytest.mark.parametrize(
    ("items", "outcome"),
    [
        (3, Outcome.ACCEPT),
        (-3, Outcome.ACCEPT),
        (6, Outcome.BETTER),
    ],
)
def test_two_points_are_the_measure(items: int, outcome: Outcome) -> None:
    # Three categories of fifty: an item more in each is 0.6 points of ten categories.
    by = dict.fromkeys(("simple_python", "multiple", "parallel"), items)
    verdict = _judge(run_of(GOOD), run_of(_moved(GOOD, **by), "direct"))
    assert verdict.outcome is outcome, verdict.reasons
    assert verdict.difference == pytest.approx(0.6 * items)


def test_an_average_that_is_lower_by_more_than_two_points_is_rejected_though_no_category_fell() -> None:
    by = dict.fromkeys(("simple_python", "multiple", "parallel", "live_simple"), -5)
    verdict = _judge(run_of(GOOD), run_of(_moved(GOOD, **by), "deferred", hops=1))
    assert verdict.outcome is Outcome.REJECT
    assert verdict.reasons == ("The average is lower by 4.0 points; 2 are allowed.",)


def test_a_better_average_is_no_pass_for_a_category_that_fell() -> None:
    by = dict.fromkeys(("simple_python", "multiple", "parallel", "live_simple"), 9)
    verdict = _judge(run_of(GOOD), run_of(_moved(GOOD, **by, irrelevance=-6), "deferred", hops=1))
    assert verdict.difference is not None
    assert verdict.difference > 2
    assert verdict.outcome is Outcome.REJECT
    assert "irrelevance fell from 30 to 24 of 50" in verdict.reasons[0]


def test_nothing_against_nothing_is_not_measured() -> None:
    none = {name: (n, 0) for name, (n, _) in GOOD.items()}
    verdict = _judge(run_of(none), run_of(none, "deferred", hops=0))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert verdict.outcome.status == 2
    assert "0.0 % right where arguments are checked" in verdict.reasons[0]


def test_a_small_category_that_falls_from_90_to_0_is_rejected() -> None:
    big = dict.fromkeys(GOOD, (400, 320))
    full = {**big, "live_relevance": (10, 9)}
    # The others make good for it, so that the average stays where it was.
    deferred = {**dict.fromkeys(big, (400, 360)), "live_relevance": (10, 0)}
    verdict = _judge(run_of(full), run_of(deferred, "deferred", hops=1))
    assert verdict.difference == pytest.approx(0)
    assert verdict.outcome is Outcome.REJECT
    assert verdict.outcome.status == 1
    assert verdict.reasons == ("live_relevance fell from 9 to 0 of 10: 9 items lost, 3 allowed.",)


@pytest.mark.parametrize("n", [1, 3, 9])
def test_a_category_too_small_to_fall_is_not_measured(n: int) -> None:
    full, deferred = {**GOOD, "live_relevance": (n, n)}, {**GOOD, "live_relevance": (n, 0)}
    verdict = _judge(run_of(full), run_of(deferred, "deferred", hops=1))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert f"live_relevance has {n} items" in verdict.reasons[0]


def test_the_smallest_category_that_is_measured_can_fall() -> None:
    assert allowed(FEWEST) < FEWEST / 2


def test_hops_that_are_missing_are_not_measured_where_they_are_required() -> None:
    verdict = _judge(run_of(GOOD), run_of(GOOD, "deferred"), require_hops=True)
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "how many hops" in verdict.reasons[0]


@pytest.mark.parametrize("required", [True, False])
def test_hops_that_only_some_replies_tell_are_not_measured(required: bool) -> None:
    deferred = run_of(GOOD, "deferred", hops=1)
    quiet = {key: item.model_copy(update={"hops": None}) for key, item in list(deferred.items.items())[:7]}
    verdict = _judge(run_of(GOOD), deferred.model_copy(update={"items": deferred.items | quiet}), require_hops=required)
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert verdict.reasons[0].startswith("7 replies")


@pytest.mark.parametrize("required", [True, False])
def test_too_many_hops_are_rejected_whether_or_not_they_are_required(required: bool) -> None:
    verdict = _judge(run_of(GOOD), run_of(GOOD, "deferred", hops=3), require_hops=required)
    assert verdict.outcome is Outcome.REJECT
    assert "3.00 hops" in verdict.reasons[0]


def test_hops_are_weighted_by_the_items_of_a_category() -> None:
    # A small category with many hops doesn't weigh as much as a large one: 16 × 3 and 340 × 2 of 356.
    deferred = run_of(GOOD, "deferred", hops=2)
    many = {
        key: item.model_copy(update={"hops": 1 if item.category == "simple_python" else 3})
        for key, item in deferred.items.items()
        if item.category in ("simple_python", "live_relevance")
    }
    verdict = _judge(run_of(GOOD), deferred.model_copy(update={"items": deferred.items | many}))
    n = sum(n for n, _ in GOOD.values())
    assert verdict.hops == pytest.approx((50 * 1 + 16 * 3 + (n - 66) * 2) / n)
    assert verdict.outcome is Outcome.ACCEPT


@pytest.mark.parametrize("side", ["full", "deferred", "both"])
def test_items_that_are_missing_are_not_measured(side: str) -> None:
    def short(run: Run) -> Run:
        # Those that it would have got wrong, so that its score rises.
        wrong = [key for key, item in run.items.items() if not item.right][:40]
        return run.model_copy(update={"items": {k: v for k, v in run.items.items() if k not in wrong}})

    full, deferred = run_of(GOOD), run_of(GOOD, "deferred", hops=1)
    verdict = _judge(short(full) if side != "deferred" else full, short(deferred) if side != "full" else deferred)
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "goes on" in verdict.reasons[0]


def test_other_items_of_the_same_number_are_not_measured() -> None:
    deferred = run_of(GOOD, "deferred", hops=1)
    renamed = {
        f"other_{item.id}": item.model_copy(update={"id": f"other_{item.id}"}) for item in deferred.items.values()
    }
    verdict = _judge(run_of(GOOD), deferred.model_copy(update={"items": renamed}))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "only one side has" in verdict.reasons[0]


def test_replies_that_nobody_can_read_are_not_measured_though_irrelevance_is_right() -> None:
    # No call can be read, so every question that wants none counts as right where errors aren't looked at.
    unread = {name: (n, n if name == "irrelevance" else 0) for name, (n, _) in GOOD.items()}
    for error in ("undecodable", None):
        verdict = _judge(run_of(unread, error=error), run_of(unread, "deferred", hops=0, error=error))
        assert verdict.outcome is Outcome.NOT_MEASURED
        assert verdict.full == (0 if error else 10)


def test_a_full_run_whose_replies_often_fail_is_no_measure() -> None:
    full = run_of(GOOD)
    failed = {key: item.model_copy(update={"error": "HTTP 400"}) for key, item in list(full.items.items())[::10]}
    verdict = _judge(full.model_copy(update={"items": full.items | failed}), run_of(GOOD, "deferred", hops=1))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "no readable reply" in verdict.reasons[0]


def test_a_deferred_run_whose_replies_nobody_can_read_is_rejected() -> None:
    verdict = _judge(run_of(GOOD), run_of(GOOD, "deferred", hops=1, error="undecodable"))
    assert verdict.outcome is Outcome.REJECT


def test_a_weak_model_that_always_calls_is_not_measured() -> None:
    # Right wherever any call is, and where the only tool has no arguments to get wrong.
    weak = {
        name: (n, n * {"live_relevance": 100, "irrelevance": 60}.get(name, 24) // 100) for name, (n, _) in GOOD.items()
    }
    verdict = _judge(run_of(weak), run_of(weak, "deferred", hops=1))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "too weak" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("seed", 1),
        ("pool", 12),
        ("model", "another"),
        ("limit", 49),
        ("tools", "abc"),
        ("package", "2025.1.1"),
        ("max_tokens", 64),
    ],
)
def test_sides_that_were_asked_otherwise_are_not_measured(key: str, other: object) -> None:
    verdict = _judge(run_of(GOOD), run_of(GOOD, "deferred", hops=1, **{key: other}))
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert f"differ in {key}" in verdict.reasons[0]


def test_a_label_makes_no_difference() -> None:
    assert _judge(run_of(GOOD), run_of(GOOD, "direct", label="names only")).outcome is Outcome.ACCEPT


def test_a_run_is_not_its_own_other_side() -> None:
    full = run_of(GOOD)
    assert _judge(full, full).outcome is Outcome.NOT_MEASURED
    direct = run_of(GOOD, "direct")
    assert _judge(direct, direct).outcome is Outcome.NOT_MEASURED


def test_categories_that_were_not_asked_are_not_measured() -> None:
    some = {name: GOOD[name] for name in ("simple_python", "multiple")}
    verdict = _judge(run_of(some), run_of(some, "direct"))
    assert verdict.outcome is Outcome.NOT_MEASURED
    named = judge(run_of(some), run_of(some, "direct"), CATEGORIES[:2])
    assert named.outcome is Outcome.ACCEPT


def test_what_wants_no_arguments_alone_says_nothing() -> None:
    some = {name: GOOD[name] for name in ("irrelevance", "live_relevance")}
    wanted = [category for category in CATEGORIES if category.name in some]
    assert judge(run_of(some), run_of(some, "direct"), wanted).outcome is Outcome.NOT_MEASURED


def test_the_interval_is_the_same_at_every_call_and_holds_the_difference() -> None:
    differences = {"a": [1, 0, 0, -1, 0, 1, 0, 0, 0, 0] * 5, "b": [0, 0, -1, 0] * 4}
    low, high = paired_interval(differences)
    assert (low, high) == paired_interval(differences)
    assert (low, high) != paired_interval(differences, seed=1)
    difference = 100 * (5 / 50 - 4 / 16) / 2
    assert low < difference < high
    # By the normal approximation, which a sample of this size comes near: ± 1.96 × the standard error.
    error = 100 * ((0.29 / 50 + 0.1875 / 16) ** 0.5) / 2
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_pairs_are_drawn_together() -> None:
    # Two sides that are right and wrong on the same items: whatever is drawn, nothing lies between them.
    assert paired_interval({"a": [0] * 50}) == (0, 0)


def test_an_error_never_counts_as_right() -> None:
    assert not Item(id="a", category="irrelevance", right=True, error="undecodable").counts
