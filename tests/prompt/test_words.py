from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tacid.catalogue import Catalogue, Tool
from tacid.machine.protocol import PROTOCOL_TOOLS
from tacid.prompt.words import DEFAULT_WORDS, WORDS, balanced_examples, system_text

MANY = Catalogue(tuple(Tool(f"tool_{number}") for number in range(9)))


def kinds(name: str, catalogue: Catalogue) -> list[str]:
    return [next(iter(json.loads(example.reply))) for example in balanced_examples(WORDS[name], catalogue)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("balanced6", ["tool", "say"] * 3),
        ("balanced4", ["tool", "say"] * 2),
        ("balanced2", ["tool", "say"]),
        ("no_examples", []),
        ("balanced6_call_last", ["say", "tool"] * 3),
    ],
)
def test_a_wording_says_how_many_examples_there_are_and_which_is_last(name: str, expected: list[str]) -> None:
    assert kinds(name, MANY) == expected


def test_examples_stay_balanced_where_the_catalogue_gives_few() -> None:
    assert kinds("balanced6", Catalogue((Tool("now"),))) == ["tool", "say"]
    assert kinds("balanced6", Catalogue(PROTOCOL_TOOLS)) == ["tool", "say"] * 3


def test_without_a_usable_tool_there_is_no_example_of_a_call() -> None:
    assert "tool" not in kinds("balanced6", Catalogue((Tool("an odd name"),)))


def test_an_order_leaves_out_what_it_does_not_name() -> None:
    words = replace(DEFAULT_WORDS, order=("rule",))
    assert system_text(words, MANY, ("a fact",), "the caller") == words.rule


def test_the_default_is_one_of_the_named() -> None:
    assert DEFAULT_WORDS in WORDS.values()


def test_the_envelope_of_the_rule_is_spelled_as_the_grammar_spells_it() -> None:
    for words in WORDS.values():
        assert '{"tool":"' in words.rule
        assert '{"say":"' in words.rule
        assert '{"tool": ' not in words.rule
