"""``pattern``: exact with lengths and formats where that is small, else widened and recorded; bounded always."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from tacid.catalogue import Tool
from tacid.errors import GrammarError
from tacid.grammar import compile_catalogue, compile_schema
from tacid.grammar.limits import MAX_PATTERN_BYTES
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tacid.patterns import string_language
from tests.bench.fuzz_patterns import check
from tests.grammar.draw import draw


def _compiled(**keywords: Any) -> Any:
    return compile_schema({"type": "string", **keywords})


def _widened(grammar: Any) -> list[str]:
    return [widening.keyword for widening in grammar.report.widenings]


def test_unanchored_means_any_text_around() -> None:
    rules = _compiled(pattern="b").rules
    assert accepts(rules, '"abc"')
    assert accepts(rules, '"\\n\\u00e9b\\""')
    assert not accepts(rules, '"ac"')


@pytest.mark.parametrize("value", ['"', "\\", "\n", "\x00", "\x1f", "\b", "/", "<", "é", "😀", "\u2028", "\u202e"])
def test_every_character_can_be_written_where_a_class_has_it(value: str) -> None:
    for pattern in ("^[^a]$", "^[\\s\\S]$", "^[^]$", "^[" + value.replace("\\", "\\\\") + "]$"):
        grammar = _compiled(pattern=pattern)
        assert not grammar.report.widenings
        assert accepts(grammar.rules, dumps(value)), pattern
        assert accepts(grammar.rules, dumps(value, shown=True)) or value in "\u2028\u202e", pattern


@pytest.mark.parametrize("text", ['"""', '"\\"', '"\n"', '"\x01"', '"\\ud800"', '"\\udc00"', '"\\x41"', '"\\u00"', '"a"', '"\\u0061"'])  # fmt: skip
def test_no_class_lets_out_what_is_no_json_or_not_in_it(text: str) -> None:
    assert not accepts(_compiled(pattern="^[^a]$").rules, text)


def test_a_wide_class_has_every_spelling() -> None:
    rules = _compiled(pattern="^[^a]{2}$").rules
    for text in (r'"\u00e9\u00E9"', r'"\/\u002f"', r'"\u000A\n"', r'"\ud83d\ude00😀"', r'"\uD83D\uDE00\u005c"'):
        assert accepts(rules, text), text


@pytest.mark.parametrize(
    ("keywords", "fits", "differs"),
    [
        ({"pattern": "^[a-z][a-z0-9]*$", "maxLength": 3}, ["a", "a00"], ["", "0", "abcd"]),
        ({"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3000}, ["ab", "a" * 3000], ["a", "a" * 3001]),
        ({"pattern": "^[a-z]+(-[a-z]+)*$", "maxLength": 4}, ["abcd", "a-bc"], ["a-", "ab-cd", "abcde"]),
        ({"pattern": "b", "minLength": 3}, ["abc", "bbb"], ["b", "aaa"]),
        ({"pattern": "^\\d{1,5000}$"}, ["1", "1" * 5000], ["", "1" * 5001]),
        ({"pattern": "^(?:[ab]{1,30}-){2,90}$"}, ["a-b-", "ab-" * 90], ["a-", "ab-" * 91, "a" * 31 + "-b-"]),
        ({"pattern": "^https?://", "format": "uri"}, ["https://a.b/c"], ["ftp://a", "https://a b"]),
        ({"pattern": "Z$", "format": "date-time"}, ["2024-02-29T00:00:00Z"], ["2023-02-29T00:00:00Z", "2024-02-29T00:00:00z"]),
        ({"pattern": "^(?!io\\.)([a-z]+\\.)*[a-z]+$"}, ["io", "a.io.b"], ["io.b"]),
    ],
)  # fmt: skip
def test_holds_what_stands_beside_it(keywords: dict[str, Any], fits: list[str], differs: list[str]) -> None:
    grammar = _compiled(**keywords)
    assert set(_widened(grammar)) <= {"format"}
    for text in fits:
        assert accepts(grammar.rules, dumps(text)), text
    for text in differs:
        assert not accepts(grammar.rules, dumps(text)), text


@pytest.mark.parametrize(
    ("keywords", "widened", "fits", "differs"),
    [
        ({"pattern": r"^(a|b)\1$"}, ["pattern"], ["aa", "ab"], ["ac", "aba"]),
        ({"pattern": "("}, ["pattern"], ["("], []),
        ({"pattern": "(?i)abc", "maxLength": 4}, ["pattern"], ["ABC"], ["xABCx"]),
        ({"pattern": 7}, ["pattern"], ["x"], []),
        ({"pattern": r"^(?:\S+\s+){0,49}\S+$", "maxLength": 900}, ["maxLength"], ["a b"], [" a", "a "]),
        ({"pattern": "^(?:x|y)*x(?:x|y){90}z$", "minLength": 9}, ["pattern"], ["x" * 91 + "z"], ["abc", "xyz"]),
        ({"pattern": r"^(?=(.)\1)[a-z]+$"}, ["pattern"], ["aab", "ab"], ["1"]),
        ({"pattern": "^a$", "format": "date"}, ["format"], ["a"], ["b"]),
    ],
)  # fmt: skip
def test_widens_what_it_can_not_hold_and_says_so(
    keywords: dict[str, Any], widened: list[str], fits: list[str], differs: list[str]
) -> None:
    grammar = _compiled(**keywords)
    assert sorted(_widened(grammar)) == sorted(widened)
    for text in fits:
        assert accepts(grammar.rules, dumps(text)), text
    for text in differs:
        assert not accepts(grammar.rules, dumps(text)), text


@pytest.mark.parametrize("keywords", [{"pattern": "[]"}, {"pattern": "a^"}, {"pattern": "^a$", "minLength": 2}])  # fmt: skip
def test_nothing_fits_what_contradicts_itself(keywords: dict[str, Any]) -> None:
    with pytest.raises(GrammarError, match="/pattern"):
        _compiled(**keywords)


@pytest.mark.parametrize("pattern", ["^" + "(a|b)*" * 40 + "c{1,1999}$", "(((a{1,99}){1,99}){1,99}){1,99}", "(?=" * 20 + "a" + ")" * 20, "^(?!(a*)*$)(?!(b|c+)*d).{1,2000}$", "^" + "a?" * 500 + "a" * 500 + "$", r"\p{L}*\p{Lu}\p{L}{0,900}", "^((a|ab)(c|bcd)(d*))*$", "(?:x+x+)+y{1,2000}z"])  # fmt: skip
def test_every_pattern_ends_small_and_soon(pattern: str) -> None:
    started = time.process_time()
    grammar = _compiled(pattern=pattern, minLength=1, maxLength=777)
    assert time.process_time() - started < 2
    assert len(grammar.text) < 2 * MAX_PATTERN_BYTES


def test_many_costly_patterns_end_soon_too() -> None:
    properties = {f"p{n}": {"type": "string", "pattern": f"^(?:x|y)*x(?:x|y){{{n + 40}}}$"} for n in range(60)}
    started = time.process_time()
    grammar = compile_schema({"type": "object", "properties": properties}, max_seconds=60)  # by its own bounds alone
    assert time.process_time() - started < 4
    assert {widening.keyword for widening in grammar.report.widenings} == {"pattern"}


def test_a_pattern_that_comes_again_is_one_rule() -> None:
    one = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?:a|bc)+(?:c|ad)*b$"}}}
    two = {"type": "object", "properties": {"a": one["properties"]["a"], "b": one["properties"]["a"]}}
    assert len(compile_schema(two).text) < len(compile_schema(one).text) + 200
    single = compile_catalogue([Tool("t", "", one)])
    assert len(compile_catalogue([Tool("t", "", one), Tool("u", "", one)]).rules) == len(single.rules) + 1


def test_what_is_drawn_fits() -> None:
    for pattern in (
        r"^[^\s\"]+\.(jpg|png)$",
        r"\d{3}",
        r"^(?=.*\d)[a-z\d]{4,9}$",
        r"^\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)*$",
    ):
        grammar = _compiled(pattern=pattern)
        language = string_language(pattern)
        assert language is not None
        for seed in range(40):
            assert language.accepts(json.loads(draw(grammar.rules, seed)))


@pytest.mark.parametrize("start", range(0, 300, 10))
def test_random_patterns_are_as_another_engine_has_them(start: int) -> None:
    for seed in range(start, start + 10):
        assert check(random.Random(seed).randrange(10**12)) in (None, "skipped")
