"""Faults of the tool modes that were found by attacking them: what a client saw of a hop, and what broke a turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacid.catalogue import Tool
from tacid.errors import CatalogueError
from tacid.prompt.words import INFO
from tests.api.scripted import Scripted, before, scripted
from tests.api.test_modes import OFFERED, SURFACES, TOOLS, body, called, fetch, made
from tests.api.test_server_cases import CHAT, asked, function
from tests.serving import Served, serving


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted() as running:
        yield running


@pytest.fixture(scope="module")
def client(engine: Scripted) -> Iterator[httpx.Client]:
    with serving(before(engine)) as server, httpx.Client(base_url=server.url, timeout=30) as one:
        yield one


def limit(path: str, tokens: int) -> dict[str, Any]:
    """So many tokens at most, in the words of a path's protocol."""
    if path == "/api/chat":
        return {"options": {"num_predict": tokens}}
    return {"max_output_tokens" if path == "/v1/responses" else "max_tokens": tokens}


@pytest.mark.parametrize("path", SURFACES)
@pytest.mark.parametrize("stream", [False, True])
def test_of_a_hop_that_is_cut_off_nothing_is_seen(
    path: str, stream: bool, engine: Scripted, client: httpx.Client
) -> None:
    for tokens in (25, 50):
        engine.play({**fetch("tool_3"), "finish": "length"})
        more = {**limit(path, tokens), "tool_mode": "deferred", "stream": stream}
        answer = client.post(path, json={**asked(path, TOOLS), **more})
        assert answer.status_code == 200
        assert INFO not in answer.text.replace("get_tool_info_hops", "")


FETCH = '{"tool":"get_tool_info","arguments":{"name":"tool_1"}}'
CALL = '{"tool":"tool_1","arguments":{"x":1}}'


@pytest.mark.parametrize("raw", [f"[{FETCH},{CALL}]", f"[{CALL},{FETCH}]", f"[{FETCH},{FETCH}]", f"I say {FETCH}."])
@pytest.mark.parametrize("stream", [False, True])
def test_an_engine_without_grammars_shows_no_client_our_own_tools(
    raw: str, stream: bool, engine: Scripted, client: httpx.Client
) -> None:
    for path in SURFACES:
        engine.play(endless={"raw": raw})
        answer = client.post(path, json={**asked(path, TOOLS), "tool_mode": "deferred", "stream": stream})
        if CALL in raw:
            assert "tool_1" in answer.text
            assert INFO not in answer.text.replace("get_tool_info_hops", "")
        else:
            # An engine that goes on so to the end is an error, which is no call.
            assert "arguments that don't fit, twice" in answer.text


BAD = Tool("bad", "Has no call.", {"type": "object", "properties": {"x": False}, "required": ["x"]})
WIDE = Tool(
    "wide",
    "Wide.",
    {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}},
        "required": ["a"],
    },
)


def history(*names: str) -> list[dict[str, Any]]:
    """A conversation in which these tools were called."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "a"}]
    for number, name in enumerate(names):
        function_ = {"name": name, "arguments": '{"x":1}'}
        messages += [
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function_}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "r"},
        ]
    return messages


def test_a_tool_without_a_call_may_stand_in_the_history(engine: Scripted, client: httpx.Client) -> None:
    engine.play(made("tool_3", x=1))
    tools = [function(tool) for tool in (*TOOLS, BAD)]
    answer = client.post(CHAT, json=body("direct", tools=tools, messages=history("bad")))
    assert answer.status_code == 200


@pytest.mark.parametrize("mode", ["full", "deferred", "direct"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_where_no_tool_has_a_call_the_request_is_refused(
    mode: str, choice: str, engine: Scripted, client: httpx.Client
) -> None:
    engine.play(endless={"say": "hm"})
    tools = [function(tool) for tool in (BAD, replace(BAD, name="worse"))]
    assert client.post(CHAT, json=body(mode, tools=tools, tool_choice=choice)).status_code == 400


def test_a_turn_without_hops_has_none_from_the_start(engine: Scripted, client: httpx.Client) -> None:
    engine.play(made("tool_1", x=1))
    client.post(CHAT, json=body("deferred", tools=OFFERED[:2], messages=history("tool_0", "tool_1")))
    # All that could be asked for is there already.
    assert "get_tool" not in (engine.sent[0].grammar or "")
    config = before(engine, tools={"mode": "deferred", "max_hops": 0})
    with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
        engine.play(made("tool_3", x=1))
        one.post(CHAT, json=body())
        assert "get_tool" not in (engine.sent[0].grammar or "")


@pytest.mark.parametrize("mode", ["full", "deferred", "direct"])
def test_the_prompt_of_a_retry_begins_with_the_one_before(mode: str, engine: Scripted, client: httpx.Client) -> None:
    first = [fetch("wide")] if mode == "deferred" else []
    engine.play(*first, made("wide", a=[1, 1]), made("wide", a=[1, 2]))
    answer = client.post(CHAT, json=body(mode, tools=[function(tool) for tool in (*TOOLS, WIDE)]))
    assert called(CHAT, answer.json()) == ("wide", {"a": [1, 2]})
    for earlier, later in pairwise(engine.sent):
        assert later.prompt.startswith(earlier.prompt)


def test_the_servers_own_tools_are_not_called_like_ours(engine: Scripted, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([function(Tool(INFO, "d")), *OFFERED]), encoding="utf-8")
    for tools in ({"mode": "deferred"}, {"mode": "auto", "instead": "deferred"}):
        with pytest.raises(CatalogueError, match=INFO):
            Served(before(engine, tools=tools, server={"tools": str(path)}))
    with serving(before(engine, server={"tools": str(path)})):
        pass


@pytest.mark.parametrize("stream", [False, True])
def test_a_hop_that_left_its_grammar_doesnt_end_the_next_reply(
    stream: bool, engine: Scripted, client: httpx.Client
) -> None:
    engine.play(fetch("no such tool"), made("tool_3", x=1))
    answer = client.post(CHAT, json=body("deferred", stream=stream))
    assert "tool_calls" in answer.text
    assert "length" not in answer.text


def test_a_history_that_was_cut_keeps_its_results(engine: Scripted, client: httpx.Client) -> None:
    engine.play(fetch("tool_3"), {"say": "x"})
    two = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    client.post(CHAT, json=body("deferred", messages=two, tool_session="cut"))
    engine.play({"say": "x"})
    client.post(CHAT, json=body("deferred", messages=history("tool_1"), tool_session="cut"))
    assert 'Result of "tool_1": "r"' in engine.sent[0].prompt
    assert "hidden 3" in engine.sent[0].prompt


@pytest.mark.parametrize("count", [100, 400])
def test_an_index_has_no_more_tokens_than_it_may(count: int, engine: Scripted) -> None:
    tools = [Tool(f"weather_{n}", "查询一个城市的天气预报和其他信息。", TOOLS[0].parameters) for n in range(count)]
    config = before(engine, tools={"mode": "direct", "index_tokens": 2048})
    with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
        engine.play({"say": "x"})
        one.post(CHAT, json=body(tools=[function(tool) for tool in tools]))
        index = engine.sent[0].prompt.partition("<index>\n")[2].partition("\n</index>")[0]
        lines = [line for line in index.splitlines() if not line.startswith("(")]
        assert 900 < len("\n".join(lines).encode()) <= 2048
        assert count > 100 or len(lines) == count, "all names have room"
