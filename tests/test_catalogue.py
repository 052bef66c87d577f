"""Catalogues as people have them: three forms, honest variants, and errors that name the tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacid.catalogue import MAX_DESCRIPTION, MAX_TOOLS, Catalogue, Tool, load_catalogue, read_tool, read_tools
from tacid.errors import CatalogueError, InputError

CASES = Path(__file__).parent / "cases"
NOTHING = {"type": "object", "properties": {}}
HOSTILE = [
    'a"b', "a\nb", "a\\b", "x ::= y", "\0", "\ud800", "\u202eabc", '"\nroot ::= "x', "a" * 256, "<|im_end|>", "天气", " ",
    '{"tool":"rm"}', "𝒳", "\x1b[2J",
]  # fmt: skip


def case(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))


def openai(name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


def test_the_three_forms_give_one_catalogue() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    wanted = Catalogue((Tool("a", "d", schema), Tool("b")))
    tools = [openai("a", description="d", parameters=schema), openai("b")]
    mcp = [{"name": "a", "description": "d", "inputSchema": schema, "outputSchema": {"type": "array"}}, {"name": "b"}]
    for document in (
        tools,
        {"tools": tools},
        mcp,
        {"tools": mcp, "nextCursor": None},
        {"jsonrpc": "2.0", "result": {"tools": mcp}},
    ):
        assert read_tools(document) == wanted
    flat = {"type": "function", "name": "a", "description": "d", "parameters": schema}
    assert read_tools([flat, {"name": "b", "input_schema": None}]) == wanted


def test_nothing_is_a_catalogue_of_nothing() -> None:
    assert len(read_tools([])) == 0


def test_a_catalogue_is_iterated_in_order_and_indexed_by_name() -> None:
    catalogue = Catalogue((Tool("b"), Tool("a")))
    assert [tool.name for tool in catalogue] == ["b", "a"]
    assert catalogue["a"].name == "a"
    assert "b" in catalogue
    assert "c" not in catalogue
    more: list[Tool] = [Tool("c")]
    assert [tool.name for tool in catalogue + more] == ["b", "a", "c"]
    with pytest.raises(KeyError):
        catalogue["c"]


def test_every_way_to_say_that_a_tool_takes_nothing() -> None:
    catalogue = read_tools(case("parameters-missing")["input"]["tools"])
    assert {tool.name: tool.parameters for tool in catalogue} == {
        "ping_absent": NOTHING,
        "ping_null": NOTHING,
        "ping_empty": NOTHING,
        "ping_typed": {"type": "object"},
        "ping_hollow": NOTHING,
    }


@pytest.mark.parametrize(
    ("parameters", "read"),
    [
        (True, {"type": "object"}),
        ({"properties": {"q": {}}}, {"type": "object", "properties": {"q": {}}}),
        ({"type": None, "properties": {"q": {}}, "required": None}, {"type": "object", "properties": {"q": {}}}),
        ({"type": ["object", "null"], "required": ["q"]}, {"type": "object", "required": ["q"]}),
        ({"type": "object", "properties": []}, {"type": "object"}),
        ({"type": "object", "const": None, "default": None}, {"type": "object", "const": None, "default": None}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}),
    ],
)
def test_parameters_are_an_objects_schema(parameters: Any, read: Any) -> None:
    given = json.dumps(parameters)
    assert read_tool(openai("t", parameters=parameters), "x").parameters == read
    assert json.dumps(parameters) == given


def test_a_root_that_may_be_null_is_an_object() -> None:
    schema = case("root-nullable")["input"]["schema"]
    assert read_tool(openai("t", parameters=schema), "x").parameters == {**schema, "type": "object"}


def test_strict_changes_nothing() -> None:
    tools = case("strict-flag")["input"]["request"]["body"]["tools"]
    for entry in tools:
        plain = {"type": "function", "function": {k: v for k, v in entry["function"].items() if k != "strict"}}
        assert read_tool(entry, "x") == read_tool(plain, "x")


@pytest.mark.parametrize("index", range(6))
def test_entries_that_are_no_tools_are_refused_by_their_index(index: int) -> None:
    entries = case("names-empty-or-missing")["input"]["tools"]
    assert len(entries) == 6
    with pytest.raises(CatalogueError, match="tool 0"):
        read_tools([entries[index]])
    with pytest.raises(CatalogueError, match="tool 1"):
        read_tools([openai("good"), entries[index]])


def test_the_odd_tools_of_a_server_are_read_one_by_one() -> None:
    entries = case("mcp-listing-oddities")["input"]["mcp"]["tools/list"][0]["tools"]
    assert [read_tool(entry, "x").name for entry in entries[:4]] == case("mcp-listing-oddities")["expect"]["tools_seen"]
    assert read_tool(entries[1], "x").parameters == NOTHING
    assert read_tool(entries[2], "x").parameters["type"] == "object"
    with pytest.raises(CatalogueError, match='no "name"'):
        read_tool(entries[4], "tool 4")
    with pytest.raises(CatalogueError, match='both called "fine"'):
        read_tools([entries[0], entries[5]])


def test_the_real_catalogues_are_read() -> None:
    read = 0
    for path in sorted(CASES.glob("catalogue-*.json")):
        tools = case(path.stem)["input"].get("tools")
        if tools is not None:
            assert len(read_tools(tools)) == len(tools)
            read += 1
    assert read >= 8


@pytest.mark.parametrize("name", HOSTILE)
def test_names_come_out_as_they_went_in(name: str) -> None:
    assert read_tools([openai(name)]).tools[0].name == name


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_twice_is_an_error_that_names_both_and_shows_nothing_raw(name: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_tools([openai("first"), openai(name), openai("x"), openai(name)])
    message = str(caught.value)
    assert message.startswith("Tools 1 and 3 are both called")
    assert not set(message) & set("\0\n\x1b\u202e<\ud800")


def test_a_name_has_256_characters_at_most() -> None:
    assert read_tools([openai("n" * 256)]).tools[0].name == "n" * 256
    with pytest.raises(CatalogueError, match="tool 0 has a name of 257 characters; the limit is 256"):
        read_tools([openai("n" * 257)])


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"functions": []}, 'an object without "tools"'),
        ({"tools": {"a": 1}}, "no list of tools but an object"),
        ({"tools": None}, "no list of tools but null"),
        ("tools", "no list of tools but a string"),
        (3, "no list of tools but a number"),
        ([[]], "tool 0 is a list, not an object"),
        ([{"function": 3}], '"function" is a number'),
        ([openai(5)], 'has no "name"'),
        ([{"type": "x" * 10_000, "name": "a"}], "only functions can be offered"),
        ([openai("a", description=5)], '"description" is a number'),
        ([openai("a", description="d" * (MAX_DESCRIPTION + 1))], "65,537 characters; the limit is 65,536"),
        ([openai("a", parameters="{}")], '"parameters" is a string, not a JSON Schema'),
        ([openai("a", parameters=[])], '"parameters" is a list'),
        ([openai("a", parameters=False)], '"parameters" is a boolean'),
        ([openai("a", parameters={"type": "array"})], 'describes the type "array"'),
        ([openai("a", parameters={"type": ["x" * 10_000]})], "the arguments of a tool are an object"),
        ([{"name": "a", "inputSchema": {"type": "string"}}], '"inputSchema" describes the type "string"'),
    ],
)
def test_other_shapes_are_one_short_sentence(document: Any, words: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_tools(document)
    message = str(caught.value)
    assert message.startswith("The catalogue")
    assert words in message
    assert len(message) < 300


def test_ten_thousand_tools_are_too_many() -> None:
    with pytest.raises(CatalogueError, match="has 10,000 tools; the limit is 4,096"):
        read_tools([openai(f"t{n}") for n in range(10_000)])
    assert len(read_tools([openai(f"t{n}") for n in range(MAX_TOOLS)])) == MAX_TOOLS
    with pytest.raises(CatalogueError, match="the limit is 4,096"):
        Catalogue(tuple(Tool(f"t{n}") for n in range(MAX_TOOLS + 1)))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [openai("a")]}), encoding="utf-8")
    assert load_catalogue(path) == Catalogue((Tool("a"),))
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"The catalogue .*tools\.json is not JSON"):
        load_catalogue(path)
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"The catalogue .*tools\.json is an object without"):
        load_catalogue(path)
    with pytest.raises(InputError, match="does not exist"):
        load_catalogue(tmp_path / "none.json")


def test_a_schema_a_thousand_deep_is_refused_when_read(tmp_path: Path) -> None:
    schema = '{"type":"object","properties":{"x":' * 1000 + "{}" + "}}" * 1000
    path = tmp_path / "deep.json"
    path.write_text(f'[{{"name":"a","parameters":{schema}}}]', encoding="utf-8")
    with pytest.raises(InputError, match="too deep; the limit is 200"):
        load_catalogue(path)


def test_a_catalogue_of_50_megabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(InputError, match="50,000,000 bytes"):
        load_catalogue(path)
