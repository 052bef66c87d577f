"""``unevaluated…`` in a part of ``allOf`` saw what stands beside that part; found by a mutant of the code that no test told
apart. Beside a union it wasn't even recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts

A, B = ({"properties": {name: {"const": 1}}, "required": [name]} for name in "ab")
SEALED: dict[str, Any] = {"type": "object", "unevaluatedProperties": False, "anyOf": [A, B]}


@pytest.mark.parametrize(
    "beside",
    [
        {"properties": {"c": {"const": 1}}},
        {"anyOf": [{"properties": {"c": {"const": 1}}}, {"maxProperties": 1}]},
        {"if": {"properties": {"c": {"const": 1}}, "required": ["c"]}, "then": {"maxProperties": 2}},
        {"not": {"properties": {"c": {"const": 2}}, "required": ["c"]}},
    ],
    ids=str,
)
def test_a_part_evaluates_nothing_of_what_stands_beside_it(beside: dict[str, Any]) -> None:
    grammar = compile_schema({**beside, "allOf": [SEALED]}, open_objects=True)
    assert not grammar.report.widenings
    texts = [json.dumps(dict.fromkeys(names, 1), separators=(",", ":")) for names in ("a", "b", "c", "ac", "ca", "")]
    assert [text for text in texts if accepts(grammar.rules, text)] == ['{"a":1}', '{"b":1}']
