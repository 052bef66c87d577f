"""Strings: every character and escape of JSON, lengths in characters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tests.grammar.draw import draw

RULES = compile_schema({"type": "string"}).rules


@pytest.mark.parametrize(
    "text",
    ['""', '"a"', '"é📁"', r'"\"\\\/\b\f\n\r\t"', r'"\u0000\u00E9\uD83D\udcc1"', '"\x7f"', r'"\uDBFF\uDFFF"', r'"\ud7ff\ue000"'],
)  # fmt: skip
def test_admits_every_spelling_of_text(text: str) -> None:
    json.loads(text)
    assert accepts(RULES, text)


@pytest.mark.parametrize(
    "text",
    ['"', '"a', 'a"', '"\n"', '"\x00"', '"\x1f"', r'"\x41"', r'"\u12"', r'"\u12g4"', '"""', "'a'", r'"\ud800"', r'"\udc00"',
     r'"\ud800\u0041"', r'"\udc00\ud800"', r'"\ud83dx"', '"\\"'],
)  # fmt: skip
def test_refuses_what_is_no_text(text: str) -> None:
    assert not accepts(RULES, text)


def test_drawn_strings_are_text() -> None:
    for seed in range(300):
        json.loads(draw(RULES, seed)).encode()


@pytest.mark.parametrize("unit", ["x", "é", "📁", r"\n", r"\u00e9", r"\ud83d\udcc1"])
@pytest.mark.parametrize(("least", "most"), [(0, 3), (2, 3), (3, 3), (2, None)])
def test_an_escape_is_one_character(unit: str, least: int, most: int | None) -> None:
    schema = {"type": "string", "minLength": least} | ({} if most is None else {"maxLength": most})
    rules = compile_schema(schema).rules
    fitting = [n for n in range(6) if accepts(rules, '"' + unit * n + '"')]
    assert fitting == [n for n in range(6) if n >= least and (most is None or n <= most)]


@pytest.mark.parametrize("bound", [1999, 2000, 2001, 4567])
def test_large_bounds_hold(bound: int) -> None:
    longest = compile_schema({"type": "string", "maxLength": bound}).rules
    shortest = compile_schema({"type": "string", "minLength": bound}).rules
    for length in (0, 1, 999, 1000, 1001, bound - 1, bound, bound + 1):
        text = '"' + "x" * length + '"'
        assert accepts(longest, text) == (length <= bound)
        assert accepts(shortest, text) == (length >= bound)


def test_huge_bounds_are_small_grammars() -> None:
    assert len(compile_schema({"type": "string", "minLength": 7, "maxLength": 10**9}).text) < 2000


def test_bounds_that_cross_fit_nothing() -> None:
    with pytest.raises(GrammarError, match="/minLength"):
        compile_schema({"type": "string", "minLength": 5, "maxLength": 4})


@pytest.mark.parametrize("keyword", [{"format": "uuid"}, {"pattern": "("}])
def test_what_is_not_held_is_a_string_and_recorded(keyword: dict[str, Any]) -> None:
    grammar = compile_schema({"type": "string", "maxLength": 3, **keyword})
    assert [widening.keyword for widening in grammar.report.widenings] == list(keyword)
    assert accepts(grammar.rules, '"zzz"')
    assert not accepts(grammar.rules, '"zzzz"')


def test_a_format_that_nobody_knows_is_a_note() -> None:
    assert not compile_schema({"type": "string", "format": "x-own"}).report.widenings
