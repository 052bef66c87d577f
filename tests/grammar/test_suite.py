"""The official JSON-Schema-Test-Suite: what isn't as it says is known, and a tenth a day is given to a real engine."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import compile_schema
from tests.bench.suite import DRAFTS, instances
from tests.official import of_today, official_suite

ROOT = Path(__file__).parents[2]
#: Instances whose outcome is another than the suite's, by file; ``docs/schemas.md`` says why.
KNOWN = Counter(
    {
        ("narrow", "draft2020-12/format"): 17,
        ("narrow", "draft2019-09/vocabulary"): 1,
        ("narrow", "draft2020-12/vocabulary"): 1,
        ("wide", "draft7/optional/content"): 4,
        ("wide", "draft4/optional/zeroTerminatedFloats"): 1,
    }
)


@pytest.fixture(scope="module")
def suite(models_dir: Path) -> Path:
    return official_suite(models_dir)


def test_every_instance_is_taken_or_refused_as_the_suite_says(suite: Path) -> None:
    # Of its own, since what is compiled in here is all given to the engine.
    command = [sys.executable, "-m", "tests.bench.suite", "--tests", str(suite)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    found = [
        line.split(": ")[0].partition(" ") for line in done.stdout.splitlines() if line.startswith(("narrow", "wide"))
    ]
    assert Counter((kind, where) for kind, _, where in found) == KNOWN, done.stdout
    assert "| all | 4180 |" in done.stdout


def test_a_tenth_of_its_grammars_is_given_to_the_engine_each_day(suite: Path) -> None:
    schemas = [schema for draft in DRAFTS for _, schema, _, _ in instances(suite, draft)]
    assert len(schemas) > 1500
    for number, schema in enumerate(schemas):
        if of_today(number):
            try:
                # What is compiled here is shown to the engine by the last test of all (see `tests.emitted`).
                compile_schema(schema, open_objects=True).texts()
            except CompilerBug:
                raise
            except GrammarError:
                continue
