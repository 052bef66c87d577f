"""Seen by hand: a reference that leads nowhere was named as ``#/tacid:elsewhere``, which stands in no schema of anybody."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.grammar import compile_schema


@pytest.mark.parametrize(
    ("schema", "ref"),
    [
        ({"$dynamicRef": "#x"}, "#x"),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#x"}, "#x"),
        ({"$id": "http://a.example/", "properties": {"a": {"$ref": "#/$defs/x"}}}, "#/$defs/x"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named_as_it_was_written(schema: dict[str, Any], ref: str) -> None:
    (widening,) = compile_schema(schema).report.widenings
    assert f'the reference "{ref}" leads to nothing' in widening.reason
