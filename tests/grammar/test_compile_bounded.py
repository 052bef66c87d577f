"""Whatever a schema is, compiling ends soon, small, the same everywhere, and without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from tacid.catalogue import Catalogue, Tool
from tacid.grammar import Grammar, compile_catalogue, compile_schema
from tacid.grammar.context import MAX_SCHEMA_DEPTH
from tacid.grammar.fit import MAX_BYTES
from tacid.grammar.limits import MAX_GRAMMAR_BYTES
from tacid.grammar.walk import accepts

INT = {"type": "integer"}


def nested(levels: int, leaf: Any, wrap: Any) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


WRAPS = {
    "object": lambda inner: {"type": "object", "properties": {"x": inner}},
    "array": lambda inner: {"type": "array", "items": inner},
    "tuple": lambda inner: {"type": "array", "prefixItems": [inner]},
    "anyOf": lambda inner: {"anyOf": [inner, {"type": "null"}]},
    "allOf": lambda inner: {"allOf": [inner, {"type": "integer"}]},
    "beside": lambda inner: {"type": ["integer", "null"], "oneOf": [inner, {"const": 7}]},
    "map": lambda inner: {"type": "object", "additionalProperties": inner},
    "const": lambda inner: {"const": inner},
    "enum": lambda inner: {"enum": [inner]},
}


@pytest.mark.parametrize("levels", [200, 5000])
@pytest.mark.parametrize("wrap", WRAPS)
def test_deep_schemas_are_widened_below_a_depth(wrap: str, levels: int) -> None:
    schema = {"type": "object", "properties": {"deep": nested(levels, INT, WRAPS[wrap]), "flat": INT}}
    started = time.process_time()
    grammar = compile_catalogue([Tool("deep", "", schema)])
    assert time.process_time() - started < 10
    assert not grammar.report.left_out
    assert accepts(grammar.rules, '{"tool":"deep","arguments":{"flat":1}}')
    if wrap not in ("const", "enum"):
        assert grammar.report.widenings


def test_just_above_the_depth_everything_holds_and_below_it_any_json_stands() -> None:
    wrap = WRAPS["array"]
    held = compile_schema(nested(MAX_SCHEMA_DEPTH - 1, INT, wrap))
    assert not held.report.widenings
    wider = compile_schema(nested(MAX_SCHEMA_DEPTH, INT, wrap))
    assert [widening.pointer for widening in wider.report.widenings] == ["/items" * MAX_SCHEMA_DEPTH]
    assert accepts(wider.rules, "[" * MAX_SCHEMA_DEPTH + '"x"' + "]" * MAX_SCHEMA_DEPTH)


def big(count: int, **more: Any) -> dict[str, Any]:
    """A schema whose text and grammar are large: many members, each with names of its own."""
    properties = {f"field_{index}_{'x' * 60}": {"type": "string", "maxLength": index} for index in range(count)}
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def test_the_costliest_part_of_a_large_tool_is_widened_and_the_rest_holds() -> None:
    schema = {"type": "object", "properties": {"big": big(20_000), "small": INT, "pick": {"enum": ["a", "b"]}}}
    grammar = compile_catalogue(
        [Tool("t", "", schema), Tool("other", "", {"type": "object", "properties": {"a": INT}})]
    )
    assert [(w.tool, w.pointer) for w in grammar.report.widenings] == [("t", "/properties/big")]
    assert len(grammar.text) < 10_000
    assert accepts(grammar.rules, '{"tool":"t","arguments":{"big":{"any":1},"small":1,"pick":"a"}}')
    assert not accepts(grammar.rules, '{"tool":"t","arguments":{"small":"x"}}')
    assert not accepts(grammar.rules, '{"tool":"t","arguments":{"pick":"c"}}')


def test_a_large_tool_without_a_part_to_widen_becomes_an_open_object() -> None:
    grammar = compile_catalogue([Tool("t", "", big(20_000))])
    assert len(grammar.text) < 10_000
    assert grammar.report.widenings
    assert accepts(grammar.rules, '{"tool":"t","arguments":{"any":1}}')


def test_a_list_of_values_is_never_widened() -> None:
    listed = {"enum": [f"svc-{index:05}" for index in range(3000)]}
    schema = big(20_000, properties={**big(20_000)["properties"], "service": listed})
    grammar = compile_catalogue([Tool("t", "", schema), Tool("u", "", {"type": "object"})])
    if grammar.report.left_out:
        assert grammar.report.left_out[0].tool == "t"
    else:
        assert not accepts(grammar.rules, '{"tool":"t","arguments":{"service":"x"}}')


def test_unions_that_multiply_end() -> None:
    schema: Any = {"type": "object", "properties": {f"p{index}": INT for index in range(20)}}
    schema["anyOf"] = [{"required": [f"p{index}"]} for index in range(20)]
    schema["allOf"] = [{"anyOf": [{"required": [f"p{i}"]}, {"required": [f"p{i + 1}"]}]} for i in range(10)]
    started = time.process_time()
    grammar = compile_catalogue([Tool("t", "", {**schema, "type": "object"})])
    assert time.process_time() - started < 15
    assert len(grammar.text) <= MAX_BYTES


def test_references_that_multiply_end() -> None:
    defs = {f"D{index}": {"allOf": [{"$ref": f"#/$defs/D{index + 1}"}] * 2} for index in range(30)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": {**defs, "D30": INT}}
    started = time.process_time()
    grammar = compile_catalogue([Tool("t", "", schema)])
    assert time.process_time() - started < 15
    assert accepts(grammar.rules, '{"tool":"t","arguments":{"a":1}}')


def test_many_optional_members_stay_within_what_the_engine_bears() -> None:
    for count in (300, 3000):
        schema = {"type": "object", "properties": {f"p{index}": INT for index in range(count)}}
        grammar = compile_catalogue([Tool("t", "", schema)])
        assert accepts(grammar.rules, '{"tool":"t","arguments":{"p7":1,"p299":2}}')


@pytest.mark.parametrize("count", [820, 2000, 5000])
def test_of_many_optional_members_each_may_be_given_where_others_may_too(count: int) -> None:
    schema = {"type": "object", "properties": {f"p{index}": {"type": "integer"} for index in range(count)}}
    rules = compile_schema(schema, open_objects=True).rules
    assert accepts(rules, '{"p7":1,"x":"y","p5":2}')
    assert accepts(compile_schema(schema).rules, '{"p7":1,"p5":2}')


def test_many_tools_stay_within_one_grammar() -> None:
    def tool(index: int) -> Tool:
        return Tool(f"tool_{index}", "", big(100, properties={f"p{index}_{i}_{'x' * 50}": INT for i in range(100)}))

    grammar = compile_catalogue([tool(index) for index in range(400)])
    assert len(grammar.text.encode()) <= MAX_GRAMMAR_BYTES
    assert accepts(grammar.rules, '{"tool":"tool_399","arguments":{"any":1}}') or not grammar.report.widenings


def test_four_thousand_tools_compile() -> None:
    tools = [Tool(f"t{index}", "", {"type": "object", "properties": {"q": INT}}) for index in range(4096)]
    grammar = compile_catalogue(tools)
    assert accepts(grammar.rules, '{"tool":"t4095","arguments":{"q":1}}')


def _texts(grammar: Grammar) -> tuple[str, Any]:
    return grammar.text, grammar.report


#: What is demanded and forbidden of members that nobody declares, by several keywords beside each other.
UNDECLARED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "anyOf": [
        {"required": ["x"], "properties": {"y": False}, "not": {"required": ["z"]}},
        {"required": ["w"], "dependentRequired": {"v": ["u"]}, "properties": {"t": False}},
    ],
}


def test_the_same_bytes_in_every_process_and_with_every_hash_seed() -> None:
    code = (
        "import json, sys; from tests.case_files import cases_of; from tacid.grammar import compile_catalogue\n"
        "from tacid.grammar import compile_schema\n"
        "for one in cases_of('catalogue'): g = compile_catalogue(one.tools); print(g.text); print(g.report.widenings)\n"
        f"print(compile_schema({UNDECLARED!r}, open_objects=True).text)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000


def test_nothing_given_is_changed() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}, {"minLength": 1}]}},
        "$defs": {"A": {"type": "string"}},
    }
    before = json.dumps(schema)
    compile_schema(schema)
    assert json.dumps(schema) == before


def test_two_hundred_tools_compile_soon_and_at_once_when_known() -> None:
    tools = Catalogue(
        tuple(
            Tool(
                f"srv{index % 8}_verb{index}",
                "",
                {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": f"name of {index}"},
                        "mode": {"type": "string", "enum": ["a", "b", f"m{index}"]},
                        "limit": {"type": "integer", "minimum": 1, "maximum": 100 + index},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["name"],
                },
            )
            for index in range(200)
        )
    )
    started = time.process_time()
    compile_catalogue(tools)
    assert time.process_time() - started < 8
    started = time.process_time()
    compile_catalogue(tools)
    assert time.process_time() - started < 1
