"""What the mutation tests take for a mutant, which of them they draw, and which are said to mean the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bench.mutants import MODULES, known, sample
from tests.bench.mutating import ROOT, Mutant, written


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return [mutant for module in MODULES for mutant in written(module)[1]]
    finally:
        os.chdir(before)


def test_every_mutant_that_is_said_to_mean_the_same_exists_and_has_a_reason(mutants: list[Mutant]) -> None:
    keys = {mutant.key for mutant in mutants}
    assert [key for key in known() if key not in keys] == []
    assert all(len(why) > 20 for why in known().values())


def test_a_mutant_is_one_function_with_other_lines(mutants: list[Mutant]) -> None:
    assert len(mutants) > 3000
    assert all(mutant.was != mutant.now for mutant in mutants)
    text = (ROOT / "tacid/grammar/bounds.py").read_text(encoding="utf-8")
    small = [mutant for mutant in mutants if mutant.module == "tacid.grammar.bounds"]
    assert all(mutant.was in text and mutant.function == "bound" for mutant in small)
    assert ("tacid.grammar.bounds.bound", "if value > MAX_COUNT:", "if value >= MAX_COUNT:") in {m.key for m in small}


def test_only_the_words_of_a_sentence_are_wording() -> None:
    was = 'scope.widen(pointer, "minimum", "this is no number")'
    for now, wording in (
        ('scope.widen(pointer, "minimum", "XXthis is no numberXX")', True),
        ('scope.widen(pointer, "minimum", "THIS IS NO NUMBER")', True),
        ('scope.widen(pointer, "XXminimumXX", "this is no number")', False),
        ('scope.widen(pointer, "MINIMUM", "this is no number")', False),
        ('scope.widen(pointer, "minimum", None)', False),
        ('scope.widen(None, "minimum", "this is no number")', False),
    ):
        assert Mutant("m", "x_f__mutmut_1", was, now).wording == wording, now


def test_a_sample_depends_on_the_seed_and_on_nothing_that_stands_elsewhere(mutants: list[Mutant]) -> None:
    drawn = sample(mutants, 50, 0)
    assert len(drawn) == 50
    assert drawn == sample(mutants[::-1], 50, 0)
    assert drawn != sample(mutants, 50, 1)
    assert [m for m in drawn if m.module != MODULES[0]] == sample(
        [m for m in mutants if m.module != MODULES[0]], 50, 0
    )[: len([m for m in drawn if m.module != MODULES[0]])]
    assert len(sample(mutants, 0, 0)) == len(mutants)
