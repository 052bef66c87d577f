"""``format``: each as its source has it, judged by examples and by `jsonschema-rs`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema_rs
import pytest

from tacid.grammar import compile_schema
from tacid.grammar.formats import FORMATS
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tests.grammar.draw import draw

EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "date-time": (
        ["2024-02-29T23:59:59Z", "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "2000-01-01t00:00:00.5z"],
        ["2023-02-29T00:00:00Z", "2024-01-01T22:59:60Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "tomorrow"],
    ),
    "date": (["2000-02-29", "1999-12-31"], ["1900-02-29", "2023-04-31", "2023-13-01", "23-01-01"]),
    "time": (["23:59:60Z", "00:00:00+23:59", "12:00:00.000-01:00"], ["24:00:00Z", "12:00Z", "12:00:00", "1:2:3Z"]),
    "duration": (["P1Y2M3DT4H5M6S", "P4W", "PT36H"], ["P", "PT", "P1W2D", "1D", "P1D2H"]),
    "email": (['"a b"@c.de', "a.b+c@[127.0.0.1]", "a@[IPv6:::1]"], ["a", ".a@b", "a..b@c", "a@b_c", "a@-b"]),
    "idn-email": (["실례@실례.테스트", "a@b"], ["a", "@b"]),
    "hostname": (["a", "a-b.c1", "x" * 63], ["", "-a", "a-", "a_b", "a.", "x" * 64]),
    "idn-hostname": (["실례.테스트", "a-b"], ["", "a b", "-a", "a-", "a/b"]),
    "ipv4": (["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4/8"]),
    "ipv6": (["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"], ["1::2::3", "12345::", "1:2", "fe80::1%eth0"]),
    "uri": (["a:", "http://u:p@[::1]:80/a?b=c#d", "urn:x:y", "file:///a"], ["a", "//a", "http://a b", "http://[1]", "a:#b#c"]),
    "uri-reference": (["", "a/b", "//a", "#x", "?q", "http://a"], ["\\a", "a b", "1:b", "#a#b"]),
    "iri": (["http://ƒøø.ßår/?∂éœ=πîx"], ["/a", "http://a b"]),
    "iri-reference": (["âππ", "#ƒ"], ["\\\\a", "#a\\b"]),
    "uri-template": (["http://a/{b,c*:3}".replace("*:3", ":3"), "{+x}{?y*}", ""], ["{a", "a}", "{}"]),
    "uuid": (["2EB8AA08-AA98-11EA-B4AA-73B441D16380"], ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638"]),
    "json-pointer": (["", "/a~0~1/", '/"'], ["a", "/~2", "/~"]),
    "relative-json-pointer": (["0", "1/a", "2#", "0+1/x"], ["", "01", "-1", "/a", "0##"]),
    "regex": (["a|b"], []),
}  # fmt: skip

#: What the other judge gets wrong or reads otherwise: years with a sign, dates from times, index manipulation, "--".
_NOT_THE_JUDGE = {"date-time", "date", "time"}


def test_every_format_has_examples_and_a_source() -> None:
    assert set(EXAMPLES) == set(FORMATS)
    assert all(one.source for one in FORMATS.values())


@pytest.mark.parametrize("name", FORMATS)
def test_admits_and_refuses(name: str) -> None:
    grammar = compile_schema({"type": "string", "format": name})
    fits, differs = EXAMPLES[name]
    for text in fits:
        assert accepts(grammar.rules, dumps(text)), text
    for text in differs:
        assert not accepts(grammar.rules, dumps(text)), text
    assert [(w.keyword, w.reason) for w in grammar.report.widenings] == (
        [("format", FORMATS[name].inexact)] if FORMATS[name].inexact else []
    )
    assert len(grammar.text) < 8000


@pytest.mark.parametrize("name", FORMATS)
def test_holds_the_same_beside_a_length(name: str) -> None:
    fits = [text for text in EXAMPLES[name][0] if len(text) <= 40]
    grammar = compile_schema({"type": "string", "format": name, "maxLength": 40})
    for text in fits:
        assert accepts(grammar.rules, dumps(text)), text
    loose = compile_schema({"type": "string", "format": name, "pattern": ""})
    for text in EXAMPLES[name][0]:
        assert accepts(loose.rules, dumps(text)), text


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in _NOT_THE_JUDGE])
def test_is_never_narrower_than_another_judge(name: str) -> None:
    judge = jsonschema_rs.validator_for({"format": name}, validate_formats=True)
    rules = compile_schema({"type": "string", "format": name}).rules
    rng = random.Random(name)
    for seed in range(60):
        chars = list(json.loads(draw(rules, seed, size=20)))
        for _ in range(3):
            place = rng.randrange(len(chars) + 1)
            chars[place : place + rng.randrange(2)] = rng.choice(["", *"019afZz:-.%/?#@[]+PTWDHMS{}é ~!x"])
            text = "".join(chars)
            assert not judge.is_valid(text) or accepts(rules, dumps(text)), text


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if not one.inexact and name != "relative-json-pointer"])  # fmt: skip
def test_what_is_exact_gives_nothing_that_another_judge_refuses(name: str) -> None:
    judge = jsonschema_rs.validator_for({"format": name}, validate_formats=True)
    rules = compile_schema({"type": "string", "format": name}).rules
    for seed in range(150):
        text = json.loads(draw(rules, seed, size=30))
        assert judge.is_valid(text), text


def test_a_format_that_nobody_knows_is_a_note() -> None:
    for note in ("x-own", "", "uint32", None, 7):
        grammar = compile_schema({"type": "string", "format": note})
        assert not grammar.report.widenings
        assert accepts(grammar.rules, '"anything"')


def test_a_format_says_nothing_of_other_types() -> None:
    assert accepts(compile_schema({"format": "date"}).rules, "7")
    assert not accepts(compile_schema({"format": "date"}).rules, '"7"')


def test_the_document_has_the_table() -> None:
    document = (Path(__file__).parents[2] / "docs" / "strings.md").read_text(encoding="utf-8")
    for name, one in FORMATS.items():
        assert f"| `{name}` | {one.source} | {one.inexact} |\n" in document
