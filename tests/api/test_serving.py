"""The server whole, with a real engine behind it: each surface gives the same call, streamed and whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacid.cli.serve import serve
from tacid.engine.process import Engine
from tests.serving import Served, joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": WEATHER}}
ASK = [{"role": "user", "content": "Weather in Oslo for 3 days?"}]


@pytest.fixture(scope="module")
def served(engine: Engine) -> Iterator[Served]:
    with serving(joined(engine, model={"aliases": {"gpt-4o-mini": "smollm2-135m-instruct"}})) as server:
        yield server


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=60) as client:
        yield client


def fits(arguments: Any) -> bool:
    return (
        set(arguments) == {"city", "days"} and arguments["city"] in ("Oslo", "Rome") and type(arguments["days"]) is int
    )


def events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_openai_streamed_and_whole_give_the_same_call_for_a_seed(http: httpx.Client) -> None:
    body = {"messages": ASK, "tools": [TOOL], "tool_choice": "required", "seed": 7, "temperature": 0}
    whole = http.post("/v1/chat/completions", json=body).json()
    call = whole["choices"][0]["message"]["tool_calls"][0]["function"]
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert fits(json.loads(call["arguments"]))
    streamed = events(http.post("/v1/chat/completions", json={**body, "stream": True}).text)
    deltas = [d["function"] for e in streamed for c in e["choices"] for d in c["delta"].get("tool_calls", [])]
    assert "".join(delta.get("arguments", "") for delta in deltas) == call["arguments"]
    assert [delta["name"] for delta in deltas if "name" in delta] == ["weather"]


def test_ollama_gives_arguments_as_an_object(http: httpx.Client) -> None:
    body = {
        "model": "smollm2-135m-instruct",
        "messages": ASK,
        "tools": [TOOL],
        "options": {"seed": 7, "temperature": 0, "num_predict": 60},
    }
    lines = [json.loads(line) for line in http.post("/api/chat", json=body).text.splitlines()]
    assert lines[-1]["done"] is True
    for line in lines:
        for call in line["message"].get("tool_calls", []):
            assert fits(call["function"]["arguments"])


def test_anthropic_gives_a_tool_use_block(http: httpx.Client) -> None:
    tool = {"name": "weather", "description": "Weather.", "input_schema": WEATHER}
    body = {
        "model": "gpt-4o-mini",
        "max_tokens": 90,
        "messages": ASK,
        "tools": [tool],
        "tool_choice": {"type": "any"},
        "temperature": 0,
    }
    message = http.post("/v1/messages", json=body).json()
    assert message["stop_reason"] == "tool_use"
    assert fits(message["content"][0]["input"])
    assert http.post("/v1/messages/count_tokens", json=body).json()["input_tokens"] > 100


def test_responses_remember_what_was_said(http: httpx.Client) -> None:
    first = http.post("/v1/responses", json={"input": "My name is Ada.", "max_output_tokens": 8}).json()
    again = http.post("/v1/responses", json={"input": "x", "previous_response_id": first["id"], "max_output_tokens": 4})
    assert again.status_code == 200
    assert again.json()["usage"]["input_tokens"] > first["usage"]["input_tokens"] + 8
    assert http.get(f"/v1/responses/{first['id']}").json()["id"] == first["id"]
    assert http.delete(f"/v1/responses/{first['id']}").json()["deleted"] is True
    assert http.get(f"/v1/responses/{first['id']}").status_code == 404


def test_a_plain_chat_has_no_grammar_and_no_envelope(http: httpx.Client) -> None:
    reply = http.post(
        "/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5}
    ).json()
    assert reply["usage"]["prompt_tokens"] < 30
    assert "{" not in reply["choices"][0]["message"]["content"]


def test_an_answer_fits_the_response_format(http: httpx.Client) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    body = {"messages": ASK, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}
    content = http.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    assert set(json.loads(content)) == {"n"}


def test_the_second_request_reads_only_what_is_new(http: httpx.Client) -> None:
    body = {"messages": ASK, "tools": [TOOL], "temperature": 0}
    http.post("/v1/chat/completions", json=body)
    other = [{"role": "user", "content": "And in Rome?"}]
    second = http.post("/v1/chat/completions", json={**body, "messages": other}).json()
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] > 0.8 * second["usage"]["prompt_tokens"]


def test_an_unknown_model_is_what_each_protocol_expects(http: httpx.Client) -> None:
    for path in ("/v1/chat/completions", "/v1/messages", "/api/chat"):
        answer = http.post(path, json={"model": "nope", "messages": ASK, "max_tokens": 5})
        assert answer.status_code == 404
        assert "smollm2-135m-instruct" in answer.text
    assert [m["id"] for m in http.get("/v1/models").json()["data"]] == ["smollm2-135m-instruct", "gpt-4o-mini"]


def test_raw_completions_go_on_with_the_text(http: httpx.Client) -> None:
    body = {"prompt": "One, two, three,", "max_tokens": 4, "temperature": 0}
    assert "four" in http.post("/v1/completions", json=body).json()["choices"][0]["text"]


def test_embeddings_are_refused_in_a_sentence(http: httpx.Client) -> None:
    answer = http.post("/v1/embeddings", json={"input": "a"})
    assert answer.status_code == 400
    assert "embeddings" in answer.json()["error"]["message"]


def test_the_common_routes(http: httpx.Client, served: Served) -> None:
    assert http.get("/health").json() == {"status": "ok"}
    assert http.get("/ready").json()["ready"] is True
    assert "/v1/chat/completions" in http.get("/docs").text
    assert "/api/chat" in http.get("/openapi.json").json()["paths"]
    assert "tacid_tokens_total" in http.get("/metrics").text
    logged = [line for line in served.log() if line.get("event") == "request"]
    assert logged
    assert not any("Oslo" in json.dumps(line) for line in served.log())


def test_the_request_of_the_readme_is_answered(http: httpx.Client) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (body,) = re.findall(r"curl \S+/v1/chat/completions -d '(\{.*?\})'", readme, re.DOTALL)
    reply = http.post("/v1/chat/completions", content=body).json()
    message = reply["choices"][0]["message"]
    for call in message.get("tool_calls", []):
        assert set(json.loads(call["function"]["arguments"])) == {"room", "on"}
    assert message.get("tool_calls") or message["content"]


def test_the_request_in_the_help_is_answered(http: httpx.Client) -> None:
    found = re.search(r"curl http://[^/]+(/\S+) -d '(.*?)'", serve.__doc__ or "")
    assert found is not None
    assert http.post(found[1], content=found[2].replace("}]}", '}], "max_tokens": 8}')).status_code == 200
