"""Requests of each protocol that take long in a known way, and how each protocol tells of an error and of life."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tacid.config import Config
from tacid.engine.process import Engine
from tests.serving import Served, serving


def long(texts: int, *, held: bool = False) -> dict[str, Any]:
    """A schema of which each text takes the random model half a second or more, for the grammar leaves it nearly free.

    ``held``: with a keyword that the grammar doesn't hold, so that arguments wait for their check.
    """
    properties: dict[str, Any] = {
        f"text{index}": {"type": "string", "minLength": 1500, "maxLength": 1900} for index in range(texts)
    }
    if held:
        properties["pair"] = {"type": "string", "pattern": r"^(a)\1$", "minLength": 2, "maxLength": 2}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


LONG = long(1)
#: Random weights write bytes that are no text; letters always are, and no reply ends before its limit.
LETTERS = "root ::= [a-z ] root"


@dataclass(frozen=True)
class Protocol:
    """One protocol: its route, a body for each kind of request, and what its streams hold."""

    name: str
    path: str
    call: Callable[[str, dict[str, Any]], dict[str, Any]]
    answer: Callable[[str, dict[str, Any]], dict[str, Any]]
    #: The message of an error, in a body or in an event of a stream; none where it is something else.
    error: Callable[[Mapping[str, Any]], str | None]
    #: Whether a line of a stream says that something of the reply came.
    content: Callable[[str], bool]
    #: Whether a line of a stream is a sign of life.
    beat: Callable[[str], bool]

    def body(self, kind: str, prompt: str = "Go on.", *, stream: bool, schema: dict[str, Any] = LONG) -> dict[str, Any]:
        """A request whose reply is one long call, or one long answer."""
        made = (self.call if kind == "call" else self.answer)(prompt, schema)
        return {**made, "stream": stream}

    def ended_in_error(self, text: str) -> str:
        """The message of the error that a stream ends with."""
        lines = [line for line in text.splitlines() if line and not line.startswith((":", "event:"))]
        last = lines[-1].removeprefix("data: ")
        found = self.error(json.loads(last)) if last != "[DONE]" else None
        assert found, text[-400:]
        return found

    def whole(self, text: str) -> bool:
        """Whether a stream ended as it should."""
        return {
            "openai": text.rstrip().endswith("data: [DONE]"),
            "ollama": '"done":true' in text.replace(" ", "").splitlines()[-1],
            "anthropic": "event: message_stop" in text,
        }[self.name]


def _messages(prompt: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}]}


def _function(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "note", "parameters": schema}}


def _error(body: Mapping[str, Any]) -> str | None:
    error = body.get("error")
    return error.get("message") if isinstance(error, dict) else None


OPENAI = Protocol(
    "openai",
    "/v1/chat/completions",
    lambda prompt, schema: {**_messages(prompt), "tools": [_function(schema)], "tool_choice": "required"},
    lambda prompt, schema: {
        **_messages(prompt),
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
    },
    lambda body: _error(body) if body.get("error", {}).keys() == {"message", "type", "param", "code"} else None,
    lambda line: re.search(r'"(arguments|content)":"[^"]', line) is not None,
    lambda line: line.startswith(":"),
)
OLLAMA = Protocol(
    "ollama",
    "/api/chat",
    # There is no choice of tools here, and a random model would rather say something; what it says has letters too.
    lambda prompt, schema: {
        **_messages(prompt),
        "model": "random",
        "tools": [_function(schema)],
        "options": {"temperature": 2.0},
    },
    lambda prompt, schema: {**_messages(prompt), "model": "random", "format": schema},
    lambda body: body["error"] if body.keys() == {"error"} and isinstance(body["error"], str) else None,
    lambda line: re.search(r'"content":"[^"]', line) is not None,
    lambda line: '"content":""' in line and '"done":false' in line,
)
ANTHROPIC = Protocol(
    "anthropic",
    "/v1/messages",
    lambda prompt, schema: {
        **_messages(prompt),
        "max_tokens": 8000,
        "model": "random",
        "tools": [{"name": "note", "input_schema": schema}],
        "tool_choice": {"type": "any"},
    },
    lambda prompt, schema: {
        **_messages(prompt),
        "max_tokens": 8000,
        "model": "random",
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    },
    lambda body: _error(body) if body.get("type") == "error" else None,
    lambda line: re.search(r'"(partial_json|text)":"[^"]', line) is not None,
    lambda line: line == "event: ping",
)
PROTOCOLS = (OPENAI, OLLAMA, ANTHROPIC)


def letters(tokens: int, prompt: str = "Go on.", **more: Any) -> dict[str, Any]:
    """A body for OpenAI's route whose answer has just so many tokens."""
    return {**_messages(prompt), "grammar": LETTERS, "max_tokens": tokens, **more}


def reading(words: int, **more: Any) -> dict[str, Any]:
    """A body for OpenAI's route that takes long to read (seconds for seven thousand words), each time anew."""
    return letters(3, f"{time.monotonic_ns()} " + "word " * words, **more)


class Running:
    """A server in a thread that has an engine to itself."""

    def __init__(self, served: Served, headers: Mapping[str, str] | None = None) -> None:
        self.served = served
        limits = httpx.Limits(max_connections=None)
        self.http = httpx.Client(base_url=served.url, timeout=60, limits=limits, headers=dict(headers or {}))
        self.backend = served.service.pool.backends[0]

    @property
    def engine(self) -> Engine:
        """The engine as it is now; raises where there is none."""
        return self.backend.supervisor.engine

    @property
    def pid(self) -> int:
        """The engine's process, or the one it had last."""
        assert self.engine.pid is not None
        return self.engine.pid

    def figure(self, name: str) -> float:
        """One of the server's figures."""
        return self.served.metrics.registry.get_sample_value(name) or 0.0

    def figure_of(self, name: str, **labels: str) -> float:
        """One of the server's figures that has labels."""
        return self.served.metrics.registry.get_sample_value(name, labels) or 0.0

    def busy(self) -> int:
        """How many of the engine's slots have work, as the engine says itself."""
        client = self.engine.client
        headers = {"Authorization": f"Bearer {client.key}"}
        return sum(slot["is_processing"] for slot in httpx.get(f"{client.url}/slots", headers=headers).json())

    def until(self, condition: Callable[[], bool], within: float = 30.0) -> float:
        """Wait for something; the seconds it took."""
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < within, "it didn't come to that"
            time.sleep(0.005)
        return time.monotonic() - begun

    def ready(self) -> bool:
        """Whether the server says that it is."""
        return self.http.get("/ready").status_code == 200

    def serves(self, within: float = 30.0) -> None:
        """The next request is served, as if nothing had been."""
        begun = time.monotonic()
        reply = self.http.post(OPENAI.path, json=letters(3))
        assert reply.status_code == 200, reply.text
        assert reply.json()["usage"]["completion_tokens"] == 3
        assert time.monotonic() - begun < within
        self.until(lambda: self.figure("tacid_open_streams") == 0, 5)
        assert self.figure("tacid_queue_depth") == 0


@contextmanager
def running(config: Config, headers: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A server for as long as the context lasts; it is ready. ``headers`` go with every request of its client."""
    with serving(config) as served:
        made = Running(served, headers)
        with made.http:
            made.until(made.ready)
            yield made


def connect(server: Running) -> socket.socket:
    """A connection to the server by hand."""
    return socket.create_connection(("127.0.0.1", server.served.port), timeout=30)


def posted(body: Mapping[str, Any], path: str = OPENAI.path) -> bytes:
    """The bytes of a request."""
    content = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def lines(reply: httpx.Response) -> Iterator[str]:
    """The lines of a stream that hold something."""
    yield from (line for line in reply.iter_lines() if line)
