"""Seen by `tests.bench.fuzz_texts`: in draft 2019-09, listed arrays weren't held to a list of ``items`` beside them.

The check of the values wrote ``prefixItems``, which that draft doesn't know, into a document that still declared it.
"""

from __future__ import annotations

import pytest

from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tests.bench.odd_schemas import DRAFTS


@pytest.mark.parametrize("draft", DRAFTS.values())
def test_listed_arrays_are_held_to_a_tuple(draft: str) -> None:
    items = "prefixItems" if "2020" in draft else "items"
    schema = {
        "$schema": draft,
        items: [{"type": "boolean"}, {"maximum": 1}],
        "enum": [["a"], [True, 2], [True, 1, "b"]],
    }
    rules = compile_schema(schema).rules
    assert accepts(rules, '[true,1,"b"]')
    assert not accepts(rules, '["a"]')
    assert not accepts(rules, "[true,2]")
