"""What clients need from us, line by line, against the running server: one test for each numbered line of the contract.

The wires' own tests (`tests.api.openai`, `tests.api.ollama`) judge encoders with events made by hand; here a request
goes through everything, to an engine that says what the line needs.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.judged import Held
from tests.api.scripted import Scripted, before, scripted
from tests.api.stream_rules import collect, judge
from tests.serving import Served, serving

CHAT = "/v1/chat/completions"
ASK = [{"role": "user", "content": "Weather in Oslo?"}]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "f"]}},
    "required": ["city"],
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": PARAMETERS}}
OTHER = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
#: A tool whose grammar is wider than its schema.
UNIQUE = {
    "type": "function",
    "function": {
        "name": "ids",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "array", "uniqueItems": True}},
            "required": ["a"],
        },
    },
}
OSLO = {"name": "weather", "arguments": {"city": "Oslo"}}
ROME = {"name": "weather", "arguments": {"city": "Rome", "unit": "c"}}
SCHEMA = {"type": "object", "properties": {"t": {"type": "integer"}}, "required": ["t"], "additionalProperties": False}


@pytest.fixture(scope="module")
def actor() -> Iterator[Scripted]:
    with scripted() as engine:
        yield engine


@pytest.fixture(scope="module")
def served(actor: Scripted) -> Iterator[Served]:
    with serving(before(actor, server={"heartbeat": 0.2})) as server:
        yield server


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30) as client:
        yield client


def chat(http: httpx.Client, **more: Any) -> dict[str, Any]:
    answer = http.post(CHAT, json={"model": "m", "messages": ASK, **more})
    assert answer.status_code == 200, answer.text
    reply = answer.json()
    assert isinstance(reply, dict)
    return reply


def refused(answer: httpx.Response) -> dict[str, Any]:
    """The error of a 400, in OpenAI's shape."""
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error, dict)
    return error


class TestOpenAI:
    def test_1_head_of_a_whole_reply(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"say": "Rain."}, {"say": "Rain."})
        first, second = chat(http), chat(http)
        assert re.fullmatch(r"chatcmpl-\w+", first["id"])
        assert first["id"] != second["id"]
        assert first["object"] == "chat.completion"
        assert type(first["created"]) is int
        assert abs(first["created"] - time.time()) < 60
        assert first["model"] == "m"
        assert [(type(choice["index"]), choice["index"]) for choice in first["choices"]] == [(int, 0)]

    def test_2_a_call_has_an_id_a_type_a_name_and_arguments_as_text(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"call": [OSLO, ROME]}, {"call": [OSLO]})
        replies = [chat(http, tools=[TOOL], parallel_tool_calls=True), chat(http, tools=[TOOL])]
        calls = [call for reply in replies for call in reply["choices"][0]["message"]["tool_calls"]]
        assert len({call["id"] for call in calls}) == 3
        for call, made in zip(calls, (OSLO, ROME, OSLO), strict=True):
            assert call["id"]
            assert call["type"] == "function"
            assert call["function"]["name"] == made["name"]
            assert isinstance(call["function"]["arguments"], str)
            assert json.loads(call["function"]["arguments"]) == made["arguments"]
        assert all(reply["choices"][0]["message"]["content"] is None for reply in replies)

    @pytest.mark.parametrize(
        ("entry", "finish"),
        [
            ({"call": [OSLO]}, "tool_calls"),
            ({"say": "Rain."}, "stop"),
            ({"raw": '{"say":"Ra', "finish": "length"}, "length"),
            ({"raw": '{"tool":"weather","arguments":{"ci', "finish": "length"}, "length"),
            # A limit that is met behind a whole call cuts off nothing.
            ({"raw": '{"tool":"weather","arguments":{"city":"Oslo"}}', "finish": "length"}, "tool_calls"),
        ],
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_3_finish_reason(
        self, entry: dict[str, Any], finish: str, stream: bool, actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play(entry)
        body = {"model": "m", "messages": ASK, "tools": [TOOL], "stream": stream}
        if stream:
            got = collect(http, "POST", CHAT, body)
            assert got.finishes == [finish]
            return
        choice = chat(http, **body)["choices"][0]
        assert choice["finish_reason"] == finish
        assert bool(choice["message"].get("tool_calls")) == (finish == "tool_calls")

    def test_4_usage_is_summed_over_all_that_was_generated(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play(*({"call": [{"name": "ids", "arguments": {"a": ids}}]} for ids in ([1, 1], [1, 2])))
        usage = chat(http, tools=[UNIQUE])["usage"]
        assert len(actor.sent) == 2
        assert usage["prompt_tokens"] == sum(len(sent.ids) for sent in actor.sent)
        assert usage["completion_tokens"] == sum(len(sent.written) for sent in actor.sent)
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert type(usage["prompt_tokens_details"]["cached_tokens"]) is int

    def test_5_errors_have_their_status_and_shape(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"http": {"status": 500, "body": {"error": {"code": 500, "message": "boom", "type": "server"}}}})
        answers = {
            400: http.post(CHAT, json={"messages": "x"}),
            404: http.post(CHAT, json={"model": "nope", "messages": ASK}),
            405: http.put(CHAT),
            413: http.post(CHAT, content=b"x" * 9_000_000),
            502: http.post(CHAT, json={"messages": ASK}),
        }
        for status, answer in answers.items():
            assert answer.status_code == status
            error = answer.json()["error"]
            assert set(error) == {"message", "type", "param", "code"}
            assert isinstance(error["message"], str)
            assert isinstance(error["type"], str)
        assert answers[404].json()["error"]["code"] == "model_not_found"

    def test_5_a_retry_that_can_help_is_told_when(self, actor: Scripted) -> None:
        with serving(before(actor, server={"queue": 0})) as server, httpx.Client(base_url=server.url) as client:
            actor.play(endless={"say": "x" * 400, "delay_s": 0.02})
            with client.stream("POST", CHAT, json={"messages": ASK, "stream": True}) as first:
                held = first.iter_raw()
                next(held)
                busy = httpx.post(server.url + CHAT, json={"messages": ASK})
            assert busy.status_code == 429
            assert int(busy.headers["retry-after"]) >= 1
            assert busy.json()["error"]["type"] == "rate_limit_error"

    @pytest.mark.parametrize(
        "field",
        [
            {"tools": [TOOL], "tool_choice": "none"},
            {"tools": [TOOL], "tool_choice": "auto"},
            {"tools": [TOOL], "parallel_tool_calls": True},
            {"tools": [{**TOOL, "function": {**TOOL["function"], "strict": True}}]},
            {"stop": "X"},
            {"stop": ["X", "Y"]},
            {"seed": 7},
            {"temperature": 0.5},
            {"top_p": 0.5},
            {"max_tokens": 50},
            {"max_completion_tokens": 50},
            {"n": 1},
            {"store": True, "metadata": {"a": "b"}},
            {"user": "somebody", "safety_identifier": "s", "prompt_cache_key": "k"},
            {"stream_options": {"include_usage": True}, "stream": False},
            {"response_format": {"type": "text"}},
            {"functions": [TOOL["function"]], "function_call": "auto"},
            {"nobody": {"knows": ["this"]}, "field": None},
            {"messages": [{"role": role, "content": [{"type": "text", "text": "a"}]} for role in
                          ("system", "developer", "user", "assistant", "user")]},
            {"messages": [*ASK, {"role": "assistant", "content": None, "function_call":
                                 {"name": "weather", "arguments": "{}"}}, {"role": "function", "name": "weather",
                                                                           "content": "rain"}]},
        ],
        ids=lambda field: next(iter(field)),
    )  # fmt: skip
    def test_6_accepted(self, field: dict[str, Any], actor: Scripted, http: httpx.Client) -> None:
        actor.play({"say": "Rain."})
        assert chat(http, **field)["choices"][0]["message"]["content"] == "Rain."

    def test_6_what_is_accepted_is_honoured(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play(endless={"say": "Rain and X and Y."})
        chat(http, seed=7, temperature=0.25, top_p=0.5, max_tokens=50)
        sent = actor.sent[-1].body
        assert (sent["seed"], sent["temperature"], sent["top_p"], sent["n_predict"]) == (7, 0.25, 0.5, 50)
        chat(http, max_completion_tokens=40)
        assert actor.sent[-1].body["n_predict"] == 40
        for tools in ({}, {"tools": [TOOL]}):
            reply = chat(http, stop=["Y", "X"], **tools)
            assert reply["choices"][0]["message"]["content"] == "Rain and "
            assert reply["choices"][0]["finish_reason"] == "stop"

    def test_6_choices_are_in_the_grammar(self, actor: Scripted, http: httpx.Client) -> None:
        names = ["weather", "add"]
        named = {"type": "function", "function": {"name": "add"}}
        allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
        add = {"call": [{"name": "add", "arguments": {}}]}
        for choice, entry, calls, says in (
            ("auto", add, names, True),
            ("required", add, names, False),
            (named, add, ["add"], False),
            ({"type": "allowed_tools", "allowed_tools": {**allowed, "mode": "auto"}}, {"say": "x"}, ["weather"], True),
            ({"type": "allowed_tools", "allowed_tools": allowed}, {"call": [OSLO]}, ["weather"], False),
        ):
            actor.play(entry)
            chat(http, tools=[TOOL, OTHER], tool_choice=choice)
            held = Held(actor.sent[0].grammar or "")
            assert held.calls(names) == calls, choice
            assert held.begins('{"say"') == says, choice
            assert not held.begins("["), choice

    def test_6_the_format_of_an_answer_is_in_the_grammar(self, actor: Scripted, http: httpx.Client) -> None:
        for wanted, fits, not_fits in (
            ({"type": "json_object"}, '{"a":[1]}', "[1]"),
            ({"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}, '{"t":1}', '{"u":1}'),
        ):
            actor.play({"say": fits})
            assert chat(http, response_format=wanted)["choices"][0]["message"]["content"] == fits
            held = Held(actor.sent[0].grammar or "")
            assert held.admits(fits)
            assert not held.admits(not_fits)

    def test_6_legacy_functions_are_answered_as_such(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"call": [OSLO]})
        choice = chat(http, functions=[TOOL["function"]], function_call={"name": "weather"})["choices"][0]
        assert choice["finish_reason"] == "function_call"
        assert json.loads(choice["message"]["function_call"]["arguments"]) == OSLO["arguments"]

    @pytest.mark.parametrize(
        ("field", "named"),
        [
            ({"n": 2}, "n"),
            ({"logprobs": True}, "logprobs"),
            ({"top_logprobs": 3}, "top_logprobs"),
            ({"audio": {"voice": "a"}}, "audio"),
            ({"modalities": ["text", "audio"]}, "modalities"),
            ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
             "messages[0].content[0]"),
            ({"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
             "messages[0].content[0]"),
            ({"tool_choice": {"type": "function", "function": {"name": "gone"}}, "tools": [TOOL]}, "tool_choice"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )  # fmt: skip
    def test_6_what_cannot_be_honoured_is_a_400(
        self, field: dict[str, Any], named: str, actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play()
        error = refused(http.post(CHAT, json={"model": "m", "messages": ASK, **field}))
        assert str(error["param"]).startswith(named)
        assert not actor.sent

    def test_7_no_malformed_past_poisons_the_session(self, actor: Scripted, http: httpx.Client) -> None:
        def call(arguments: Any, identity: Any = "a", name: Any = "weather") -> dict[str, Any]:
            made = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
            return {"role": "assistant", "content": None, "tool_calls": [made]}

        result = {"role": "tool", "tool_call_id": "a", "content": "rain"}
        for past in (
            [call({"city": "Oslo"}), result],
            [call('{"city":"Os'), result],
            [call(None), result],
            [call("null"), result],
            [call("[1]"), {**result, "content": None}],
            [result],
            [call("{}")],
            [call("{}", name="gone"), result],
            [call("{}"), result, call("{}"), result],
            [call("{}", identity=None), {**result, "tool_call_id": None}],
            [call("{}", name=None), {**result, "content": [{"type": "text", "text": "rain"}]}],
            [{"role": "assistant"}, {"role": "assistant", "tool_calls": None, "content": ""}],
            [{"role": "assistant", "tool_calls": [None, 1, "x", {}], "content": "hm"}],
        ):
            actor.play({"say": "Rain."})
            reply = chat(http, tools=[TOOL], messages=[*ASK, *past, *ASK])
            assert reply["choices"][0]["message"]["content"] == "Rain.", past


class TestStreaming:
    def test_1_deltas_of_calls(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"call": [OSLO, ROME], "chunks_of": 2})
        got = collect(
            http, "POST", CHAT,
            {"model": "m", "messages": ASK, "tools": [TOOL], "parallel_tool_calls": True, "stream": True},
        )  # fmt: skip
        judge(got, ["one_role_first", "index_on_every_tool_delta", "id_and_name_in_first_delta_only",
                    "no_null_fields_in_tool_deltas", "distinct_ids", "indices:0,1", "arguments_concat_to_json"])  # fmt: skip
        # The arguments come as they are sampled.
        assert len([delta for delta in got.tool_deltas if delta["index"] == 0]) > 3

    @pytest.mark.parametrize("tools", [{}, {"tools": [TOOL]}])
    @pytest.mark.parametrize("usage", [True, False])
    def test_2_finish_usage_and_sentinel(
        self, tools: dict[str, Any], usage: bool, actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play({"say": "Rain."})
        body = {"messages": ASK, "stream": True, "stream_options": {"include_usage": usage}, **tools}
        got = collect(http, "POST", CHAT, body)
        judge(got, ["content_type:text/event-stream", "finish:stop", "done_sentinel", "same_id_and_model_throughout"])
        if usage:
            judge(got, ["usage_in_last_chunk_with_empty_choices"])
        assert sum(chunk["choices"] == [] for chunk in got.chunks) == usage

    @pytest.mark.parametrize("entry", [{"say": "It is raining."}, {"call": [OSLO]}])
    def test_3_an_error_after_the_first_byte_is_an_event(
        self, entry: dict[str, Any], actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play({**entry, "drop_after_chunks": 8})
        got = collect(http, "POST", CHAT, {"messages": ASK, "tools": [TOOL], "stream": True})
        assert got.status == 200
        judge(got, ["error_event", "one_role_first"])
        assert set(got.chunks[-1]) == {"error"}
        assert got.chunks[-1]["error"]["code"] == "engine_died"
        assert not got.finishes

    def test_3_an_error_before_the_first_byte_has_its_status(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play(endless={"say": "x", "drop_after_chunks": 0})
        answer = http.post(CHAT, json={"messages": ASK, "stream": True})
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        # Where nothing was sent it was tried once more.
        assert len(actor.sent) == 2

    def test_4_comments_are_the_heartbeat(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"say": "x", "delay_s": 1.0})
        got = collect(http, "POST", CHAT, {"messages": ASK, "stream": True})
        judge(got, ["headers_within_s:0.8", "comment_or_chunk_every_s:0.8", "done_sentinel"])
        assert sum(value is None for _, value in got.frames) >= 2

    def test_4_comments_while_a_call_is_held_back(self, actor: Scripted, http: httpx.Client) -> None:
        call = {"name": "ids", "arguments": {"a": [1, 2, 3]}}
        actor.play({"call": [call], "chunks_of": 12, "delay_s": 0.3})
        got = collect(http, "POST", CHAT, {"messages": ASK, "stream": True, "tools": [UNIQUE]})
        judge(got, ["comment_or_chunk_every_s:0.8", "finish:tool_calls"])
        assert [json.loads(text) for text in got.arguments().values()] == [call["arguments"]]
        assert sum(value is None for _, value in got.frames) >= 2

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_5_answers_are_decoded_live_and_in_whole_characters(
        self, size: int, actor: Scripted, http: httpx.Client
    ) -> None:
        said = 'Åse said: "😀 \\ \n\t" — 日本 👩‍👩‍👧 \u2028 \x7f end'
        for raw in (json.dumps({"say": said}), json.dumps({"say": said}, ensure_ascii=False)):
            actor.play({"raw": raw.replace(": ", ":", 1), "chunks_of": size, "delay_s": 0.002})
            got = collect(http, "POST", CHAT, {"messages": ASK, "stream": True, "tools": [TOOL]})
            judge(got, ["no_replacement_char", "valid_utf8", "content_deltas_at_least:6"])
            assert got.content == said
            assert all(not 0xD800 <= ord(char) <= 0xDFFF for delta in got.deltas for char in delta.get("content", ""))

    @pytest.mark.parametrize("stream", [True, False])
    def test_6_a_client_that_goes_away_ends_the_work(self, stream: bool, actor: Scripted, served: Served) -> None:
        actor.play({"say": "x " * 2000, "delay_s": 0.01})
        body = {"messages": ASK, "stream": stream}
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.stream("POST", served.url + CHAT, json=body, timeout=0.5) as answer,
        ):
            started = time.monotonic()
            for _ in answer.iter_raw():
                if time.monotonic() - started > 0.3:
                    raise httpx.ReadTimeout("enough")
        left = time.monotonic()
        while actor.sent[0].closed is None:
            assert time.monotonic() - left < 5
            time.sleep(0.005)
        assert actor.sent[0].closed - left < 0.5
        # The engine is always asked for a stream: of one it notices that nobody is there.
        assert actor.sent[0].body["stream"] is True


class TestOllama:
    def test_1_routes_and_lines(self, actor: Scripted, http: httpx.Client) -> None:
        for method, path in (("GET", "/api/tags"), ("GET", "/api/ps"), ("GET", "/api/version")):
            assert http.request(method, path).status_code == 200
        assert http.post("/api/show", json={"model": "m"}).status_code == 200
        for path, ask in (("/api/chat", {"messages": ASK}), ("/api/generate", {"prompt": "Hi"})):
            actor.play({"say": "Rain today."}, {"say": "Rain today."})
            got = collect(http, "POST", path, {"model": "m", **ask})
            judge(got, ["content_type:application/x-ndjson", "each_line_is_json", "last_line_done_true",
                        "durations_are_integers"])  # fmt: skip
            assert got.chunks[-1]["done_reason"] == "stop"
            assert len(got.chunks) > 2
            assert not any("done_reason" in line for line in got.chunks[:-1])
            whole = http.post(path, json={"model": "m", "stream": False, **ask})
            assert whole.headers["content-type"].startswith("application/json")
            assert whole.json()["done"] is True

    @pytest.mark.parametrize("stream", [False, True])
    def test_2_arguments_are_an_object_and_a_message_is_always_there(
        self, stream: bool, actor: Scripted, http: httpx.Client
    ) -> None:
        actor.play({"call": [OSLO]})
        got = collect(http, "POST", "/api/chat", {"model": "m", "messages": ASK, "tools": [TOOL], "stream": stream})
        assert all(isinstance(line["message"]["content"], str) for line in got.chunks)
        assert all(line["message"]["role"] == "assistant" for line in got.chunks)
        calls = [call for line in got.chunks for call in line["message"].get("tool_calls", ())]
        assert [call["function"]["arguments"] for call in calls] == [OSLO["arguments"]]

    def test_2_errors_are_a_text(self, actor: Scripted, http: httpx.Client) -> None:
        for path, body, status in (
            ("/api/chat", {"model": "nope", "messages": ASK}, 404),
            ("/api/chat", {"model": "m", "messages": 1}, 400),
            ("/api/generate", {"model": "m", "prompt": 1}, 400),
            ("/api/nothing", {}, 404),
        ):
            answer = http.post(path, json=body)
            assert answer.status_code == status
            assert set(answer.json()) == {"error"}
            assert isinstance(answer.json()["error"], str)
        actor.play({"say": "It is raining.", "drop_after_chunks": 8})
        got = collect(http, "POST", "/api/chat", {"model": "m", "messages": ASK})
        assert got.status == 200
        judge(got, ["each_line_is_json"])
        assert set(got.chunks[-1]) == {"error"}
        assert not any(line.get("done") for line in got.chunks)

    def test_3_models(self, http: httpx.Client) -> None:
        shown = [
            http.post("/api/show", json={key: name}).json() for key in ("model", "name") for name in ("m", "m:latest")
        ]
        for model in shown:
            assert isinstance(model["model_info"], dict)
            assert isinstance(model["details"], dict)
            assert "tools" in model["capabilities"]
        (entry,) = http.get("/api/tags").json()["models"]
        assert {"model", "name", "modified_at", "digest", "size", "details"} <= set(entry)
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", entry["modified_at"])
        assert re.fullmatch(r"(sha256:)?[0-9a-f]{64}", entry["digest"])

    @pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
    def test_4_format_and_options_are_honoured(self, path: str, actor: Scripted, http: httpx.Client) -> None:
        ask = {"messages": ASK} if path == "/api/chat" else {"prompt": "Hi"}
        for wanted, fits, not_fits in (("json", '{"a":1}', "[1]"), (SCHEMA, '{"t":1}', '{"u":1}')):
            actor.play({"say": fits})
            reply = http.post(path, json={"model": "m", "stream": False, "format": wanted, **ask}).json()
            assert (reply["message"]["content"] if path == "/api/chat" else reply["response"]) == fits
            held = Held(actor.sent[0].grammar or "")
            assert held.admits(fits)
            assert not held.admits(not_fits)
        options = {"temperature": 0.25, "seed": 7, "num_predict": 40, "stop": ["X"], "top_p": 0.5, "top_k": 3}
        actor.play({"say": "Rain. X and more"})
        reply = http.post(path, json={"model": "m", "stream": False, "options": options, **ask}).json()
        assert (reply["message"]["content"] if path == "/api/chat" else reply["response"]) == "Rain. "
        sent = actor.sent[0].body
        assert [sent[key] for key in ("temperature", "seed", "n_predict", "top_p", "top_k")] == [0.25, 7, 40, 0.5, 3]

    @pytest.mark.parametrize("penalty", [0, -1, 1e300])
    def test_4_an_option_that_the_engine_does_not_take_is_a_400(
        self, penalty: float, actor: Scripted, http: httpx.Client
    ) -> None:
        # llama-server refuses a penalty of nothing; that was handed on as a fault of the engine's.
        actor.play()
        answer = http.post("/api/chat", json={"model": "m", "messages": ASK, "options": {"repeat_penalty": penalty}})
        assert answer.status_code == 400
        assert "options.repeat_penalty" in answer.json()["error"]
        assert not actor.sent


class TestOthers:
    def test_models(self, http: httpx.Client) -> None:
        listed = http.get("/v1/models").json()
        assert listed["object"] == "list"
        assert [(entry["id"], entry["object"]) for entry in listed["data"]] == [("m", "model")]
        assert http.get("/v1/models/m").json()["id"] == "m"
        assert http.get("/v1/models/nope").status_code == 404

    @pytest.mark.parametrize("stream", [False, True])
    def test_completions_intercept_no_tools(self, stream: bool, actor: Scripted, http: httpx.Client) -> None:
        text = '{"tool":"weather","arguments":{"city":"Oslo"}}'
        actor.play({"raw": text})
        body = {"model": "m", "prompt": "Say {", "max_tokens": 90, "stream": stream}
        error = refused(http.post("/v1/completions", json={**body, "tools": [TOOL]}))
        assert "/v1/chat/completions" in error["message"]
        got = collect(http, "POST", "/v1/completions", body)
        assert "".join(choice["text"] for chunk in got.chunks for choice in chunk["choices"]) == text
        assert actor.sent[0].grammar is None
        assert actor.sent[0].prompt == "Say {"
        assert "calls aren't intercepted" in html.unescape(http.get("/docs").text)

    def test_health_says_that_it_lives(self, http: httpx.Client) -> None:
        for path in ("/health", "/healthz"):
            assert http.get(path).json() == {"status": "ok"}

    def test_ready_says_whether_the_engine_answers(self) -> None:
        with scripted() as engine, serving(before(engine)) as server, httpx.Client(base_url=server.url) as client:
            client.get("/v1/models")
            assert client.get("/ready").status_code == 200
            engine.stop()
            deadline = time.monotonic() + 10
            while client.get("/ready").status_code == 200:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert client.get("/ready").status_code == 503
            assert client.get("/health").status_code == 200

    def test_metrics_are_prometheus(self, actor: Scripted, http: httpx.Client) -> None:
        actor.play({"say": "Rain."})
        chat(http)
        answer = http.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        for name in ("tacid_requests_total", "tacid_tokens_total", "tacid_first_token_seconds_bucket",
                     "tacid_grammar_compile_seconds_bucket", "tacid_grammar_cache_hits_total", "tacid_queue_depth",
                     "tacid_widenings_total", "tacid_engine_restarts_total", "tacid_left_grammar_total"):  # fmt: skip
            assert re.search(rf"^(# TYPE )?{name}\b", answer.text, re.MULTILINE), name

    def test_docs_are_there_and_true(self, http: httpx.Client) -> None:
        page, described = http.get("/docs"), http.get("/openapi.json").json()
        assert page.headers["content-type"].startswith("text/html")
        for path in described["paths"]:
            assert path in page.text
        assert described["openapi"].startswith("3.")
