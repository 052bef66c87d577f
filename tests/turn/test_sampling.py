"""A small part of `tests/bench/sampling.py`: samples at temperature 2.0 from real weights never leave the grammar."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacid.endpoints.local import LocalEndpoint
from tacid.engine.process import Engine
from tacid.prompt.families import CHATML
from tests.sampling import BEGGING, EXAMPLES, Subject, Verdict, machine, sample_many, subjects

pytestmark = [pytest.mark.engine, pytest.mark.model]

SUBJECTS = list(subjects())


def _check(verdict: Verdict) -> None:
    assert verdict.outside == []
    assert verdict.unparsed == []
    assert verdict.unlisted == []


def test_the_subjects_are_every_catalogue_of_the_cases_and_the_example_machine() -> None:
    names = {subject.name for subject in SUBJECTS}
    assert "example-machine" in names
    assert {path.stem for path in (Path(__file__).parents[1] / "cases").glob("catalogue-*.json")} - names <= {
        "catalogue-of-160"
    }
    assert len(SUBJECTS) > 40


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
async def test_a_random_model_never_leaves_the_grammar(random_engine: Engine, subject: Subject) -> None:
    verdict = Verdict()
    await sample_many(LocalEndpoint(random_engine.client, CHATML), subject, verdict, 4, together=2, max_tokens=64)
    _check(verdict)
    assert verdict.sampled == 4


async def test_a_random_model_never_names_an_unlisted_service(random_engine: Engine) -> None:
    endpoint = LocalEndpoint(random_engine.client, CHATML)
    example = machine("example-machine", EXAMPLES / "services.json")
    ids = await endpoint.text_tokens("totally-new-daemon")
    verdict = Verdict()
    for seed in range(0, 200, 20):
        await sample_many(endpoint, example, verdict, 20, seed=seed, requests=(BEGGING,), together=2)
        if verdict.calls:
            break
    bias = tuple((token, 15.0) for token in ids)
    await sample_many(endpoint, example, verdict, 20, requests=(BEGGING,), logit_bias=bias, together=2)
    _check(verdict)
    assert verdict.calls > 0


async def test_smollm2_that_is_begged_never_names_an_unlisted_service(engine: Engine) -> None:
    endpoint = LocalEndpoint(engine.client, CHATML)
    example = machine("example-machine", EXAMPLES / "services.json")
    verdict = Verdict()
    await sample_many(endpoint, example, verdict, 4, requests=(BEGGING,), together=2, max_tokens=64)
    _check(verdict)
    assert verdict.sampled == 4


async def test_a_changed_list_counts_from_the_next_turn(random_engine: Engine, tmp_path: Path) -> None:
    """The chain: from the file on disk to the grammar's alternatives to what a real engine writes."""
    endpoint = LocalEndpoint(random_engine.client, CHATML)
    file = tmp_path / "services.json"
    seen: list[set[str]] = []
    for names in (["alpha-daemon", "beta-daemon"], ["gamma-daemon", "totally-new-daemon"]):
        file.write_text(json.dumps(names), encoding="utf-8")
        listed = machine("machine", file)
        verdict = Verdict()
        # Which reply a random model gives to a seed differs between CPUs: as many as it takes to see a name, bounded.
        for seed in range(0, 200, 20):
            await sample_many(endpoint, listed, verdict, 20, seed=seed, together=2, max_tokens=96)
            if verdict.services:
                break
        _check(verdict)
        seen.append(set(verdict.services))
    assert seen[0] <= {"alpha-daemon", "beta-daemon"}
    assert seen[1] <= {"gamma-daemon", "totally-new-daemon"}
    assert seen[0]
    assert seen[1]
