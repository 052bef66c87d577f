"""Every case of a request, of tools and of doors against the running server.

What has a script is played by a scripted engine (`tests.api.scripted`), what has none by a real one. ``statements`` are
judged in `test_server_statements`; what a later issue brings stands in ``tests/later.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest

from tacid.api.left_out import HEADER
from tacid.catalogue import Catalogue, Tool
from tacid.engine.process import Engine
from tacid.jsontext import dumps
from tests.api.judged import CHECKS, Held, check, judge_engine
from tests.api.scripted import Scripted, before, scripted
from tests.api.stream_rules import RULES, collect, judge
from tests.case_files import Case, case, cases, cases_of
from tests.serving import Served, joined, serving

CHAT = "/v1/chat/completions"
REQUESTS = cases_of("request.")
PLAYED = [one for one in REQUESTS if "engine" in one.input]
WHOLE_AND_STREAMED = [one for one in PLAYED if one.input["request"]["path"] == CHAT and one.expect.get("status") == 200]
TOOLS = [one for one in cases_of("tools.", "catalogue") if one.expect["outcome"] == "compiles"]
#: Cases whose script writes what no grammar of ours lets through.
OUTSIDE = {"call-breaks-the-schema", "engine-ignores-grammar"}
#: Words of an expectation that this file judges, and those that tests of their own do.
JUDGED = {
    "status", "status_in", "checks", "checks_joined", "stream", "per_request", "engine_calls", "engine_sees",
    "engine_request", "grammar_refuses_calls", "grammar_refuses_say", "grammar_calls_only", "grammar_max_calls",
    "grammar_say_is_schema", "notes",
}  # fmt: skip
ELSEWHERE = {"statements": "test_server_statements.py", "limits": "test_server_statements.py"}


def ids(found: list[Case]) -> list[str]:
    return [one.id for one in found]


@pytest.fixture(scope="module")
def actor() -> Iterator[Scripted]:
    with scripted() as engine:
        yield engine


@pytest.fixture(scope="module")
def thinker() -> Iterator[Scripted]:
    with scripted(thinks=True) as engine:
        yield engine


@pytest.fixture(scope="module")
def stages(actor: Scripted, thinker: Scripted) -> Iterator[dict[bool, tuple[Scripted, Served]]]:
    """A server before each of the two, by whether its model thinks."""
    with serving(before(actor)) as plain, serving(before(thinker)) as deep:
        yield {False: (actor, plain), True: (thinker, deep)}


@pytest.fixture(scope="module")
def real(random_engine: Engine) -> Iterator[httpx.Client]:
    """A server before a real engine, whose model writes whatever the grammar lets it."""
    config = joined(random_engine, model={"aliases": {"m": "random"}})
    with serving(config) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        yield client


def played(one: Case, stages: dict[bool, tuple[Scripted, Served]]) -> tuple[Scripted, httpx.Client]:
    """The engine that plays a case's script, and a client of the server before it."""
    script = one.input["engine"]
    if "client" in one.input:
        # What the client does in the middle of it is a test of its own; here it hears the whole, and not for minutes.
        script = [{**entry, "delay_s": 0, "chunks_of": 100} for entry in script]
    engine, server = stages[any("think" in entry for entry in script)]
    engine.play(*script)
    return engine, httpx.Client(base_url=server.url, timeout=30)


def status_fits(one: Case, status: int) -> bool:
    expect = one.expect
    allowed = [expect["status"]] if "status" in expect else expect.get("status_in", [200])
    return status in allowed


@pytest.mark.parametrize("one", PLAYED, ids=ids(PLAYED))
def test_a_case_is_played_by_the_script(one: Case, stages: dict[bool, tuple[Scripted, Served]]) -> None:
    engine, client = played(one, stages)
    request = one.input["request"]
    with client:
        if "stream" in one.expect or request["body"].get("stream"):
            stream = collect(client, "POST", request["path"], request["body"])
            stream.engine_ended = engine.sent[-1].ended
            status = stream.status
            judge(stream, one.expect.get("stream", []))
            for wanted in one.expect.get("checks_joined", ()):
                assert {key: stream.message()[key] for key in wanted} == wanted
        else:
            answer = client.request(request.get("method", "POST"), request["path"], json=request["body"])
            status = answer.status_code
            check(answer.json(), one.expect.get("checks", ()))
    assert status_fits(one, status)
    judge_engine(one, engine)
    if status == 200:
        assert engine.calls == len(one.input["engine"])
        # Never too narrow: what the script of a case says is what the grammar lets through.
        assert any(sent.left_grammar for sent in engine.sent) is (one.id in OUTSIDE)


@pytest.mark.parametrize("one", WHOLE_AND_STREAMED, ids=ids(WHOLE_AND_STREAMED))
def test_a_case_gives_the_same_streamed_and_whole(one: Case, stages: dict[bool, tuple[Scripted, Served]]) -> None:
    body = one.input["request"]["body"]
    _, client = played(one, stages)
    with client:
        whole = client.post(CHAT, json={**body, "stream": False}).json()["choices"][0]
        played(one, stages)[1].close()
        streamed = collect(client, "POST", CHAT, {**body, "stream": True})
    message = whole["message"]
    assert streamed.message() == {
        "content": message["content"] or "",
        "reasoning_content": message.get("reasoning_content", ""),
        "calls": [call["function"] for call in message.get("tool_calls", ())],
    }
    assert streamed.finishes == [whole["finish_reason"]]
    judge(streamed, ["one_role_first", "same_id_and_model_throughout", "done_sentinel"])


class TestTools:
    """What a catalogue must admit comes through the whole server, by each of its surfaces."""

    @pytest.mark.parametrize("one", TOOLS, ids=ids(TOOLS))
    def test_each_call_that_must_be_admitted_comes_out_as_it_went_in(
        self, one: Case, stages: dict[bool, tuple[Scripted, Served]]
    ) -> None:
        engine, server = stages[False]
        calls = [ordered(call, one.tools) for call in one.expect.get("calls_accept", [])][:12]
        offered = [function(tool) for tool in one.tools]
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for call in calls or [None]:
                engine.play({"call": [call]} if call else {"say": "é\n"})
                body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": offered}
                message = client.post(CHAT, json=body).json()["choices"][0]["message"]
                assert not any(sent.left_grammar for sent in engine.sent)
                if call is None:
                    assert message["content"] == "é\n"
                    continue
                made = message["tool_calls"][0]["function"]
                assert {"name": made["name"], "arguments": json.loads(made["arguments"])} == call

    @pytest.mark.parametrize("one", TOOLS, ids=ids(TOOLS))
    def test_what_must_be_refused_is_refused_by_the_grammar_that_is_sent(
        self, one: Case, stages: dict[bool, tuple[Scripted, Served]]
    ) -> None:
        engine, server = stages[False]
        harmless = [Tool(tool.name, "d", tool.parameters) for tool in one.tools]
        engine.play({"say": "ok"}, {"say": "ok"})
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for tools in (one.tools, harmless):
                assert client.post("/api/chat", json=asked("/api/chat", tools)).status_code == 200
        sent, quiet = engine.sent
        held = Held(sent.grammar or "")
        for call in one.expect.get("calls_refuse", ()):
            ordered_call = ordered(call, one.tools)
            assert not held.admits(dumps({"tool": ordered_call["name"], "arguments": ordered_call["arguments"]}))
        for text in one.expect.get("prompt_must_not_contain", ()):
            assert text not in sent.untrusted
        for text in one.expect.get("prompt_escapes", ()):
            # Ours are the frame of the catalogue, and the control tokens, which are no text.
            assert sent.untrusted.count(text) == quiet.untrusted.count(text)

    @pytest.mark.parametrize("path", ["/api/chat", "/v1/messages", "/v1/responses"])
    @pytest.mark.parametrize("name", ["names-odd-but-honest", "names-hostile-envelope", "parameters-missing"])
    def test_names_make_the_round_trip_by_the_other_surfaces(
        self, name: str, path: str, stages: dict[bool, tuple[Scripted, Served]]
    ) -> None:
        one = case(name)
        engine, server = stages[False]
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for call in one.expect["calls_accept"]:
                engine.play({"call": [call]})
                made = client.post(path, json=asked(path, one.tools)).json()
                assert called(path, made) == (call["name"], call["arguments"])

    def test_each_broken_entry_alone_is_a_400_with_its_index(self, real: httpx.Client) -> None:
        one = case("names-empty-or-missing")
        assert one.expect["each_alone"]
        good = {"type": "function", "function": {"name": "ok"}}
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 4}
        for index, entry in enumerate(one.input["tools"]):
            answer = real.post(CHAT, json={**body, "tools": [entry]})
            assert answer.status_code == one.expect["status"]
            error = answer.json()["error"]
            assert "tools[0]" in error["message"]
            assert error["param"].startswith("tools[0]")
            # Beside others it harms only itself.
            answer = real.post(CHAT, json={**body, "tools": [*_numbered(good, index + 1), entry]})
            assert answer.status_code == 200
            assert f"tools[{index + 1}]" in answer.headers[HEADER]

    @pytest.mark.engine
    @pytest.mark.model
    @pytest.mark.parametrize("one", TOOLS, ids=ids(TOOLS))
    def test_the_real_engine_takes_the_catalogue_and_calls_from_it(self, one: Case, real: httpx.Client) -> None:
        tools = [function(tool) for tool in one.tools]
        body = {"model": "m", "messages": [{"role": "user", "content": "Do it."}], "tools": tools, "temperature": 0}
        answer = real.post(CHAT, json={**body, "tool_choice": "required", "max_tokens": 40})
        if answer.status_code == 400:
            assert answer.json()["error"]["code"] == "context_length_exceeded"
            return
        assert answer.status_code == 200
        choice = answer.json()["choices"][0]
        assert choice["finish_reason"] in ("tool_calls", "length")
        for call in choice["message"].get("tool_calls", ()):
            assert call["function"]["name"] in [tool["function"]["name"] for tool in tools]
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def _numbered(tool: dict[str, Any], count: int) -> list[dict[str, Any]]:
    return [{**tool, "function": {"name": f"ok{number}"}} for number in range(count)]


def function(tool: Tool) -> dict[str, Any]:
    """A tool in OpenAI's form."""
    inner = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": inner}


def ordered(call: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """A call with its arguments in the order that the schema declares."""
    arguments = call["arguments"]
    if isinstance(arguments, dict) and call["name"] in catalogue:
        declared = catalogue[call["name"]].parameters.get("properties", {})
        arguments = dict(sorted(arguments.items(), key=lambda item: [*declared, item[0]].index(item[0])))
    return {"name": call["name"], "arguments": arguments}


def asked(path: str, catalogue: Iterable[Tool]) -> dict[str, Any]:
    """A request with these tools in the words of a path's protocol."""
    said = [{"role": "user", "content": "x"}]
    if path == "/v1/messages":
        tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in catalogue]
        return {"model": "m", "max_tokens": 4000, "messages": said, "tools": tools}
    if path == "/v1/responses":
        return {
            "model": "m",
            "input": "x",
            "tools": [{"type": "function", **function(t)["function"]} for t in catalogue],
        }
    return {"model": "m", "stream": False, "messages": said, "tools": [function(tool) for tool in catalogue]}


def called(path: str, reply: dict[str, Any]) -> tuple[str, Any]:
    """Name and arguments of a reply's one call."""
    if path == "/v1/messages":
        (block,) = (block for block in reply["content"] if block["type"] == "tool_use")
        return block["name"], block["input"]
    if path == "/v1/responses":
        (item,) = (item for item in reply["output"] if item["type"] == "function_call")
        return item["name"], json.loads(item["arguments"])
    (call,) = reply["message"]["tool_calls"]
    return call["function"]["name"], call["function"]["arguments"]


@pytest.mark.engine
@pytest.mark.model
class TestWithoutAScript:
    """Cases that no model has to say anything in, against the real engine."""

    def test_ollama_capabilities(self, real: httpx.Client) -> None:
        one = case("ollama-capabilities")
        for request, expected in zip(one.input["requests"], one.expect["per_request"], strict=True):
            answer = real.request(request["method"], request["path"], json=request.get("body"))
            assert answer.status_code == expected["status"], request
            check(answer.json() if "checks" in expected else None, expected.get("checks", ()))

    def test_body_not_json(self, real: httpx.Client) -> None:
        one = case("body-not-json")
        for body in one.input["bodies"]:
            answer = real.post(one.input["request"]["path"], content=generated(body))
            assert status_fits(one, answer.status_code), body
            check(answer.json(), one.expect["checks"])
            # No trace of the server's own insides, and the next request is served.
            assert not re.search(r"Traceback|File \"|\.py\b|line \d+, in ", answer.text)
            assert real.get("/v1/models").status_code == 200
        ok = {"model": "m", "max_tokens": 3, "messages": [{"role": "user", "content": "Hi"}]}
        assert real.post(CHAT, json=ok).status_code == 200

    def test_choice_required_without_tools(self, real: httpx.Client) -> None:
        one = case("choice-required-without-tools")
        answer = real.post(CHAT, json=one.input["request"]["body"])
        assert answer.status_code == one.expect["status"]
        check(answer.json(), one.expect["checks"])


def generated(body: Any) -> bytes:
    """A body as bytes; one that is too large to write out is built."""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    order = body["$generate"]
    if "levels" in order:
        assert order["nest"] == "array"
        return b"[" * order["levels"] + b"]" * order["levels"]
    return b'{"model":"' + b"m" * (order["bytes"] - 12) + b'"}'


def test_every_word_of_the_cases_is_judged_or_waits() -> None:
    """A new word in a case is no expectation that nobody looks at."""
    for one in REQUESTS:
        words = one.expect.keys() - JUDGED - ELSEWHERE.keys()
        assert not words, (one.id, words)
        for checked in [one.expect, *one.expect.get("per_request", ())]:
            for checks in checked.get("checks", ()):
                assert checks.keys() - {"path"} <= CHECKS.keys()
        for rule in one.expect.get("stream", ()):
            assert rule.partition(":")[0] in RULES


def test_all_are_there() -> None:
    assert len(PLAYED) == 25
    assert len(TOOLS) == 15
    played_here = {*ids(PLAYED), "ollama-capabilities", "body-not-json"}
    assert {one.id for one in cases() if one.kind.startswith("request.")} == played_here
