"""An engine that says what it is told to: llama-server's protocol as tacid uses it, played from the scripts of the cases.

Everything else in these tests is real; only what a model happens to write can't be ordered from a real one. One entry of
a script is one generation; a request that continues the text of an entry continues the entry: after its thought, and
past a gate of the grammar (`tacid.turn.steps`). A script's calls and words are written in tacid's own envelope and, as
long as the grammar that was sent admits them, end where it ends.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Message, Receive, Scope, Send

from tacid.config import Config
from tacid.errors import TacidError
from tacid.grammar.walk import Walk
from tacid.jsontext import dumps
from tests.grammar.gbnf import read_gbnf

#: Control tokens; every other token is a byte.
MARKERS = ("<s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
THOUGHT, NO_THOUGHT = "<|im_start|>assistant\n<think>\n", "</think>"
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
THINKS = CHATML + "{# a thought stands in <think> and </think> #}"
#: Characters of a chunk where the script doesn't say.
CHUNK = 5
_MARKER = re.compile("|".join(map(re.escape, MARKERS)))
_GATE = "\n"
_END = 256 + MARKERS.index("<|im_end|>")


def tokens_of(text: str, *, special: bool) -> list[int]:
    """One token a byte; with ``special`` a control token is one."""
    ids: list[int] = []
    place = 0
    for found in _MARKER.finditer(text) if special else ():
        ids += text[place : found.start()].encode("utf-8", "surrogatepass")
        ids.append(256 + MARKERS.index(found[0]))
        place = found.end()
    return [*ids, *text[place:].encode("utf-8", "surrogatepass")]


def text_of(ids: Sequence[int], marker: Callable[[str], str] = str) -> str:
    """The text of tokens, control tokens as ``marker`` shows them."""
    data = b"".join(bytes([one]) if one < 256 else marker(MARKERS[one - 256]).encode() for one in ids)
    return data.decode("utf-8", "surrogatepass")


@dataclass
class Sent:
    """One request for a completion: what was asked, and how it went; times are those of ``time.monotonic``."""

    body: dict[str, Any]
    ids: list[int]
    #: The number of the script's entry, and whether an earlier request had begun it.
    entry: int = -1
    continued: bool = False
    written: str = ""
    #: Whether what the script says is not in the grammar that was sent.
    left_grammar: bool = False
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None
    #: When the client closed the request before its end.
    closed: float | None = None

    @property
    def prompt(self) -> str:
        """What the engine was sent, control tokens as text."""
        return text_of(self.ids)

    @property
    def untrusted(self) -> str:
        """What of it came as mere text."""
        return text_of(self.ids, lambda _: "\0")

    @property
    def grammar(self) -> str | None:
        """The grammar sent along."""
        return self.body.get("grammar")

    @property
    def thinking(self) -> bool:
        """Whether a thought is asked for."""
        return self.prompt.endswith(THOUGHT)


@dataclass
class _Entry:
    """An entry that is being played: what is left of it, and the prompt that goes on with it."""

    number: int
    script: Mapping[str, Any]
    thought: str | None
    left: str | None = None
    ids: list[int] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.thought is None and self.left == ""

    def goes_on(self, ids: Sequence[int]) -> bool:
        """Whether a prompt is this entry's and what was written of it, its turn not ended."""
        return ids[: len(self.ids)] == self.ids and _END not in ids[len(self.ids) :]


class Scripted:
    """A scripted engine that listens on loopback; `play` gives it its next script."""

    def __init__(self, *, thinks: bool = False, context: int = 65_536, slots: int = 1) -> None:
        self._props = {
            "default_generation_settings": {"n_ctx": context},
            "total_slots": slots,
            "build_info": "b11434-scripted",
            "model_path": "m.gguf",
            "chat_template": THINKS if thinks else CHATML,
            "bos_token": "<s>",
            "eos_token": "<|im_end|>",
        }
        self._slots = slots
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(self, http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._endless: Mapping[str, Any] | None = None
        self.play()

    def play(self, *script: Mapping[str, Any], endless: Mapping[str, Any] | None = None) -> None:
        """Forget what was; play these entries, then ``endless`` again and again (else a 500 that says so)."""
        self._script = script
        self._endless = endless
        self._open: _Entry | None = None
        self._begun = 0
        self.sent: list[Sent] = []

    @property
    def calls(self) -> int:
        """Generations that were asked for."""
        return self._begun

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.005)

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        data = b""
        while True:
            message = await receive()
            data += message.get("body", b"")
            if not message.get("more_body"):
                break
        body = json.loads(data) if data else {}
        answer = self._plain(scope["path"], body)
        if answer is None:
            await self._complete(body, receive, send)
        else:
            status = 404 if "error" in answer else 200
            await _respond(send, status, [answer] if scope["path"] == "/slots" else answer)

    def _plain(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to everything but a completion."""
        match path:
            case "/health":
                return {"status": "ok"}
            case "/props":
                return self._props
            case "/slots":
                return {"id": 0, "is_processing": False}
            case "/tokenize":
                return {"tokens": tokens_of(body["content"], special=bool(body.get("parse_special")))}
            case "/detokenize":
                return {"content": text_of(body["tokens"])}
            case "/apply-template":
                turns = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in body["messages"])
                return {"prompt": turns + "<|im_start|>assistant\n"}
            case "/completion":
                return None
            case _:
                return {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}

    async def _complete(self, body: dict[str, Any], receive: Receive, send: Send) -> None:
        prompt = body["prompt"]
        parts = prompt if isinstance(prompt, list) else [prompt]
        ids = [
            one for part in parts for one in (tokens_of(part, special=True) if isinstance(part, str) else (int(part),))
        ]
        sent = Sent(body, ids)
        self.sent.append(sent)
        if (wrong := _unfit(body)) is not None:
            await _respond(send, 400, {"error": {"code": 400, "message": wrong, "type": "invalid_request_error"}})
            return
        if not _readable(sent.grammar):
            message = "Failed to initialize samplers: failed to parse grammar"
            await _respond(send, 400, {"error": {"code": 400, "message": message, "type": "invalid_request_error"}})
            return
        entry = self._entry(sent)
        if entry is None:
            await _respond(send, 500, {"error": {"code": 500, "message": "The script is over.", "type": "test"}})
            return
        if "http" in entry.script:
            self._open = None
            wanted = entry.script["http"]
            await _respond(send, wanted["status"], wanted["body"])
            return
        text, kind, word = self._portion(entry, sent)
        stream = asyncio.create_task(self._stream(send, entry, sent, text, {"stop_type": kind, "stopping_word": word}))
        gone = asyncio.create_task(_gone(receive))
        await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if stream.done():
            stream.result()
        else:
            sent.closed = time.monotonic()
            stream.cancel()
            self._open = None

    def _entry(self, sent: Sent) -> _Entry | None:
        """The entry that a request continues or begins."""
        entry = self._open
        if entry is not None and not entry.over and entry.goes_on(sent.ids):
            sent.continued = True
        else:
            script = self._script[self._begun] if self._begun < len(self._script) else self._endless
            self._begun += 1
            if script is None:
                return None
            entry = self._open = _Entry(self._begun - 1, script, script.get("think"))
        sent.entry = entry.number
        entry.ids = sent.ids
        return entry

    def _portion(self, entry: _Entry, sent: Sent) -> tuple[str, str, str]:
        """What this request writes, and how it ends: (text, stop_type, stopping_word)."""
        if sent.thinking:
            text, entry.thought = entry.thought or "", None
            return text, "word", NO_THOUGHT
        entry.thought = None
        if entry.left is None:
            entry.left = _written(entry.script, sent.grammar)
        text, kind, word = entry.left, "eos", ""
        stops = [stop for stop in sent.body.get("stop", ()) if stop]
        if sent.grammar is not None:
            size, gate = _admitted(sent.grammar, text)
            sent.left_grammar = size == 0 and not gate
            if gate:
                text, kind, word = text[:size], "word", _GATE
            elif 0 < size < len(text):
                text = text[:size]
        places = [(place, stop) for stop in stops if stop != _GATE and (place := text.find(stop)) >= 0]
        if places:
            place, word = min(places)
            text, kind, entry.left = text[:place], "word", text[:place]
        if len(data := text.encode()) > sent.body["n_predict"]:
            text = data[: sent.body["n_predict"]].decode(errors="ignore")
            kind, word, entry.left = "limit", "", text
        if entry.script.get("finish") == "length":
            kind = "limit"
        entry.left = entry.left[len(text) :]
        return text, kind, word

    async def _stream(self, send: Send, entry: _Entry, sent: Sent, text: str, end: dict[str, Any]) -> None:
        script = entry.script
        size, pause = script.get("chunks_of", CHUNK), script.get("delay_s", 0.0)
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number, chunk in enumerate(chunks):
            if number == script.get("drop_after_chunks"):
                break
            await asyncio.sleep(pause)
            sent.written += chunk
            await _event(send, {"content": chunk, "tokens": tokens_of(chunk, special=False), "stop": False})
        if "drop_after_chunks" in script:
            sent.ended = time.monotonic()
            raise ConnectionAbortedError("the script breaks off here")
        written = len(text.encode())
        figures = {"cache_n": 0, "prompt_n": len(sent.ids), "prompt_ms": 1.0, "predicted_n": written, "predicted_ms": 1}
        last = {"content": "", "tokens": [], "stop": True, **end, "timings": figures, "id_slot": 0}
        sent.ended = time.monotonic()
        await _event(send, {**last, "tokens_evaluated": len(sent.ids), "tokens_predicted": written})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _written(script: Mapping[str, Any], grammar: str | None) -> str:
    """An entry's reply in the envelope that the gateway uses for it."""
    if "raw" in script:
        return str(script["raw"])
    if "call" in script:
        calls = [dumps({"tool": call["name"], "arguments": call["arguments"]}) for call in script["call"]]
        return calls[0] if len(calls) == 1 else f"[{','.join(calls)}]"
    said = str(script.get("say", ""))
    if grammar is None:
        return said
    # An answer that is held to a schema is a value, in the envelope or alone.
    spelled = [dumps({"say": said}), f'{{"say":{said}}}', said]
    walk = Walk(read_gbnf(grammar))
    if walk.copy().feed('{"zq":'):
        return said  # any object: this is no envelope
    return next((text for text in spelled if walk.copy().feed(text)), spelled[0])


def _admitted(grammar: str, text: str) -> tuple[int, bool]:
    """How many characters of a text a grammar takes from its beginning, and whether a gate stands there.

    0 where it takes neither all of it nor a part after which it is whole, or stands at a gate.
    """
    walk = Walk(read_gbnf(grammar))
    if walk.feed(text):
        return (len(text), False) if walk.complete else (0, False)
    for at, char in enumerate(text):
        if not walk.feed(char):
            gate = walk.feed(_GATE)
            return (at if gate or walk.complete else 0), gate
    raise AssertionError


def _readable(grammar: str | None) -> bool:
    """Whether a grammar can be read at all; a client's own may be anything."""
    try:
        if grammar is not None:
            Walk(read_gbnf(grammar))
    except (ValueError, LookupError, TacidError):
        return False
    return True


def _unfit(body: Mapping[str, Any]) -> str | None:
    """What llama-server says of settings that it doesn't take (tried on b11434); all others it takes as they are."""
    if not 1 <= body["n_predict"] < 2**31:
        return "Field 'n_predict': Value must be between -1 <= value <= 2147483647"
    if not 0 < body.get("repeat_penalty", 1) < math.inf:
        return "Failed to initialize samplers: penalty_repeat must be finite and greater than 0"
    return None


async def _respond(send: Send, status: int, body: Any) -> None:
    data = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def _event(send: Send, value: Any) -> None:
    await send(_chunk(b"data: " + json.dumps(value).encode() + b"\n\n"))


def _chunk(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextmanager
def scripted(**settings: Any) -> Iterator[Scripted]:
    """A scripted engine while the context lasts."""
    engine = Scripted(**settings)
    engine.start()
    try:
        yield engine
    finally:
        engine.stop()


def before(engine: Scripted, **sections: dict[str, Any]) -> Config:
    """A configuration whose engine is this one; further settings by section."""
    own = {"url": engine.url, **sections.pop("engine", {})}
    return Config.model_validate({"engine": own, **sections})


__all__ = ["Scripted", "Sent", "before", "scripted", "text_of", "tokens_of"]
