"""Which questions are asked, and what each of them sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacid.errors import InputError
from tacid.evaluation.categories import CATEGORIES, read_categories
from tacid.evaluation.package import Package
from tacid.evaluation.questions import Plan, plan


def _plan(package: Package, categories: str | None = None, **more: Any) -> Plan:
    given: dict[str, Any] = {"limit": None, "seed": 0, "pool": 0, "catalogue": None, **more}
    return plan(package, read_categories(categories), **given)


def _names(tools: Any) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def test_all_categories_in_the_order_of_the_table(package: Package) -> None:
    assert list(_plan(package, limit=1).counts) == [category.name for category in CATEGORIES]


def test_old_names_are_taken() -> None:
    assert [category.name for category in read_categories("relevance, simple")] == ["simple_python", "live_relevance"]


@pytest.mark.parametrize(
    ("name", "near"), [("simpel", "simple_python"), ("irelevance", "irrelevance"), ("Multiple", "multiple")]
)
def test_a_name_that_is_not_there_is_told_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"did you mean {near}"):
        read_categories(name)


def test_no_name_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="names none"):
        read_categories(" , ")


def test_a_limit_draws_by_the_seed_and_keeps_the_order(package: Package) -> None:
    first, again, other = (_plan(package, "multiple", limit=20, seed=seed) for seed in (1, 1, 2))
    ids = [question.id for question in first.questions]
    assert ids == [question.id for question in again.questions]
    assert first.digest == again.digest != other.digest
    assert ids == sorted(ids, key=lambda text: int(text.rpartition("_")[2]))
    assert ids != [f"multiple_{index}" for index in range(20)]


def test_a_limit_above_what_there_is_asks_all(package: Package) -> None:
    assert _plan(package, "live_parallel", limit=50).counts == {"live_parallel": 16}


@pytest.mark.parametrize("size", [1, 12, 50])
def test_a_pool_stands_first_and_is_the_same_for_every_question(size: int, package: Package) -> None:
    chosen = _plan(package, "simple_python,multiple,live_multiple", limit=100, pool=size)
    seen = [_names(chosen.tools(question)) for question in chosen.questions]
    assert {tuple(names[:size]) for names in seen} == {tuple(_names(chosen.pooled))}
    for question, names in zip(chosen.questions, seen, strict=True):
        assert names[size:] == _names(question.tools)
        assert len(set(names)) == len(names)


def test_a_pool_holds_no_function_that_a_question_asks_for(package: Package) -> None:
    chosen = _plan(package, limit=50, pool=500)
    pooled = set(_names(chosen.pooled))
    assert len(pooled) == 500
    assert not pooled & {name for question in chosen.questions for name in _names(question.tools)}


def test_a_larger_pool_of_another_seed_is_another_one(package: Package) -> None:
    one, two = (_plan(package, "multiple", limit=5, pool=12, seed=seed) for seed in (0, 1))
    assert _names(one.pooled) != _names(two.pooled)


def test_a_pool_that_can_not_be_filled_says_how_many_there_are(package: Package) -> None:
    with pytest.raises(InputError, match=r"--pool wants 3,000 functions, and 1,\d+ are"):
        _plan(package, "multiple", limit=5, pool=3000)


def test_a_catalogue_stands_before_the_pool_and_gives_way_to_a_question(package: Package, tmp_path: Path) -> None:
    own = _names(_plan(package, "simple_python", limit=3).questions[0].tools)[0]
    file = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    file.write_text(json.dumps([{"name": name, "parameters": parameters} for name in ("mine", own, "too")]))
    chosen = _plan(package, "simple_python", limit=3, pool=2, catalogue=file)
    assert _names(chosen.pooled)[:2] == ["mine", "too"]
    assert len(chosen.pooled) == 4
    assert chosen.dropped == (own,)
    assert chosen.pooled[0]["function"]["parameters"] == parameters
