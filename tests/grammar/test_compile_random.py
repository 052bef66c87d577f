"""Random schemas and catalogues: sound, deterministic, never too narrow, and as wide as reported."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacid.catalogue import Catalogue, Tool
from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_catalogue, compile_schema
from tacid.grammar.verify import verify
from tacid.grammar.walk import accepts
from tacid.schema.validate import compile_validator
from tests.grammar.draw import draw
from tests.grammar.orders import texts
from tests.grammar.strategies import catalogues, hostile_names, loops_in_place, schemas, values

slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def compiled(schema: Any, open_objects: bool) -> Grammar | None:
    """The grammar, or ``None`` where nothing fits; a bug is a bug."""
    try:
        return compile_schema(schema, open_objects=open_objects)
    except CompilerBug:
        raise
    except GrammarError:
        return None


def validator(schema: Any) -> jsonschema_rs.Validator | None:
    """The oracle, where it has an answer."""
    if isinstance(schema, dict) and loops_in_place(schema):
        return None
    try:
        return compile_validator(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return None


def fits(oracle: jsonschema_rs.Validator, value: Any) -> bool | None:
    try:
        return oracle.is_valid(value)
    except ValueError:  # a lone surrogate, which it can't take
        return None


@slow
@given(schemas(), st.booleans(), st.integers(0, 10_000))
def test_what_is_drawn_is_json_and_fits_unless_widened(schema: Any, open_objects: bool, seed: int) -> None:
    grammar = compiled(schema, open_objects)
    if grammar is None:
        return
    verify(grammar.rules)
    value = json.loads(draw(grammar.rules, seed))
    oracle = validator(schema)
    if oracle is not None and not grammar.report.widenings:
        assert fits(oracle, value) is not False


@slow
@given(schemas(), st.lists(values, max_size=6))
def test_every_value_that_fits_can_be_written(schema: Any, given_values: list[Any]) -> None:
    oracle = validator(schema)
    if oracle is None:
        return
    grammar = compiled(schema, open_objects=True)
    for value in given_values:
        admitted = grammar is not None and any(accepts(grammar.rules, text) for text in texts(value))
        if fits(oracle, value):
            assert admitted
        elif fits(oracle, value) is False and grammar is not None and not grammar.report.widenings:
            assert not admitted


@slow
@given(catalogues(), st.integers(0, 10_000))
def test_catalogues_compile_and_names_come_back(catalogue: Catalogue, seed: int) -> None:
    grammar = compile_catalogue(catalogue)
    verify(grammar.rules)
    reply = json.loads(draw(grammar.rules, seed))
    assert set(reply) in ({"say"}, {"tool", "arguments"})
    left_out = {left.tool for left in grammar.report.left_out}
    if "tool" in reply:
        assert reply["tool"] in {tool.name for tool in catalogue} - left_out
        assert isinstance(reply["arguments"], dict)
    assert list(grammar.report.sizes) == ["", *(tool.name for tool in catalogue if tool.name not in left_out)]


@slow
@given(st.lists(hostile_names, min_size=1, max_size=6, unique=True))
def test_no_name_brings_a_rule_or_changes_another(names: list[str]) -> None:
    parameters = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    grammar = compile_catalogue([Tool(name, "", parameters) for name in names])
    plain = compile_catalogue([Tool(f"t{index}", "", parameters) for index in range(len(names))])
    assert len(grammar.rules) == len(plain.rules)
    for name in names:
        text = json.dumps(
            {"tool": name, "arguments": {"q": ""}}, separators=(",", ":"), ensure_ascii=not name.isprintable()
        )
        if name.isprintable() or name.isascii() or "\ud800" in name:
            assert accepts(grammar.rules, text), text
    seen = {json.loads(draw(grammar.rules, seed)).get("tool") for seed in range(40)}
    assert seen <= {*names, None}


@slow
@given(schemas())
def test_the_same_schema_gives_the_same_text(schema: Any) -> None:
    one = compiled(schema, open_objects=False)
    other = compiled(json.loads(json.dumps(schema)), open_objects=False)
    if one is None or other is None:
        assert one is other
    else:
        assert one.text == other.text
        assert one.report == other.report


@pytest.mark.parametrize("seed", range(40))
def test_any_json_drawn_is_json(seed: int) -> None:
    json.loads(draw(compile_schema(True).rules, seed))
