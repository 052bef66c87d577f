"""``docs/json-schema.md`` holds: a row for each keyword, an example or more for each row, and each does what it says."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest
from jsonschema_specifications import REGISTRY

from tacid.grammar import Grammar, compile_schema
from tacid.grammar.walk import accepts
from tacid.schema.validate import compile_validator
from tests.grammar.keyword_examples import EXAMPLES, Example
from tests.grammar.orders import texts

DOCUMENT = Path(__file__).parents[2] / "docs" / "json-schema.md"
DRAFTS = ("04", "06", "07", "2019-09", "2020-12")
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ?(.*) ?\|$", re.MULTILINE)
_METASCHEMA = re.compile(r"//json-schema\.org/draft[-/](04|06|07|2019-09|2020-12)/")


@dataclass(frozen=True)
class Row:
    """A row of the document."""

    drafts: tuple[str, ...]
    held: str
    where_not: str


@cache
def rows() -> dict[str, Row]:
    found: dict[str, Row] = {}
    for keyword, drafts, held, where_not in _ROW.findall(DOCUMENT.read_text(encoding="utf-8")):
        assert keyword not in found, f"{keyword} has two rows"
        first, _, last = drafts.partition(" to ")
        known = first in DRAFTS
        span = DRAFTS[DRAFTS.index(first) : DRAFTS.index(last or first) + 1] if known else ()
        found[keyword] = Row(span, held, where_not.strip())
    return found


def _id(example: Example) -> str:
    return f"{example.keyword}-{json.dumps(example.schema)[:50]}"


@cache
def _grammar(index: int) -> Grammar:
    return compile_schema(EXAMPLES[index].schema, open_objects=True)


def _admitted(grammar: Grammar, value: object) -> bool:
    return any(accepts(grammar.rules, text) for text in texts(value, 50))


def test_every_keyword_of_every_draft_has_a_row() -> None:
    drafts: dict[str, set[str]] = defaultdict(set)
    for uri in REGISTRY:
        metaschema, found = REGISTRY[uri].contents, _METASCHEMA.search(uri)
        if found and isinstance(metaschema, dict):
            for keyword in metaschema.get("properties", ()):
                drafts[keyword].add(found[1])
    assert {"$schema", "uniqueItems", "contentSchema"} <= drafts.keys()
    for keyword, known in drafts.items():
        assert keyword in rows(), f"{keyword} has no row"
        assert known <= {*rows()[keyword].drafts}, f"{keyword} is in {sorted(known)}"


def test_every_row_has_an_example_and_every_example_a_row() -> None:
    assert {example.keyword for example in EXAMPLES} == {*rows()}


@pytest.mark.parametrize("keyword", [*rows()])
def test_a_row_has_examples_of_what_it_says(keyword: str) -> None:
    row = rows()[keyword]
    own = [example for example in EXAMPLES if example.keyword == keyword]
    exact = [example for example in own if example.exact]
    assert row.held in ("exact", "in part", "note")
    assert any(example.refused for example in exact) == (row.held != "note")
    assert (len(exact) < len(own)) == (row.held == "in part")
    assert bool(row.where_not) >= (row.held == "in part")


@pytest.mark.parametrize("index", range(len(EXAMPLES)), ids=[_id(example) for example in EXAMPLES])
def test_an_example_does_what_it_says(index: int) -> None:
    example, grammar = EXAMPLES[index], _grammar(index)
    words = {widening.keyword for widening in grammar.report.widenings}
    assert words == set() if example.exact else (example.word or example.keyword) in words
    for value in (*example.fits, *example.late, *example.loose):
        assert _admitted(grammar, value), value
    for value in example.refused:
        assert not _admitted(grammar, value), value
    try:
        check = compile_validator(example.schema)
    except jsonschema_rs.ValidationError:
        assert "$ref" in words
        return
    for value in (*example.fits, *example.loose):
        assert check.is_valid(value), value
    for value in (*example.late, *(example.refused if "format" not in json.dumps(example.schema) else ())):
        assert not check.is_valid(value), value


@pytest.mark.parametrize("index", [n for n, example in enumerate(EXAMPLES) if rows()[example.keyword].held == "note"])
def test_a_note_changes_nothing(index: int) -> None:
    example = EXAMPLES[index]
    bare = {key: value for key, value in example.schema.items() if key != example.keyword}
    assert _grammar(index).text == compile_schema(bare, open_objects=True).text
