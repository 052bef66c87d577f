"""``enum`` and ``const``: exactly the listed values that fit what stands beside the list."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tacid.catalogue import Tool
from tacid.errors import GrammarError
from tacid.grammar import compile_catalogue, compile_schema
from tacid.grammar.limits import GATE_BYTES, MAX_GRAMMAR_BYTES
from tacid.grammar.printer import print_rules
from tacid.grammar.walk import Walk, accepts
from tests.grammar.draw import draw

MIXED = ["a", "ab", "", "é", "<", 1, 1.0, 1.5, True, False, None, [1, "x"], {"k": {"l": []}}, "1", "true"]


def _drawn(schema: Any, times: int = 300) -> set[str]:
    rules = compile_schema(schema).rules
    return {json.dumps(json.loads(draw(rules, seed)), sort_keys=True) for seed in range(times)}


def test_exactly_the_listed_values() -> None:
    assert _drawn({"enum": MIXED}) == {json.dumps(value) for value in MIXED} - {"1.0"}


@pytest.mark.parametrize("value", MIXED)
def test_a_constant_of_every_kind(value: Any) -> None:
    assert {json.loads(text) == value for text in _drawn({"const": value}, 5)} == {True}


@pytest.mark.parametrize(
    ("beside", "left"),
    [
        ({"type": "string"}, {"", "a", "ab", "é", "<", "1", "true"}),
        ({"type": ["null", "array"]}, {None, "list"}),
        ({"type": "integer"}, {1}),
        ({"type": "number"}, {1, 1.5}),
        ({"type": "boolean"}, {True, False}),
        ({"type": "string", "minLength": 2}, {"ab", "true"}),
        ({"pattern": "^a"}, {"a", "ab", "other"}),
        ({"const": "a"}, {"a"}),
        ({"$ref": "#/$defs/Short", "type": "string"}, {"", "a", "é", "<", "1"}),
        ({"not": {"type": ["string", "number", "object", "array", "boolean"]}}, {None}),
        ({"anyOf": [{"const": "a"}, {"type": "null"}]}, {"a", None}),
    ],
)
def test_values_are_filtered_by_what_stands_beside_them(beside: dict[str, Any], left: set[Any]) -> None:
    schema = {"enum": MIXED, **beside, "$defs": {"Short": {"maxLength": 1}}}
    assert not compile_schema(schema).report.widenings
    found = {json.loads(text) if text[0] not in "[{" else "list" for text in _drawn(schema)}
    if "pattern" in beside:
        assert {value for value in found if isinstance(value, str)} - {"list"} == {"a", "ab"}
    else:
        assert found == left


def test_values_that_cannot_be_checked_stay_and_that_is_recorded() -> None:
    # "#" is the whole document, not what stands beside the constant.
    grammar = compile_schema({"const": {"a": None}, "additionalProperties": {"$ref": "#"}})
    assert [widening.keyword for widening in grammar.report.widenings] == ["additionalProperties"]
    assert accepts(grammar.rules, '{"a":null}')


@pytest.mark.parametrize("schema", [{"enum": []}, {"enum": [1], "type": "string"}, {"const": 1, "enum": [2]}])
def test_a_list_with_nothing_left_fits_nothing(schema: Any) -> None:
    with pytest.raises(GrammarError):
        compile_schema(schema)


def test_a_lone_surrogate_comes_out_as_it_went_in() -> None:
    assert _drawn({"enum": ["\ud800", {"\udc00": "\ud800"}]}, 40) == {'"\\ud800"', '{"\\udc00": "\\ud800"}'}


def test_values_may_be_written_as_the_prompt_shows_them() -> None:
    rules = compile_schema({"enum": ["<b>", ["<"], 7]}).rules
    assert all(accepts(rules, text) for text in ('"<b>"', '"\\u003cb>"', '["<"]', '["\\u003c"]', "7"))
    assert not accepts(rules, '"\\u003Cb>"')


def test_a_list_that_is_no_list_widens() -> None:
    grammar = compile_schema({"enum": "a", "type": "string"})
    assert [widening.keyword for widening in grammar.report.widenings] == ["enum"]
    assert accepts(grammar.rules, '"zzz"')


def test_numbers_in_a_constant_may_stand_with_or_without_a_fraction() -> None:
    rules = compile_schema({"const": 2.0}).rules
    assert accepts(rules, "2.0")
    assert accepts(rules, "2")


HUGE = [f"{hashlib.sha256(bytes([index % 256, index // 256])).hexdigest()[:40]}.service" for index in range(9000)]


def test_a_huge_list_becomes_a_choice_of_its_own_and_is_never_cut() -> None:
    parameters = {"type": "object", "properties": {"name": {"type": "string", "enum": HUGE}}, "required": ["name"]}
    grammar = compile_catalogue([Tool("start", "", parameters)])
    (gate,) = grammar.gates
    assert gate in grammar.rules
    assert len(grammar.text) < GATE_BYTES
    assert not grammar.report.widenings
    assert all(accepts(grammar.rules, f'"{name}"', gate) for name in HUGE[::1500])
    assert not accepts(grammar.rules, '"other.service"', gate)
    walk = Walk(grammar.rules)
    assert walk.feed('{"tool":"start","arguments":{"name":')
    assert walk.gates == (gate,)
    assert walk.pass_gate(f'"{HUGE[7]}"')
    assert walk.feed("}}")
    assert walk.complete


def test_a_huge_list_of_other_values_becomes_a_choice_of_its_own() -> None:
    grammar = compile_schema(
        {"type": "array", "items": {"enum": [[f"{index:06}" * 12, index] for index in range(20_000)]}}
    )
    assert len(grammar.gates) == 1
    assert not grammar.report.widenings


def test_two_huge_lists_in_one_place_are_one_choice() -> None:
    grammar = compile_schema({"anyOf": [{"enum": HUGE}, {"enum": [name + "x" for name in HUGE]}]})
    (gate,) = grammar.gates
    assert accepts(grammar.rules, f'"{HUGE[3]}"', gate)
    assert accepts(grammar.rules, f'"{HUGE[3]}x"', gate)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"anyOf": [{"enum": HUGE}, {"type": "null"}]}, {"enum": [name + "x" for name in HUGE]}]},
        {
            "anyOf": [
                {"properties": {"name": {"enum": names}, "kind": {"const": kind}}, "required": ["name", "kind"]}
                for names, kind in ((HUGE, "on"), ([name + "x" for name in HUGE], "add"))
            ]
        },
    ],
    ids=["in a union of unions", "before the tag"],
)
def test_two_huge_lists_that_meet_in_one_place_are_both_open(schema: dict[str, Any]) -> None:
    grammar = compile_schema(schema)
    assert len(grammar.gates) == 2
    for text, kind in ((HUGE[3], "on"), (HUGE[3] + "x", "add")):
        walk = Walk(grammar.rules)
        if "anyOf" not in schema["anyOf"][0]:
            assert walk.feed('{"name":')
        assert set(walk.gates) == grammar.gates
        tree = walk.choice()
        assert len(print_rules(tree)) < MAX_GRAMMAR_BYTES
        assert accepts(tree, f'"{text}"')
        assert not accepts(tree, '"other.service"')
        assert walk.pass_gate(f'"{text}"')
        assert walk.complete or walk.forced() == f',"kind":"{kind}"}}'


def test_the_same_list_is_one_rule() -> None:
    listed = {"enum": HUGE[:50]}
    once = compile_schema({"type": "object", "properties": {"a": listed}})
    twice = compile_schema({"type": "object", "properties": {"a": listed, "b": listed}})
    assert len(twice.text) < len(once.text) + 200
