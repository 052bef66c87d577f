"""The root of the grammar: one call or one answer, names as a tree, tools left out."""

from __future__ import annotations

import json
import re

import pytest

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.errors import CatalogueError, CompilerBug, GrammarError
from tacid.grammar import LeftOut, compile_catalogue
from tacid.grammar.compile import _finish
from tacid.grammar.context import Builder
from tacid.grammar.envelope import rule_name
from tacid.grammar.nodes import Lit
from tacid.grammar.walk import Walk, accepts
from tests.grammar.draw import draw

Q = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
TWO = (Tool("facts_get", "", {"type": "object", "properties": {}}), Tool("find", "", Q))
FACTS = '{"tool":"facts_get","arguments":{}}'
FIND = '{"tool":"find","arguments":{"q":"x"}}'
SAY = '{"say":"x"}'


@pytest.mark.parametrize(
    ("choice", "admitted"),
    [
        (Choice(), {FACTS, FIND, SAY}),
        (Choice("required"), {FACTS, FIND}),
        (Choice("none"), {SAY}),
        (Choice("named", "find"), {FIND}),
    ],
)
def test_the_root_admits_what_the_choice_says(choice: Choice, admitted: set[str]) -> None:
    rules = compile_catalogue(TWO, choice=choice).rules
    assert {text for text in (FACTS, FIND, SAY) if accepts(rules, text)} == admitted


@pytest.mark.parametrize(
    "text",
    [
        FACTS + SAY,
        "[" + SAY + "]",
        '{"say":"x","tool":"find"}',
        '{"tool":"find"}',
        '{"say":1}',
        "",
        FACTS[:-1],
        '{"tool": "find","arguments":{"q":"x"}}',
    ],
)
def test_exactly_one_call_or_answer_in_canonical_spacing(text: str) -> None:
    assert not accepts(compile_catalogue(TWO).rules, text)


def test_a_tools_rule_is_called_by_its_place_and_name() -> None:
    rules = compile_catalogue(TWO).rules
    assert "call-0-facts-get" in rules
    assert "call-1-find" in rules


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("a.b", "call-3-a-b"),
        ("a_b", "call-3-a-b"),
        ("天气", "call-3"),
        ("x" * 256, "call-3-" + "x" * 40),
        ("--", "call-3"),
    ],
)
def test_rule_names_hold_only_what_the_engine_takes(name: str, rule: str) -> None:
    assert rule_name(3, name) == rule
    assert re.fullmatch("[A-Za-z0-9-]+", rule)


def test_names_share_what_they_begin_with() -> None:
    tools = [Tool(f"service_{verb}", "", Q) for verb in ("start", "stop", "status")]
    walk = Walk(compile_catalogue(tools).rules)
    assert walk.feed('{"tool":"')
    assert walk.forced() == "service_st"


def test_a_name_that_begins_another_is_still_a_choice() -> None:
    rules = compile_catalogue([Tool("a", "", Q), Tool("ab", "", TWO[0].parameters)]).rules
    assert accepts(rules, '{"tool":"a","arguments":{"q":""}}')
    assert accepts(rules, '{"tool":"ab","arguments":{}}')
    assert not accepts(rules, '{"tool":"ab","arguments":{"q":""}}')


def test_a_name_may_be_written_as_the_prompt_shows_it() -> None:
    rules = compile_catalogue([Tool("a<b\u202e", "", TWO[0].parameters)]).rules
    assert accepts(rules, '{"tool":"a<b\u202e","arguments":{}}')
    assert accepts(rules, '{"tool":"a\\u003cb\\u202e","arguments":{}}')


@pytest.mark.parametrize(
    "name", ["\x00", "\ud800", '"', "\\", "\n", 'x","arguments":{}}', '" root ::= "', "\U000e0041"]
)
def test_a_hostile_name_comes_back_as_it_went_in_and_brings_no_rule(name: str) -> None:
    grammar = compile_catalogue([Tool(name, "", TWO[0].parameters)], choice=Choice("required"))
    assert {json.loads(draw(grammar.rules, seed))["tool"] for seed in range(5)} == {name}
    assert set(grammar.rules) == {"root", rule_name(0, name)}


def test_a_thousand_names_that_nest_deeply_compile() -> None:
    tools = [Tool("a" * size, "", TWO[0].parameters) for size in range(1, 257)]
    rules = compile_catalogue(tools).rules
    assert accepts(rules, '{"tool":"' + "a" * 256 + '","arguments":{}}')
    assert not accepts(rules, '{"tool":"' + "a" * 257 + '","arguments":{}}')


DEAD = {
    "contradiction": ({"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]}, "/properties/a/enum"),
    "false": ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "/properties/a"),
    "circle": ({"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}, ""),
    "itself": ({"type": "object", "$ref": "#"}, ""),
    "endless": ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, ""),
    "forbidden": ({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False}, "/required"),
    "lengths": ({"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}, "required": ["a"]}, "/properties/a/minLength"),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer"), DEAD.values(), ids=DEAD)
def test_a_tool_without_a_legal_call_is_left_out_and_harms_no_other(schema: dict[str, object], pointer: str) -> None:
    grammar = compile_catalogue([TWO[0], Tool("dead", "", schema), TWO[1]])
    (left,) = grammar.report.left_out
    assert (left.tool, left.pointer) == ("dead", pointer)
    assert left.reason
    assert accepts(grammar.rules, FACTS)
    assert accepts(grammar.rules, FIND)
    assert "dead" not in grammar.text
    without = compile_catalogue(TWO)
    assert grammar.text.replace("call-2-", "call-1-").replace("-2-", "-1-") == without.text.replace("-2-", "-1-")


def test_only_tools_without_a_call_leave_the_answer() -> None:
    dead = Tool("dead", "", DEAD["false"][0])
    grammar = compile_catalogue([dead])
    assert accepts(grammar.rules, SAY)
    assert grammar.report.left_out == (LeftOut("dead", "/properties/a", "the schema is false"),)
    with pytest.raises(GrammarError, match='"dead"'):
        compile_catalogue([dead], choice=Choice("required"))
    with pytest.raises(GrammarError, match='"dead"'):
        compile_catalogue([dead], choice=Choice("named", "dead"))


def test_a_choice_that_cannot_be_met_is_an_error() -> None:
    with pytest.raises(GrammarError):
        compile_catalogue([], choice=Choice("required"))
    with pytest.raises(GrammarError, match='"gone"'):
        compile_catalogue(TWO, choice=Choice("named", "gone"))


def test_two_tools_of_one_name_are_an_error() -> None:
    with pytest.raises(CatalogueError):
        compile_catalogue([TWO[0], TWO[0]])


def test_no_tools_leave_the_answer() -> None:
    assert accepts(compile_catalogue([]).rules, SAY)


def test_the_same_tools_give_the_same_grammar_at_once() -> None:
    catalogue = Catalogue(TWO)
    assert compile_catalogue(catalogue) is compile_catalogue(Catalogue(TWO))


def test_a_rule_that_nothing_reaches_is_a_bug_that_raises() -> None:
    builder = Builder()
    builder.put("lost", Lit("x"))
    with pytest.raises(CompilerBug, match="lost"):
        _finish(builder, Lit("y"), (), (), {})


def test_sizes_add_up_to_the_text() -> None:
    grammar = compile_catalogue(TWO)
    assert set(grammar.report.sizes) == {"", "facts_get", "find"}
    assert sum(grammar.report.sizes.values()) == len(grammar.text.encode())
