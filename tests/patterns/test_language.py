"""Languages: equal where they hold the same texts, and combined as sets of texts are."""

from __future__ import annotations

import itertools
import random

import pytest

from tacid.patterns import (
    ANY_TEXT,
    NO_TEXT,
    Language,
    TooLarge,
    any_of,
    both,
    of_lengths,
    of_texts,
    other_texts,
    string_language,
    without,
)
from tests.patterns.engines import found_in, pattern, text

TEXTS = ["".join(chars) for length in range(5) for chars in itertools.product("ab1", repeat=length)]


def _language(wanted: str, least: int = 0, most: int | None = None) -> Language:
    found = string_language(wanted, least, most)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [("^a*$", "^(?:|a+)$"), ("^(?:a|b)$", "^[ab]$"), ("a", "[^]*a[^]*"), ("^ab{1,3}$", "^a(?:b|bb|bbb)$"), ("[]", "$a"),
     ("", "^"), ("^(?!a)", "^(?:$|[^a])"), (r"^\b\w+\b$", r"^\w+$"), ("a(?=b)", "ab"), ("(?<=a)b", "ab")],
)  # fmt: skip
def test_equal_languages_are_equal_objects(one: str, other: str) -> None:
    assert _language(one) == _language(other)


@pytest.mark.parametrize(("one", "other"), [("^a*$", "b"), ("1", "^[ab]*$"), ("^a", "a$"), ("^(?:ab)*$", "^.{2}$")])
def test_combine_as_sets(one: str, other: str) -> None:
    left, right = _language(one), _language(other)
    for wanted in TEXTS:
        a, b = left.accepts(wanted), right.accepts(wanted)
        assert both(left, right).accepts(wanted) == (a and b)
        assert any_of(left, right).accepts(wanted) == (a or b)
        assert without(left, right).accepts(wanted) == (a and not b)
        assert other_texts(left).accepts(wanted) == (not a)
    assert both(left, other_texts(left)) == NO_TEXT
    assert any_of(left, other_texts(left)) == ANY_TEXT


def test_texts_counted_out() -> None:
    some = ["", "a", "ab", "é", "😀", "a"]
    language = of_texts(some)
    assert language.texts(10) == sorted(set(some))
    assert language.texts(4) is None
    assert language.sizes == (0, 2)
    assert without(ANY_TEXT, language).accepts("b")
    assert not without(ANY_TEXT, language).accepts("ab")
    assert of_texts([]) == NO_TEXT == of_texts(["\ud800"])
    assert ANY_TEXT.texts(100) is None
    assert _language("^[ab]{2}$").texts(4) == ["aa", "ab", "ba", "bb"]
    assert _language("^[^]$").texts(1000) is None


def test_lengths_are_in_characters() -> None:
    language = of_lengths(1, 2)
    assert [n for n in range(5) if language.accepts("😀" * n)] == [1, 2]
    assert of_lengths(0, None) == ANY_TEXT
    assert _language("^a*$", 2, 3).texts(5) == ["aa", "aaa"]
    assert _language("^a*$").sizes == (0, None)
    assert _language("abc").sizes == (3, None)
    assert _language("^a{3,5}$").sizes == (3, 5)
    assert string_language("^a$", 2) == NO_TEXT
    assert NO_TEXT.is_empty
    assert ANY_TEXT.is_everything


@pytest.mark.parametrize("wanted", ["^(?:a|b)*a(?:a|b){40}$", "(?:x|y)*x(?:x|y){90}z", "^(?:(?:a{1,90}){1,90}){1,90}$"])
def test_what_is_too_large_ends_soon(wanted: str) -> None:
    assert string_language(wanted) is None


def test_operations_are_bounded() -> None:
    with pytest.raises(TooLarge):
        of_lengths(0, 10**9)
    with pytest.raises(TooLarge):
        both(of_lengths(0, 900), _language("^(?:[ab]{7})*$"), most=800)


@pytest.mark.parametrize("seed", range(0, 600, 20))
def test_random_patterns_agree_with_another_engine(seed: int) -> None:
    for one in range(seed, seed + 20):
        rng = random.Random(f"language {one}")
        wanted = pattern(rng)
        texts = [text(rng) for _ in range(12)]
        language, found = string_language(wanted), found_in(wanted, texts)
        for given, expected in zip(texts, found or (), strict=False):
            assert language is None or expected is None or language.accepts(given) == expected, (wanted, given)
