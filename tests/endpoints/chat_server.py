"""A server that speaks OpenAI's chat protocol and says what its script says: whole calls, or text under a grammar.

It behaves as vLLM does in what matters here: a grammar holds beside tools only with the ``tool_choice`` that it is told
(``holds``), and its template shows the tools (``shows``), which the tokens of its prompt tell.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from tacid.grammar.walk import Walk
from tacid.jsontext import dumps
from tests.grammar.gbnf import read_gbnf


@dataclass
class Sent:
    """One request: its route, its headers and its body."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    closed: bool = False


class ChatServer:
    """Listens on loopback; an entry of a script is one reply.

    ``say``, ``call`` ([{name, arguments}]), ``think``; ``raw`` (text as it is), ``chunks`` (chunks as they are),
    ``status`` with ``error`` (and ``headers``), ``drop`` (breaks off after so many pieces), ``finish``, ``usage``,
    ``whole`` (no stream), ``pause`` (seconds between pieces).
    """

    def __init__(
        self,
        *,
        field: str | None = None,
        holds: tuple[str | None, ...] = (None, "none"),
        shows: bool = True,
        models: tuple[str, ...] = ("small",),
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self._field, self._holds, self._shows, self._models, self._key = field, holds, shows, models, key
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        settings: dict[str, Any] = {"http": "h11", "ws": "none", "lifespan": "off", "log_config": None}
        config = uvicorn.Config(self, access_log=False, timeout_graceful_shutdown=1, **settings)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([self._socket])), daemon=True)
        self._script: list[Mapping[str, Any]] = []
        self.sent: list[Sent] = []
        #: Requests that only find out how the server is asked.
        self.tried: list[Sent] = []

    def play(self, *script: Mapping[str, Any]) -> None:
        """Forget what was; play these."""
        self._script = list(script)
        self.sent = []

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.005)

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._socket.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        data = b""
        while True:
            message = await receive()
            data += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        sent = Sent(scope["path"], headers, json.loads(data) if data else {})
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            await _respond(send, 401, {"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
        elif scope["path"] == "/v1/models":
            await _respond(send, 200, {"object": "list", "data": [{"id": name} for name in self._models]})
        elif scope["path"] != "/v1/chat/completions":
            await _respond(send, 404, {"detail": "Not Found"})
        else:
            await self._chat(sent, receive, send)

    async def _chat(self, sent: Sent, receive: Receive, send: Send) -> None:
        body = sent.body
        grammar = self._grammar(body)
        if grammar is not None and grammar.startswith('root ::= "held-"'):
            self.tried.append(sent)
            await self._stream(send, {}, ["held-07"] if self._held(body) else ["It is", " noon."], [], body)
            return
        self.sent.append(sent)
        if not self._script:
            await _respond(send, 500, {"error": {"message": "The script is over.", "type": "test"}})
            return
        entry = self._script.pop(0)
        if "status" in entry:
            await _respond(send, entry["status"], entry["error"], entry.get("headers", {}))
            return
        calls = entry.get("call", [])
        text = str(entry.get("say", ""))
        if "raw" in entry or "chunks" in entry:
            text, calls = entry.get("raw", ""), []
        elif grammar is not None and self._held(body):
            text, calls = _spelled(entry, grammar), []
        pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
        stream = asyncio.create_task(self._stream(send, entry, pieces, calls, body))
        gone = asyncio.create_task(_gone(receive))
        await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if stream.done():
            stream.result()
        else:
            sent.closed = True
            stream.cancel()

    def _grammar(self, body: Mapping[str, Any]) -> str | None:
        if self._field is None:
            return None
        found = body.get(self._field)
        return found.get("grammar") if isinstance(found, Mapping) else found

    def _held(self, body: Mapping[str, Any]) -> bool:
        return (body["tool_choice"] if "tools" in body else None) in self._holds

    async def _stream(
        self, send: Send, entry: Mapping[str, Any], pieces: list[str], calls: list[Any], body: Mapping[str, Any]
    ) -> None:
        thought = entry.get("think", "")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": thought[at : at + 5]} for at in range(0, len(thought), 5)]
        deltas += [{"content": piece} for piece in pieces]
        for index, call in enumerate(calls):
            text = call["arguments"] if isinstance(call["arguments"], str) else dumps(call["arguments"])
            head = {"index": index, "id": f"theirs_{index}", "type": "function"}
            deltas.append({"tool_calls": [{**head, "function": {"name": call["name"], "arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": text[at : at + 7]}}]}
                for at in range(0, len(text), 7)
            ]
        finish = entry.get("finish") or ("tool_calls" if calls else "stop")
        shown = len(body.get("tools", ())) * 40 if self._shows else 0
        usage = {"prompt_tokens": 30 + shown, "completion_tokens": len(deltas), "total_tokens": 30 + shown}
        usage |= entry.get("usage", {})
        if entry.get("whole"):
            message = {"role": "assistant", "content": "".join(pieces) or None, "tool_calls": [
                {"id": f"theirs_{i}", "type": "function", "function": {**one, "arguments": dumps(one["arguments"])}}
                for i, one in enumerate(calls)
            ]}  # fmt: skip
            await _respond(send, 200, {"choices": [{"message": message, "finish_reason": finish}], "usage": usage})
            return
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"choices": [], "usage": usage})
        chunks = entry.get("chunks", chunks)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for number, chunk in enumerate(chunks):
            if number == entry.get("drop"):
                raise ConnectionAbortedError("the script breaks off here")
            await asyncio.sleep(entry.get("pause", 0))
            data = f": hello\n\ndata: {json.dumps(chunk)}\r\n\r\n".encode()
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


def _spelled(entry: Mapping[str, Any], grammar: str) -> str:
    """An entry in the spelling that the grammar takes."""
    if "call" in entry:
        calls = [dumps({"tool": call["name"], "arguments": call["arguments"]}) for call in entry["call"]]
        return calls[0] if len(calls) == 1 else f"[{','.join(calls)}]"
    said = str(entry["say"])
    spelled = (dumps({"say": said}), f'{{"say":{said}}}', said)
    walk = Walk(read_gbnf(grammar))
    return next(text for text in spelled if walk.copy().feed(text))


async def _respond(send: Send, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    data = json.dumps(body).encode()
    fields = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
    raw = [(key.encode(), value.encode()) for key, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": data})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextmanager
def chat_server(**settings: Any) -> Iterator[ChatServer]:
    """A scripted server while the context lasts."""
    server = ChatServer(**settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


__all__ = ["ChatServer", "Sent", "chat_server"]
