"""Tools found by words: in names however they are written, in any script, with bounds."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Tool
from tacid.errors import CatalogueError
from tacid.search import MAX_TOOLS, Search, search_of, words


def tool(name: str, description: str = "", **members: Any) -> Tool:
    return Tool(name, description, {"type": "object", "properties": members})


TOOLS = [
    tool("file_read", "Reads a text file.", path={"type": "string"}),
    tool("sendEmail", "Sends a message to somebody.", recipient={"type": "string"}),
    tool("weather.get", "The forecast for a place.", unit={"enum": ["celsius", "fahrenheit"]}),
    tool("HTTPProbe", "Asks a server whether it lives."),
    tool("book", "Reserves.", guests={"type": "array", "items": {"properties": {"passportNumber": {}}}}),
    tool("café_menu", "Was es zu essen gibt."),
    tool("weather.alarm", "天気予報を知らせる。"),
    tool("odd, name", "Odd."),
]
SEARCH = Search(TOOLS)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("read my notes", "file_read"),
        ("please send an EMAIL", "sendEmail"),
        ("celsius or fahrenheit?", "weather.get"),
        ("is http alright", "HTTPProbe"),
        ("give a passport", "book"),
        ("recipients", "sendEmail"),
        ("CAFE", "café_menu"),
        ("cafe\u0301", "café_menu"),
        ("ｆｉｌｅ", "file_read"),
        ("明日の天気は?", "weather.alarm"),
        ("forecasts", "weather.get"),
    ],
)
def test_the_tool_that_is_meant_comes_first(query: str, name: str) -> None:
    assert SEARCH.find(query, 3)[0] == name


@pytest.mark.parametrize("query", ["", "   ", "zyx", "?!", "\ud800", "\x00"])
def test_a_query_without_a_word_of_any_tool_finds_none(query: str) -> None:
    assert SEARCH.find(query, 5) == []


def test_at_most_so_many_are_found() -> None:
    assert len(SEARCH.find("weather", 5)) == 2
    assert len(SEARCH.find("weather", 1)) == 1
    assert SEARCH.find("weather", 0) == []
    assert SEARCH.find("weather", -1) == []


def test_equal_tools_come_in_their_order() -> None:
    assert Search([tool(f"same_{letter}") for letter in "zyx"]).find("same", 9) == ["same_z", "same_y", "same_x"]


def test_a_rare_word_counts_more_than_a_frequent_one_and_a_name_more_than_a_description() -> None:
    search = Search([*(tool(f"get_{number}", "Gets a thing.") for number in range(20)), tool("x", "A zebra.")])
    assert search.find("get the zebra", 2) == ["x", "get_0"]
    assert Search([tool("a", "zebra"), tool("zebra", "a")]).find("zebra", 2) == ["zebra", "a"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select:sendEmail,file_read", ["sendEmail", "file_read"]),
        (" Select: sendEmail , nothing, sendEmail,", ["sendEmail"]),
        ('select:"odd, name",book', ["odd, name", "book"]),
        ("select:", []),
        ("select:weather", []),
        ('select:"\\u00', []),
        ("select:" + ",".join(["book"] * 1000), ["book"]),
    ],
)
def test_names_can_be_selected(query: str, names: list[str]) -> None:
    assert SEARCH.find(query, 5) == names


def test_a_selection_has_its_limit_too() -> None:
    assert SEARCH.find("select:book,file_read", 1) == ["book"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getHTTPResponse_v2", ["get", "http", "response", "v2"]),
        ("cities classes gas", ["city", "classe", "gas"]),
        ("天気予報", ["天気", "気予", "予報"]),
        ("雨", ["雨"]),
        ("ÖBBFahrplan", ["obb", "fahrplan"]),
        ("ABC天気abc", ["abc", "天気", "abc"]),
        ("पढ़ता है", ["पढ़ता", "है"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("über-Größe", ["uber", "grosse"]),
        ("погодаВМоскве", ["погода", "в", "москве"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text(max_size=200))
def test_any_text_has_words_of_one_form(text: str) -> None:
    assert all(word and not word.isspace() for word in words(text))
    assert SEARCH.find(text, 3) == SEARCH.find(text, 3)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=10)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["properties", "items", "enum", "anyOf", "$defs", "description"]), inner),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["properties", "items", "anyOf", "enum", "$defs"]), JSON))
def test_any_parameters_can_be_searched(parameters: dict[str, Any]) -> None:
    assert Search([Tool("zebra", "", parameters)]).find("zebra", 1) == ["zebra"]


def test_no_more_tools_than_the_limit_are_taken() -> None:
    with pytest.raises(CatalogueError, match="10,001 tools"):
        Search([Tool(f"t{number}") for number in range(MAX_TOOLS + 1)])
    assert Search([]).find("anything", 5) == []


def test_a_large_query_and_large_tools_are_read_to_their_bounds() -> None:
    search = Search(
        [tool("t", "word " * 10_000 + "late", **{f"m{n}": {"description": "d " * 50} for n in range(2000)})]
    )
    assert search.find("late", 1) == []
    assert search.find("x " * 1000 + "word", 1) == []
    assert search.find("x " * 900 + "word", 1) == ["t"]


def test_many_tools_are_searched_in_milliseconds() -> None:
    search = Search([tool(f"tool_{n}", f"Does the thing of kind {n % 97} for the user.") for n in range(MAX_TOOLS)])
    query = "what does the user want of the thing, which kind, for what " * 30
    took = []
    for _ in range(5):
        started = time.perf_counter()
        assert len(search.find(query, 50)) == 50
        took.append(time.perf_counter() - started)
    assert min(took) < 0.25


def test_a_search_is_made_once_for_all_catalogues_that_say_the_same() -> None:
    def tools(description: str = "Reads.") -> list[Tool]:
        return [tool("one", description), tool("two")]

    assert search_of(tools()) is search_of(tools())
    assert search_of(tools()) is not search_of(tools("Writes."))
    assert search_of(tools()).find("reads", 5) == ["one"]


@pytest.mark.parametrize("text", [" " * 1990, " " * 1990 + ",", "a" + " " * 1990, '"' * 1990, '"\\' * 990, " ," * 990])
def test_a_selection_of_nothing_takes_no_time(text: str) -> None:
    search = Search([Tool("a", "b")])
    started = time.perf_counter()
    search.find("select:" + text, 10)
    assert time.perf_counter() - started < 1
