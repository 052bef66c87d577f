"""Tool modes through the server: what the engine is shown, what the client never sees, cases of kind ``deferred``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacid.catalogue import Tool
from tacid.engine.process import Engine
from tacid.jsontext import dumps
from tacid.prompt.words import INFO, SEARCH
from tacid.schema.validate import Validators
from tests.api.judged import check
from tests.api.scripted import Scripted, before, scripted
from tests.api.stream_rules import collect, judge
from tests.api.test_server_cases import CHAT, asked, function
from tests.api.test_server_cases import called as called_elsewhere
from tests.case_files import Case, case, cases_of
from tests.serving import Served, joined, serving

CASES = cases_of("deferred")
SURFACES = [CHAT, "/v1/responses", "/v1/messages", "/api/chat"]
TOOLS = [
    Tool(
        f"tool_{index}",
        f"Does thing {index}. More words.",
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"enum": ["a", "b"], "description": f"hidden {index}"}},
            "required": ["x"],
        },
    )
    for index in range(6)
]
OFFERED = [function(tool) for tool in TOOLS]


def fetch(name: str) -> dict[str, Any]:
    return {"call": [{"name": INFO, "arguments": {"name": name}}]}


def made(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": [{"name": name, "arguments": arguments}]}


def called(path: str, reply: dict[str, Any]) -> tuple[str, Any]:
    """Name and arguments of a reply's one call."""
    if path != CHAT:
        return called_elsewhere(path, reply)
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted() as running:
        yield running


@pytest.fixture(scope="module")
def served(engine: Scripted) -> Iterator[Served]:
    with serving(before(engine)) as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30) as one:
        yield one


def body(mode: str | None = None, **more: Any) -> dict[str, Any]:
    chosen = {} if mode is None else {"tool_mode": mode}
    return {"model": "m", "messages": [{"role": "user", "content": "do it"}], "tools": OFFERED, **chosen, **more}


@pytest.mark.parametrize("one", CASES, ids=[one.id for one in CASES])
def test_a_case_is_played(one: Case, engine: Scripted, client: httpx.Client) -> None:
    engine.play(*one.input["engine"])
    request = one.input["request"]
    asked_for = {**request["body"], "tool_mode": one.input["mode"]}
    if request["body"].get("stream"):
        stream = collect(client, "POST", request["path"], asked_for)
        judge(stream, one.expect["stream"])
        assert stream.status == one.expect["status"]
    else:
        answer = client.post(request["path"], json=asked_for)
        assert answer.status_code == one.expect["status"]
        check(answer.json(), one.expect["checks"])
        assert answer.json()["usage"]["get_tool_info_hops"] == 1
    assert engine.calls == one.expect.get("engine_calls", 2)
    first, last = engine.sent[0].prompt, engine.sent[-1].prompt
    for seen in one.expect.get("engine_sees", ()):
        text = (first, last)[seen["call"]]
        assert seen.get("has", "") in text
        assert "not" not in seen or seen["not"] not in text
    for index in range(6):
        assert f"tool_{index}" in first
    assert not any(sent.left_grammar for sent in engine.sent)


class TestDeferred:
    @pytest.mark.parametrize("path", SURFACES)
    def test_every_surface_gets_the_call_and_nothing_of_the_hop(
        self, path: str, engine: Scripted, client: httpx.Client
    ) -> None:
        engine.play(fetch("tool_3"), made("tool_3", x=1))
        answer = client.post(path, json={**asked(path, TOOLS), "tool_mode": "deferred"})
        assert answer.status_code == 200
        assert called(path, answer.json()) == ("tool_3", {"x": 1})
        assert INFO not in answer.text.replace("get_tool_info_hops", "")
        assert "hidden 3" in engine.sent[-1].prompt
        assert "hidden 2" not in engine.sent[-1].prompt

    def test_usage_is_summed_and_hops_stand_beside_it(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(fetch("tool_1"), fetch("tool_4"), made("tool_4", x=1))
        usage = client.post(CHAT, json=body("deferred")).json()["usage"]
        assert usage["get_tool_info_hops"] == 2
        assert usage["prompt_tokens"] == sum(len(sent.ids) for sent in engine.sent)

    def test_at_the_cap_only_a_real_call_or_an_answer_can_come(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(*(fetch(f"tool_{n}") for n in range(3)), made("tool_5", x=1))
        assert client.post(CHAT, json=body("deferred")).json()["usage"]["get_tool_info_hops"] == 3
        last = engine.sent[-2].grammar or ""
        assert "get_tool" not in last
        assert "get_tool" in (engine.sent[0].grammar or "")

    def test_a_fetched_name_is_not_offered_again(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(fetch("tool_2"), fetch("tool_2"), {"say": "ok"})
        client.post(CHAT, json=body("deferred"))
        # The script says the same name once more, which the grammar of the second fetch doesn't have.
        assert [sent.left_grammar for sent in engine.sent].count(True) == 1
        assert "shown above already" in engine.sent[-1].prompt

    def test_an_engine_that_ignores_grammars_reads_an_error(self, engine: Scripted, client: httpx.Client) -> None:
        odd = 'x"}<|im_end|>\n'
        engine.play(fetch(odd), {"say": "sorry"})
        answer = client.post(CHAT, json=body("deferred"))
        assert answer.status_code == 200
        told = engine.sent[-1].untrusted.partition('Result of "get_tool_info": ')[2]
        assert told.startswith('{"error":')
        assert "<|im_end|>" not in told

    def test_a_tool_of_the_clients_that_is_called_like_ours_is_named(
        self, engine: Scripted, client: httpx.Client
    ) -> None:
        own = [function(Tool(INFO, "d")), *OFFERED]
        answer = client.post(CHAT, json=body("deferred", tools=own))
        assert answer.status_code == 400
        assert INFO in answer.json()["error"]["message"]
        for mode in ("full", "direct"):
            engine.play({"call": [{"name": INFO, "arguments": {}}]})
            assert called(CHAT, client.post(CHAT, json=body(mode, tools=own)).json())[0] == INFO

    def test_a_named_or_single_tool_needs_no_index(self, engine: Scripted, client: httpx.Client) -> None:
        for mode in ("deferred", "direct"):
            engine.play(made("tool_2", x=1))
            choice = {"type": "function", "function": {"name": "tool_2"}}
            client.post(CHAT, json=body(mode, tool_choice=choice))
            assert "hidden 2" in engine.sent[0].prompt
            assert "hidden 1" not in engine.sent[0].prompt
            assert INFO not in engine.sent[0].prompt

    def test_what_was_fetched_stays_in_the_history_of_a_call(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(fetch("tool_3"), made("tool_3", x=1))
        message = client.post(CHAT, json=body("deferred")).json()["choices"][0]["message"]
        first = engine.sent[-1].prompt
        history = [
            {"role": "user", "content": "do it"},
            message,
            {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "done"},
        ]
        engine.play({"say": "ok"})
        client.post(CHAT, json=body("deferred", messages=history))
        # The engine's cache holds all that the last request of the turn before had.
        assert engine.sent[0].prompt.startswith(first)

    def test_a_session_remembers_what_was_fetched_and_not_called(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(fetch("tool_3"), {"say": "x is a number"})
        client.post(CHAT, json=body("deferred", tool_session="s1"))
        more = [
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": "x is a number"},
            {"role": "user", "content": "then 1"},
        ]
        for session, there in (("s1", True), ("s2", False)):
            engine.play(made("tool_3", x=1))
            client.post(CHAT, json=body("deferred", messages=more, tool_session=session))
            assert ("hidden 3" in engine.sent[0].prompt) is there

    def test_hops_stand_beside_lists_of_calls(self, engine: Scripted, client: httpx.Client) -> None:
        several = {"call": [{"name": f"tool_{n}", "arguments": {"x": n}} for n in (1, 2)]}
        engine.play(fetch("tool_1"), several)
        answer = client.post(CHAT, json=body("deferred", parallel_tool_calls=True)).json()
        assert [call["function"]["name"] for call in answer["choices"][0]["message"]["tool_calls"]] == [
            "tool_1",
            "tool_2",
        ]

    def test_a_cut_off_in_a_hop_is_length(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play({**fetch("tool_3"), "finish": "length"})
        answer = client.post(CHAT, json=body("deferred", max_tokens=20)).json()
        assert answer["choices"][0]["finish_reason"] == "length"
        assert not answer["choices"][0]["message"].get("tool_calls")

    def test_a_client_that_goes_away_in_a_hop_ends_it(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(fetch("tool_3"), {**made("tool_3", x=1), "delay_s": 0.3})
        with pytest.raises(httpx.TimeoutException):
            client.post(CHAT, json=body("deferred"), timeout=1.0)
        ends = time.monotonic() + 5
        while engine.sent[-1].closed is None and time.monotonic() < ends:
            time.sleep(0.02)
        assert engine.sent[-1].closed is not None
        before_ = len(engine.sent)
        time.sleep(0.5)
        assert len(engine.sent) == before_

    def test_an_engine_that_dies_in_a_hop_is_an_error_and_the_next_is_served(
        self, engine: Scripted, client: httpx.Client
    ) -> None:
        dead = {**made("tool_3", x=1), "drop_after_chunks": 1}
        engine.play(fetch("tool_3"), dead, fetch("tool_3"), dead)
        assert client.post(CHAT, json=body("deferred")).status_code in (502, 503)
        engine.play({"say": "hi"})
        assert client.post(CHAT, json=body("deferred")).status_code == 200


class TestReminder:
    @pytest.fixture
    def reminding(self, engine: Scripted) -> Iterator[httpx.Client]:
        config = before(engine, tools={"mode": "deferred", "remind": True})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
            yield one

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_call_of_an_unread_tool_is_refused_once(
        self, stream: bool, engine: Scripted, reminding: httpx.Client
    ) -> None:
        engine.play(made("tool_3", x=7), fetch("tool_3"), made("tool_3", x=1))
        answer = reminding.post(CHAT, json=body(stream=stream))
        assert '\\"x\\":7' not in answer.text
        assert "not read yet" in engine.sent[-1].prompt
        engine.play(made("tool_3", x=7), made("tool_3", x=8))
        assert called(CHAT, reminding.post(CHAT, json=body()).json()) == ("tool_3", {"x": 8})


class TestDirect:
    @pytest.mark.parametrize("path", SURFACES)
    def test_the_schema_comes_once_the_name_is_certain(self, path: str, engine: Scripted, client: httpx.Client) -> None:
        engine.play(made("tool_3", x=1, y="b"))
        answer = client.post(path, json={**asked(path, TOOLS), "tool_mode": "direct"})
        assert called(path, answer.json()) == ("tool_3", {"x": 1, "y": "b"})
        first, second = engine.sent
        assert "hidden" not in first.prompt
        assert "hidden 3" in second.prompt
        assert second.prompt.startswith(first.prompt)
        assert second.prompt.endswith(',"arguments":')
        assert engine.calls == 1

    def test_each_call_of_a_list_has_its_schema_once(self, engine: Scripted, client: httpx.Client) -> None:
        several = {"call": [{"name": f"tool_{n}", "arguments": {"x": n}} for n in (1, 2, 1)]}
        engine.play(several)
        answer = client.post(CHAT, json=body("direct", parallel_tool_calls=True)).json()
        assert len(answer["choices"][0]["message"]["tool_calls"]) == 3
        last = engine.sent[-1].prompt
        assert (last.count("hidden 1"), last.count("hidden 2")) == (1, 1)
        written = json.loads(last.rpartition("assistant\n")[2] + "}]")
        assert [one["tool"] for one in written] == ["tool_1", "tool_2", "tool_1"]
        assert ["parameters" in one for one in written] == [True, True, False]
        for earlier, later in zip(engine.sent, engine.sent[1:], strict=False):
            assert later.prompt.startswith(earlier.prompt)

    def test_the_next_turn_reads_only_what_is_new(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(made("tool_3", x=1))
        message = client.post(CHAT, json=body("direct")).json()["choices"][0]["message"]
        first = engine.sent[-1].prompt
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "done"}
        engine.play(made("tool_3", x=2))
        client.post(CHAT, json=body("direct", messages=[{"role": "user", "content": "do it"}, message, result]))
        assert engine.sent[0].prompt.startswith(first)
        # The schema is there from before, so it isn't put in again.
        assert engine.sent[-1].prompt.count("hidden 3") == 1

    def test_a_stream_is_one_stream(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(made("tool_2", x=4, y="a"))
        stream = collect(client, "POST", CHAT, body("direct", stream=True))
        judge(
            stream,
            [
                "one_role_first",
                "id_and_name_in_first_delta_only",
                "arguments_concat_to_json",
                "finish:tool_calls",
                "done_sentinel",
            ],
        )


class TestChoice:
    def test_full_is_what_it_was(self, engine: Scripted, client: httpx.Client) -> None:
        prompts = []
        for mode in (None, "full"):
            engine.play(made("tool_1", x=1))
            answer = client.post(CHAT, json=body(mode))
            assert "get_tool_info_hops" not in answer.json()["usage"]
            prompts.append((engine.sent[0].ids, engine.sent[0].grammar, len(engine.sent)))
        assert prompts[0] == prompts[1]
        assert prompts[0][2] == 1

    def test_a_header_chooses_too_and_an_unknown_mode_is_named(self, engine: Scripted, client: httpx.Client) -> None:
        engine.play(made("tool_1", x=1))
        client.post(CHAT, json=body(), headers={"x-tacid-tool-mode": "direct"})
        assert "hidden 0" not in engine.sent[0].prompt
        answer = client.post(CHAT, json=body("lazy"))
        assert answer.status_code == 400
        assert "tool_mode" in answer.json()["error"]["message"]

    def test_requests_may_be_kept_from_choosing(self, engine: Scripted) -> None:
        config = before(engine, tools={"mode": "direct", "per_request": False})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
            assert one.post(CHAT, json=body("full")).status_code == 400
            engine.play(made("tool_1", x=1))
            assert one.post(CHAT, json=body("direct")).status_code == 200

    def test_auto_goes_by_the_budget_and_says_why(self, engine: Scripted) -> None:
        for budget, mode, why in ((100, "direct", "budget"), (100_000, "full", "fits")):
            config = before(engine, tools={"mode": "auto", "budget": budget})
            with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
                engine.play(made("tool_1", x=1))
                assert one.post(CHAT, json=body()).status_code == 200
                assert f'tacid_tool_modes_total{{mode="{mode}",why="{why}"}} 1.0' in one.get("/metrics").text

    @pytest.mark.parametrize("level", ["tool", "function"])
    def test_defer_loading_defers_those_and_shows_the_others(
        self, level: str, engine: Scripted, client: httpx.Client
    ) -> None:
        marked = [json.loads(json.dumps(one)) for one in OFFERED]
        for one in marked[2:]:
            (one if level == "tool" else one["function"])["defer_loading"] = True
        engine.play(made("tool_4", x=1))
        client.post(CHAT, json=body(tools=marked))
        prompt = engine.sent[0].prompt
        assert "hidden 0" in prompt
        assert "hidden 1" in prompt
        assert "hidden 4" not in prompt
        assert "hidden 4" in engine.sent[1].prompt

    def test_anthropics_search_is_ours(self, engine: Scripted, client: httpx.Client) -> None:
        tools = [
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
            *(
                {"name": t.name, "description": t.description, "input_schema": t.parameters, "defer_loading": True}
                for t in TOOLS
            ),
        ]
        engine.play(made("tool_4", x=1))
        asked_for = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "do 4"}], "tools": tools}
        answer = client.post("/v1/messages", json=asked_for)
        assert answer.status_code == 200
        assert called("/v1/messages", answer.json()) == ("tool_4", {"x": 1})

    def test_always_visible_tools_are_shown(self, engine: Scripted) -> None:
        config = before(engine, tools={"mode": "direct", "always": ["tool_2"]})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as one:
            engine.play(made("tool_2", x=1))
            one.post(CHAT, json=body())
            assert "hidden 2" in engine.sent[0].prompt
            assert "hidden 1" not in engine.sent[0].prompt


class TestSearch:
    def test_it_joins_where_the_names_are_too_many(self, engine: Scripted) -> None:
        many = [function(Tool(f"item_{n}_open", f"Opens the {n}th item.", TOOLS[0].parameters)) for n in range(600)]
        config = before(engine, tools={"mode": "direct", "index_tokens": 1000})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=60) as one:
            engine.play({"call": [{"name": SEARCH, "arguments": {"query": "item 321"}}]}, made("item_321_open", x=1))
            answer = one.post(CHAT, json={**body(tools=many), "messages": [{"role": "user", "content": "open item 5"}]})
            assert called(CHAT, answer.json()) == ("item_321_open", {"x": 1})
            assert SEARCH not in answer.text
            assert "more tools have no line" in engine.sent[0].prompt
            # What the user asks is searched for before the model has to.
            assert "item_5_open" in engine.sent[0].prompt.partition("open item 5")[2]
            assert "item_321_open" in engine.sent[-1].prompt


def test_the_index_of_a_large_case_is_small() -> None:
    one = case("catalogue-of-160")
    with scripted(context=200_000) as engine:
        config = before(engine, tools={"index_tokens": 30_000})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=60) as client:
            sizes = {}
            tools = [function(tool) for tool in one.tools]
            for mode in ("full", "deferred"):
                engine.play({"say": "ok"})
                answer = client.post(CHAT, json=body(mode, tools=tools))
                assert answer.status_code == 200
                sizes[mode] = len(engine.sent[0].prompt.encode())
    assert sizes["full"] > one.expect["full_prompt_is_larger_by"] * sizes["deferred"]
    assert sizes["deferred"] < one.expect["prompt_limits"]["index_bytes_per_tool"] * len(one.tools)


@pytest.mark.engine
@pytest.mark.model
@pytest.mark.parametrize("mode", ["deferred", "direct"])
@pytest.mark.parametrize("count", [12, 100, 500])
def test_a_real_engine_gives_valid_calls(mode: str, count: int, random_engine: Engine) -> None:
    tools = [Tool(f"unit_{n}_set", f"Sets unit {n}.", TOOLS[0].parameters) for n in range(count)]
    validators = Validators(tools)
    config = joined(random_engine, model={"aliases": {"m": "random"}})
    with serving(config) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        asked_for = body(mode, tools=[function(tool) for tool in tools], tool_choice="required", temperature=1)
        for seed in range(4):
            answer = client.post(CHAT, json={**asked_for, "seed": seed, "max_tokens": 400})
            assert answer.status_code == 200
            for call in answer.json()["choices"][0]["message"].get("tool_calls", ()):
                name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                assert not validators.problems(name, arguments), dumps(arguments)
                assert name in [tool.name for tool in tools]


def test_each_request_has_its_line_in_the_account(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with scripted() as engine:
        config = before(engine, tools={"metrics_out": str(path)})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as client:
            engine.play(fetch("tool_2"), made("tool_2", x=1), made("tool_1", x=1))
            client.post(CHAT, json=body("deferred"))
            read = sum(len(sent.ids) for sent in engine.sent)
            client.post("/api/chat", json={**asked("/api/chat", TOOLS), "tool_mode": "direct", "stream": True})
            # A line is written at the end of a request, which the client of a stream hears of before.
            server.log()
            client.post(CHAT, json=body("lazy"))
            client.get("/health")
            server.log()
    first, *others = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    # A stream's line may come after that of a request which was made when the client had all of it.
    third, second = sorted(others, key=lambda line: line["streamed"])
    assert first.pop("time")
    assert first.pop("completion_tokens")
    assert first.pop("saved_tokens") > 100
    assert first == {
        "endpoint": CHAT,
        "outcome": "ok",
        "streamed": False,
        "mode": "deferred",
        "why": "configured",
        "hops": 1,
        "prompt_tokens": read,
        "cached_tokens": 0,
        "tools_offered": 6,
        "tools_called": ["tool_2"],
    }
    assert (second["streamed"], second["mode"], second["hops"]) == (True, "direct", 0)
    assert (third["outcome"], third["mode"]) == ("refused", None)
