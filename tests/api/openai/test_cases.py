"""The parsing side of every case that goes to an OpenAI path: what parsing alone refuses, and what it must not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.api.openai import CHAT
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import Catalogue, Choice
from tacid.errors import RequestError
from tests.case_files import Case, case, cases, cases_of

CHATS = [
    one
    for one in cases()
    if isinstance(one.input.get("request"), dict)
    and one.input["request"].get("path") == "/v1/chat/completions"
    and "body" in one.input["request"]
]
#: Refused by parsing alone; every other 4xx needs an engine.
REFUSED = {"choice-required-without-tools"}


def parsed(one: Case) -> ChatRequest:
    return CHAT.parse(one.input["request"]["body"], Limits())


@pytest.mark.parametrize("one", [one for one in CHATS if one.id not in REFUSED], ids=lambda one: one.id)
def test_a_case_is_parsed_with_all_of_its_tools(one: Case) -> None:
    body = one.input["request"]["body"]
    asked = parsed(one)
    assert len(asked.messages) == len(body["messages"])
    assert [tool.name for tool in asked.tools] == [tool["function"]["name"] for tool in body.get("tools") or ()]
    assert asked.stream is body.get("stream", False)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_case_that_parsing_refuses(name: str) -> None:
    assert case(name).expect["status"] == 400
    with pytest.raises(RequestError):
        parsed(case(name))


def test_there_are_cases() -> None:
    assert len(CHATS) > 20


@pytest.mark.parametrize(
    "text", [body for body in case("body-not-json").input["bodies"] if isinstance(body, str)], ids=repr
)
def test_bodies_that_are_no_request(text: str) -> None:
    try:
        body: Any = json.loads(text)
    except ValueError:
        return
    if isinstance(body, dict):
        with pytest.raises(RequestError):
            CHAT.parse(body, Limits())


@pytest.mark.parametrize("one", [one for one in cases_of("tools.") if "tools" in one.input], ids=lambda one: one.id)
def test_tools_of_a_case_are_offered_or_refused_by_name(one: Case) -> None:
    try:
        asked = CHAT.parse({"messages": [{"role": "user", "content": "x"}], "tools": one.input["tools"]}, Limits())
    except RequestError as error:
        assert one.expect["outcome"] != "compiles"
        assert (error.param or "").startswith("tools")
    else:
        assert asked.tools == Catalogue(one.tools.tools)


def test_what_some_cases_ask_for() -> None:
    assert parsed(case("choice-named")).choice == Choice("named", "add")
    assert parsed(case("choice-none")).choice == Choice("none")
    assert parsed(case("parallel-two")).max_calls == 8
    assert parsed(case("stream-shape")).include_usage
    both = parsed(case("tools-and-response-format"))
    assert both.answer
    assert len(both.tools) == 1
    assert len(parsed(case("tools-empty-or-null")).tools) == 0
