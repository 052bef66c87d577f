from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.reply.json_stream import ObjectReader, StringReader, mend


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


def decode(parts: list[str]) -> tuple[list[str], bool]:
    reader = StringReader()
    out = [reader.feed(part)[0] for part in parts]
    return [*out, reader.end()], reader.closed


CUTS = st.lists(st.integers(0, 400), max_size=12)


@given(st.text(), st.booleans(), CUTS)
def test_any_string_is_decoded_from_any_pieces(text: str, ascii_only: bool, cuts: list[int]) -> None:
    spelled = json.dumps(text, ensure_ascii=ascii_only)[1:]
    out, closed = decode(pieces(spelled, cuts))
    assert "".join(out) == text
    assert closed
    assert not any("\ud800" <= char <= "\udfff" for part in out for char in part)


@given(st.text(st.sampled_from('\\u"dD83cC0eEx \ud83d\ude00\ud800\nn/')), CUTS)
def test_no_text_makes_it_fail_or_give_half_a_character(text: str, cuts: list[int]) -> None:
    out, _ = decode(pieces(text, cuts))
    assert "".join(out) == "".join(decode([text])[0])
    for part in out:
        part.encode("utf-8")


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ("\\ud83d\\ude00", "😀"),
        ("\\ud83d", "\ufffd"),
        ("\\ude00", "\ufffd"),
        ("\\ud83d\\ud83d\\ude00", "\ufffd😀"),
        ("\\ud83dx", "\ufffdx"),
        ("\\ud83d\\n", "\ufffd\n"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\\ude00", "😀"),
        ("\\q", "\\q"),
        ("\\u12x", "\\u12x"),
        ("a\nb", "a\nb"),
        ("half \\u12", "half "),
        ("half \\", "half "),
    ],
)
def test_surrogates_and_broken_escapes(spelled: str, text: str) -> None:
    for parts in ([spelled], list(spelled)):
        assert "".join(decode(parts)[0]) == text


def test_the_closing_quote_ends_it() -> None:
    reader = StringReader()
    assert reader.feed('xab\\""}', 1) == ('ab"', 6)
    assert reader.closed


@given(st.recursive(st.text() | st.integers() | st.none(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)), CUTS)
def test_the_end_of_an_object_is_found_from_any_pieces(value: object, cuts: list[int]) -> None:
    spelled = json.dumps({"a": value})
    reader = ObjectReader()
    read = ""
    for part in pieces(spelled + "} more", cuts):
        place = reader.feed(part)
        read += part[:place]
    assert read == spelled
    assert reader.closed


def test_time_is_linear() -> None:
    started = time.perf_counter()
    text = '\\ud83d\\ude00\\"{[' * 60_000
    decode(list(text))
    reader = ObjectReader()
    for char in '{"' + text:
        reader.feed(char)
    assert time.perf_counter() - started < 10


def test_text_is_mended_for_the_wire() -> None:
    assert mend("a\ud83d\ude00b\ud800") == "a😀b\ufffd"
    assert mend("plain") == "plain"
