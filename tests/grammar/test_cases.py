"""Every case about schemas and tools, judged by our own acceptor; what the grammar lets through, by validation."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tacid.catalogue import Catalogue, read_tools
from tacid.errors import CatalogueError, GrammarError
from tacid.grammar import Grammar, compile_catalogue, compile_schema
from tacid.grammar.limits import MAX_REPEAT
from tacid.grammar.nodes import Node, Repeat
from tacid.grammar.printer import children
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tacid.schema.validate import Validators, compile_validator
from tests.case_files import Case, case, cases_of
from tests.grammar.draw import draw
from tests.grammar.orders import texts
from tests.later import LATER

SCHEMAS = cases_of("schema.")
TOOLS = [one for one in cases_of("catalogue", "tools.") if one.expect["outcome"] == "compiles"]
BETTER_REFUSED = ("stretch", "late", "stretch_format")
CALLS_BETTER_REFUSED = ("calls_stretch", "calls_late")


def _ids(found: list[Case]) -> list[str]:
    return [one.id for one in found]


def _admits(one: Case, grammar: Grammar, value: Any) -> bool:
    spelled = texts(value) if one.expect.get("key_order") == "free" else [dumps(value)]
    return any(accepts(grammar.rules, text) for text in spelled)


def _call(call: dict[str, Any], catalogue: Catalogue) -> str:
    """The text of a call, its arguments' keys in the order that the schema declares."""
    arguments = call["arguments"]
    if isinstance(arguments, dict) and call["name"] in catalogue:
        declared = catalogue[call["name"]].parameters.get("properties", {})
        arguments = dict(sorted(arguments.items(), key=lambda item: [*declared, item[0]].index(item[0])))
    return dumps({"tool": call["name"], "arguments": arguments})


@pytest.mark.parametrize("one", SCHEMAS, ids=_ids(SCHEMAS))
class TestSchema:
    def test_admits_what_it_must_and_refuses_what_it_must(self, one: Case) -> None:
        grammar = compile_schema(one.schema)
        for name, index, value in one.items("accept", "accept_if_compiled"):
            assert _admits(one, grammar, value), (name, index)
        for name, index, value in one.items("refuse"):
            assert not _admits(one, grammar, value), (name, index)
        for name, index, text in one.items("accept_text"):
            assert accepts(grammar.rules, text), (name, index)
        for name, index, text in one.items("refuse_text"):
            assert not accepts(grammar.rules, text), (name, index)

    def test_what_is_better_refused_is_refused_here_or_caught_afterwards(self, one: Case) -> None:
        grammar = compile_schema(one.schema)
        for name, index, value in one.items(*BETTER_REFUSED):
            if (one.id, name, index) in LATER:
                assert _admits(one, grammar, value), f"take {one.id}, {name}, {index} out of tests/later.py"
                if name != "stretch_format":
                    assert not compile_validator(one.schema).is_valid(value)
            else:
                assert not _admits(one, grammar, value), (name, index)

    def test_keeps_its_limits(self, one: Case) -> None:
        started = time.process_time()
        grammar = compile_schema(one.schema)
        limits = one.expect.get("limits", {})
        assert time.process_time() - started < limits.get("compile_seconds", 2)
        assert len(grammar.text.encode()) < limits.get("grammar_bytes", 100_000)

    def test_says_where_it_widens(self, one: Case) -> None:
        widened = "\n".join(widening.pointer for widening in compile_schema(one.schema).report.widenings)
        for field in one.expect.get("must_warn", []):
            assert f"/{field}" in widened
        names = {name for name, _, _ in one.items(*BETTER_REFUSED) if (one.id, name, 0) in LATER}
        assert widened or not names


@pytest.mark.parametrize("one", TOOLS, ids=_ids(TOOLS))
class TestTools:
    def test_admits_what_it_must_and_refuses_what_it_must(self, one: Case) -> None:
        grammar = compile_catalogue(one.tools)
        assert not grammar.report.left_out
        for name, index, call in one.items("calls_accept"):
            assert accepts(grammar.rules, _call(call, one.tools)), (name, index)
        for name, index, call in one.items("calls_refuse"):
            assert not accepts(grammar.rules, _call(call, one.tools)), (name, index)

    def test_what_is_better_refused_is_refused_here_or_caught_afterwards(self, one: Case) -> None:
        grammar = compile_catalogue(one.tools)
        validators = Validators(one.tools)
        for name, index, call in one.items(*CALLS_BETTER_REFUSED):
            if (one.id, name, index) in LATER:
                assert accepts(grammar.rules, _call(call, one.tools)), (
                    f"take {one.id}, {name}, {index} out of tests/later.py"
                )
                assert validators.problems(call["name"], call["arguments"])
            else:
                assert not accepts(grammar.rules, _call(call, one.tools)), (name, index)

    def test_keeps_its_limits(self, one: Case) -> None:
        started = time.process_time()
        grammar = compile_catalogue(one.tools)
        limits = one.expect.get("limits", {})
        assert time.process_time() - started < limits.get("compile_seconds", 2)
        assert len(grammar.text.encode()) < limits.get("grammar_bytes", 100_000)

    def test_names_come_out_as_they_went_in(self, one: Case) -> None:
        grammar = compile_catalogue(one.tools)
        drawn = [json.loads(draw(grammar.rules, seed)) for seed in range(60)]
        assert {reply["tool"] for reply in drawn if "tool" in reply} <= {tool.name for tool in one.tools}

    def test_no_name_brings_a_rule(self, one: Case) -> None:
        harmless = Catalogue(tuple(_renamed(tool, f"t{index}") for index, tool in enumerate(one.tools)))
        ours, theirs = compile_catalogue(one.tools), compile_catalogue(harmless)
        if one.expect.get("no_new_rules"):
            assert len(ours.rules) == len(theirs.rules)
        assert ours.text.count(" ::= ") - _quoted(one.tools) == len(ours.rules)


def _renamed(tool: Any, name: str) -> Any:
    return type(tool)(name, tool.description, tool.parameters)


def _quoted(catalogue: Catalogue) -> int:
    """How often names themselves hold what opens a rule; it stands in a literal then."""
    return sum(tool.name.count(" ::= ") for tool in catalogue)


def test_the_cases_are_there() -> None:
    assert len(SCHEMAS) == 36
    assert len(TOOLS) == 15


def test_what_comes_later_names_items_that_are_there() -> None:
    for name, listed, index in LATER:
        assert index < len(case(name).expect[listed])


def test_entries_that_are_no_tools_are_refused_by_their_index() -> None:
    entries = case("names-empty-or-missing").input["tools"]
    for index, entry in enumerate(entries):
        with pytest.raises(CatalogueError):
            read_tools([entry])
        with pytest.raises(CatalogueError, match=f"tool {index}"):
            read_tools([{"name": f"ok{i}"} for i in range(index)] + [entry])


def test_no_repeat_is_larger_than_the_engine_takes() -> None:
    waiting: list[Node] = list(compile_schema(case("maxlength-at-the-limit").schema).rules.values())
    while waiting:
        node = waiting.pop()
        if isinstance(node, Repeat):
            assert max(node.min, node.max or 0) <= MAX_REPEAT
        waiting.extend(children(node))


def test_an_object_declared_without_members_is_closed() -> None:
    # The case leaves it open: "properties": {} declares that there are none.
    assert not accepts(compile_schema(case("empty-object").schema).rules, '{"x":1}')


def test_an_object_or_null_at_the_root_may_be_null_in_a_bare_schema_and_not_in_a_tool() -> None:
    schema = case("root-nullable").schema
    assert accepts(compile_schema(schema).rules, "null")
    tools = read_tools([{"name": "t", "parameters": schema}])
    assert not accepts(compile_catalogue(tools).rules, '{"tool":"t","arguments":null}')


def test_a_slash_may_be_escaped_as_json_allows() -> None:
    assert accepts(compile_schema(case("string-escapes").schema).rules, '{"s":"\\/"}')


def test_tools_of_the_same_definition_names_keep_their_own() -> None:
    grammar = compile_catalogue(case("defs-clash-across-tools").tools)
    assert not grammar.report.widenings


def test_identical_schemas_share_their_rules() -> None:
    tools = case("catalogue-of-160").tools
    some = Catalogue(tools.tools[:10])
    assert len(compile_catalogue(tools).rules) == len(compile_catalogue(some).rules) + 150


def test_a_schema_that_nothing_fits_is_an_error_that_says_where() -> None:
    with pytest.raises(GrammarError, match="/properties/a"):
        compile_schema({"type": "object", "properties": {"a": False}, "required": ["a"]})
