"""Words that another server says before its call, through each protocol, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tacid.config import Config
from tests.endpoints.chat_server import ChatServer, chat_server
from tests.serving import serving

SCHEMA = {"type": "object", "properties": {"room": {"enum": ["hall"]}}, "required": ["room"]}
BOTH = {"say": "I switch it on.", "call": [{"name": "light", "arguments": {"room": "hall"}}]}
ASK = [{"role": "user", "content": "Light."}]
FUNCTION = {"type": "function", "function": {"name": "light", "description": "", "parameters": SCHEMA}}


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture(scope="module")
def http(server: ChatServer) -> Iterator[httpx.Client]:
    config = Config.model_validate({"endpoints": [{"name": "there", "kind": "remote", "url": server.url}]})
    with serving(config) as served, httpx.Client(base_url=served.url, timeout=30) as client:
        yield client


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_openai(http: httpx.Client, server: ChatServer) -> None:
    server.play(BOTH, BOTH)
    body = {"messages": ASK, "tools": [FUNCTION]}
    message = http.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert message["content"] == "I switch it on."
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"room": "hall"}
    text = http.post("/v1/chat/completions", json={**body, "stream": True}).text
    deltas = [e["choices"][0]["delta"] for e in events(text) if e["choices"]]  # type: ignore[index]
    assert "".join(delta.get("content") or "" for delta in deltas) == "I switch it on."
    assert sum("tool_calls" in delta for delta in deltas) >= 1


def test_anthropic(http: httpx.Client, server: ChatServer) -> None:
    server.play(BOTH, BOTH)
    body = {"model": "small", "max_tokens": 50, "messages": ASK, "tools": [{"name": "light", "input_schema": SCHEMA}]}
    message = http.post("/v1/messages", json=body).json()
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert message["stop_reason"] == "tool_use"
    streamed = events(http.post("/v1/messages", json={**body, "stream": True}).text)
    blocks = [e["content_block"]["type"] for e in streamed if e["type"] == "content_block_start"]  # type: ignore[index]
    assert blocks == ["text", "tool_use"]
    stops = [e["index"] for e in streamed if e["type"] == "content_block_stop"]
    assert stops == [0, 1]


def test_ollama(http: httpx.Client, server: ChatServer) -> None:
    server.play(BOTH, BOTH)
    body = {"model": "small", "messages": ASK, "tools": [FUNCTION]}
    lines = [json.loads(line) for line in http.post("/api/chat", json=body).text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == "I switch it on."
    calls = [call for line in lines for call in line["message"].get("tool_calls", [])]
    assert calls[0]["function"]["arguments"] == {"room": "hall"}
    whole = http.post("/api/chat", json={**body, "stream": False}).json()
    assert whole["message"]["content"] == "I switch it on."
    assert len(whole["message"]["tool_calls"]) == 1


def test_responses(http: httpx.Client, server: ChatServer) -> None:
    server.play(BOTH, BOTH)
    body = {"input": "Light.", "tools": [{"type": "function", "name": "light", "parameters": SCHEMA}]}
    output = http.post("/v1/responses", json=body).json()["output"]
    assert [item["type"] for item in output] == ["message", "function_call"]
    streamed = events(http.post("/v1/responses", json={**body, "stream": True}).text)
    done = [e["item"]["type"] for e in streamed if e["type"] == "response.output_item.done"]  # type: ignore[index]
    assert done == ["message", "function_call"]
    assert streamed[-1]["type"] == "response.completed"
