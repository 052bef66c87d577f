"""Tools found by their purpose: words of any case and script, exact names, bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Tool
from tacid.search import MAX_QUERY, Search, search_of, words


def takes(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TOOLS = [
    Tool("getWeatherForecast", "What the sky will do.", takes(city={"type": "string"}, days={"type": "integer"})),
    Tool(
        "HTTPRequest_send", "Sends a request to a server.", takes(url={"type": "string", "description": "An address"})
    ),
    Tool("天気を調べる", "都市の天気予報を調べます。"),
    Tool("light_set", "Switches a lamp.", takes(room={"enum": ["kitchen", "attic"]})),
    Tool("disk_1_check", "Looks at a disk."),
    Tool("disk_2_check", "Looks at a disk."),
    Tool(
        "deep", "d", takes(outer={"type": "array", "items": takes(inner={"type": "string", "description": "A zebra"})})
    ),
]
SEARCH = Search(TOOLS)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("weather forecasts for tomorrow", "getWeatherForecast"),
        ("http requests", "HTTPRequest_send"),
        ("an address", "HTTPRequest_send"),
        ("东京の天気", "天気を調べる"),
        ("turn on the kitchen lamps", "light_set"),
        ("check disk 2", "disk_2_check"),
        ("zebras", "deep"),
        ("ＬＩＧＨＴ＿ＳＥＴ", "light_set"),
    ],
)
def test_the_tool_that_serves_is_first(query: str, name: str) -> None:
    assert SEARCH.find(query, 3)[0] == name


def test_names_can_be_picked() -> None:
    assert SEARCH.find(" select:light_set, nothing,deep,light_set", 9) == ["light_set", "deep"]
    assert SEARCH.find("select:light_set,deep", 1) == ["light_set"]
    assert SEARCH.find("select:", 5) == []


def test_nothing_fits_nothing() -> None:
    assert SEARCH.find("", 5) == []
    assert SEARCH.find("qqq", 5) == []
    assert Search([]).find("x", 5) == []


def test_equals_stand_in_the_order_of_the_catalogue() -> None:
    assert SEARCH.find("disk", 5) == ["disk_1_check", "disk_2_check"]


def test_a_search_is_kept_by_what_its_tools_say() -> None:
    again = [Tool(tool.name, tool.description, dict(tool.parameters)) for tool in TOOLS]
    assert search_of(TOOLS) is search_of(again)
    assert search_of(TOOLS[:2]) is not search_of(TOOLS)


@given(st.text(max_size=60), st.integers(0, 9))
def test_any_text_is_a_query(query: str, limit: int) -> None:
    found = SEARCH.find(query, limit)
    assert len(found) <= limit
    assert set(found) <= {tool.name for tool in TOOLS}
    assert len(set(found)) == len(found)


@given(st.text(max_size=60))
def test_a_tool_is_found_by_its_own_words(text: str) -> None:
    said = list(words(text))
    assert (Search([Tool("x", text)]).find(text, 1) == ["x"]) is any(not word.isdigit() for word in said) or not said


def test_a_long_query_and_odd_schemas_are_bounded() -> None:
    assert SEARCH.find("lamp " + "x" * MAX_QUERY + " zebra", 9) == ["light_set"]
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        nested = {"type": "object", "properties": {"a": nested, "b": 7}, "items": [], "enum": "x"}
    assert Search([Tool("t", "words", nested)]).find("words", 1) == ["t"]
