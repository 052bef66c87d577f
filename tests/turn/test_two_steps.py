"""Catalogues whose grammar is large: the name of a call is chosen first, its arguments under that tool's own rules."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from tacid.catalogue import AUTO, Catalogue, Choice, Tool
from tacid.chat import Call, Sampling
from tacid.endpoints.local import LocalEndpoint
from tacid.grammar import compile_catalogue
from tacid.grammar.compile import TWO_STEPS_BYTES
from tacid.grammar.printer import print_rules
from tacid.grammar.walk import accepts
from tacid.schema.validate import Validators
from tests.grammar.draw import draw
from tests.turn.test_full import ask, take

pytestmark = [pytest.mark.engine, pytest.mark.model]

REQUIRED = Choice("required")


#: A few letters that must all be there, in any order: some kilobytes of rules, and few words of a prompt.
LETTERS = [*combinations("abcdefg", 3)][:16]


def tool(index: int, **more: Any) -> Tool:
    """A tool of its own shape, of some ten kilobytes of grammar."""
    within = "".join(f"(?=.*{letter})" for letter in LETTERS[index])
    properties: dict[str, Any] = {
        name: {"pattern": f"^{within}[a-{last}]{{4,12}}$"} for name, last in zip("xy", "ks", strict=True)
    }
    return Tool(
        f"tool_{index}",
        "d",
        {
            "type": "object",
            "properties": {key: {"type": "string", **value} for key, value in properties.items()} | more,
            "required": [*properties, *more],
        },
    )


MANY = Catalogue(tuple(tool(index) for index in range(len(LETTERS))))
NAMES = [f"unit-{index * 7919 % 100_003:06d}-of-a-long-list" for index in range(20_000)]


def test_a_large_catalogue_has_a_gate_for_each_tool() -> None:
    grammar = compile_catalogue(MANY)
    assert len(grammar.gates) == len(LETTERS)
    assert len(grammar.text) < TWO_STEPS_BYTES / 4 < sum(map(len, grammar.texts()))
    assert not grammar.report.widenings
    assert sum(grammar.report.sizes.values()) == len(grammar.text)
    validators = Validators(MANY)
    for seed in range(60):
        text = draw(grammar.rules, seed, size=60)
        assert accepts(grammar.rules, text)
        reply = json.loads(text)
        if "tool" in reply:
            assert not validators.problems(reply["tool"], reply["arguments"])


@pytest.mark.parametrize("count", [1, 4])
def test_below_the_bound_a_call_is_one_step(count: int) -> None:
    assert not compile_catalogue(MANY.tools[:count]).gates


def test_one_large_tool_that_must_be_called_is_one_step() -> None:
    large = Tool(
        "large", "d", {"type": "object", "properties": {f"p{n}": one.parameters for n, one in enumerate(MANY)}}
    )
    grammar = compile_catalogue([large], choice=REQUIRED)
    assert len(grammar.text) > TWO_STEPS_BYTES
    assert not grammar.gates
    assert len(compile_catalogue([large]).gates) == 1, "an answer may come instead"


async def test_calls_are_of_the_catalogue_and_fit(random: LocalEndpoint) -> None:
    validators = Validators(MANY)
    called = set()
    for seed in range(12):
        sampling = Sampling(temperature=2.0, seed=seed, max_tokens=300)
        _, result = await take(random, ask("x", MANY, choice=REQUIRED, sampling=sampling))
        assert isinstance(result.completion, Call)
        assert not validators.problems(result.completion.name, result.completion.arguments)
        called.add(result.completion.name)
    assert len(called) > 3


async def test_an_answer_and_several_calls_remain_possible(random: LocalEndpoint) -> None:
    validators = Validators(MANY)
    met = set[str]()
    for seed in range(80):
        sampling = Sampling(temperature=3.0, seed=seed, max_tokens=300)
        _, result = await take(random, ask(f"{seed}. " * (seed + 1), MANY, choice=AUTO, max_calls=3, sampling=sampling))
        calls = [one for one in result.completions if isinstance(one, Call)]
        for call in calls:
            assert not validators.problems(call.name, call.arguments)
        met.add("list" if len(calls) > 1 else type(result.completion).__name__)
        if met >= {"Say", "Call", "list"}:
            return
    raise AssertionError(f"nothing but {met} came")


async def test_a_long_list_within_the_arguments_is_a_gate_within_a_gate(
    random: LocalEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacid.grammar.compile.TWO_STEPS_BYTES", 16_384)  # more would be too long for the context
    more = {"unit": {"enum": NAMES}, "again": {"type": "boolean"}}
    catalogue = Catalogue(tuple(tool(index, **more) for index in range(7)))
    grammar = compile_catalogue(catalogue, choice=REQUIRED)
    assert len(grammar.gates) == 8
    inner = print_rules(grammar.rules, next(gate for gate in grammar.gates if gate.startswith("arguments-0-")))
    assert len(inner) < 16_384, "the list isn't part of it"
    sampling = Sampling(temperature=2.0, seed=3, max_tokens=300)
    _, result = await take(random, ask("x", catalogue, choice=REQUIRED, sampling=sampling))
    assert isinstance(result.completion, Call)
    assert result.completion.arguments["unit"] in set(NAMES)
    assert isinstance(result.completion.arguments["again"], bool)
    assert not Validators(catalogue).problems(result.completion.name, result.completion.arguments)
