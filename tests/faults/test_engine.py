"""Engines that die, wedge, are slow, or refuse a grammar, while clients of each protocol wait for their reply."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tacid.config import Config
from tacid.grammar import Grammar, compile_catalogue
from tacid.turn import plan
from tests.faults.asking import OLLAMA, OPENAI, PROTOCOLS, Protocol, Running, letters, lines, long, reading, running

pytestmark = [pytest.mark.engine, pytest.mark.model]


@pytest.fixture(scope="module")
def server(own: Callable[..., Config]) -> Iterator[Running]:
    with running(own(engine={"probe_after": 1.0, "restarts": 1000}, server={"heartbeat": 0.3})) as made:
        yield made


def kill(server: Running, number: signal.Signals = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):
        os.kill(server.pid, number)


@contextmanager
def later(work: Callable[[], Any]) -> Iterator[list[Any]]:
    """Do something in a thread meanwhile; what came of it is in the list afterwards."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    try:
        yield done
    finally:
        thread.join()


@pytest.mark.parametrize("kind", ["call", "answer"])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_an_engine_killed_in_a_stream_is_an_error_of_the_protocols_own(
    server: Running, protocol: Protocol, kind: str
) -> None:
    server.until(server.ready)
    restarts = server.figure("tacid_engine_restarts_total")
    # Ollama's calls are one piece: until then there are only signs of life.
    began = protocol.beat if (protocol, kind) == (OLLAMA, "call") else protocol.content
    text, killed = "", False
    with server.http.stream("POST", protocol.path, json=protocol.body(kind, stream=True, schema=long(8))) as reply:
        for line in lines(reply):
            text += line + "\n"
            if not killed and (began(line) or protocol.content(line)):
                kill(server)
                killed = True
    assert reply.status_code == 200
    assert killed
    assert "it was killed (SIGKILL)" in protocol.ended_in_error(text)
    assert not protocol.whole(text)
    server.serves()
    assert server.figure("tacid_engine_restarts_total") == restarts + 1
    assert any("SIGKILL" in str(line.get("error")) for line in server.served.log() if line.get("path") == protocol.path)


@pytest.mark.parametrize("stream", [True, False])
def test_an_engine_killed_while_it_reads_is_not_seen_by_the_client(server: Running, stream: bool) -> None:
    server.until(server.ready)
    first = server.pid
    with later(lambda: server.http.post(OPENAI.path, json=reading(7000, stream=stream))) as replies:
        server.until(lambda: server.busy() == 1)
        time.sleep(0.2)
        kill(server)
    (reply,) = replies
    assert reply.status_code == 200, reply.text
    if stream:
        assert OPENAI.whole(reply.text)
        assert ": " in reply.text, "signs of life while another engine is started and reads"
    else:
        assert reply.json()["usage"]["completion_tokens"] == 3
    assert server.pid != first
    server.serves()


def test_a_whole_reply_is_tried_again_once_and_then_the_client_is_told_when(server: Running) -> None:
    server.until(server.ready)
    with later(lambda: server.http.post(OPENAI.path, json=letters(3000))) as replies:
        for _ in range(2):
            server.until(lambda: server.ready() and server.busy() == 1)
            time.sleep(0.1)
            kill(server)
            server.until(lambda: not server.ready())
    (reply,) = replies
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["error"]["code"] == "engine_died"
    assert "SIGKILL" in reply.json()["error"]["message"]
    server.serves()


def test_a_wedged_engine_is_found_and_its_client_told(server: Running) -> None:
    server.until(server.ready)
    begun, stopped = time.monotonic(), 0.0
    text = ""
    with server.http.stream("POST", OPENAI.path, json=letters(5000, stream=True)) as reply:
        for line in lines(reply):
            text += line + "\n"
            if not stopped and OPENAI.content(line):
                kill(server, signal.SIGSTOP)
                stopped = time.monotonic()
    told = OPENAI.ended_in_error(text)
    assert "it was wedged" in told
    assert text.count("\n:") >= 2, "signs of life meanwhile"
    assert time.monotonic() - stopped < 25
    assert time.monotonic() - begun < 40
    server.serves()


def test_a_slow_engine_is_waited_for(server: Running) -> None:
    server.until(server.ready)
    first = server.pid
    with later(lambda: server.http.post(OPENAI.path, json=letters(400, stream=True))) as replies:
        begun = time.monotonic()
        # It runs a fortieth of the time.
        while not replies and time.monotonic() - begun < 3:
            kill(server, signal.SIGSTOP)
            time.sleep(0.8)
            kill(server, signal.SIGCONT)
            time.sleep(0.02)
    (reply,) = replies
    assert OPENAI.whole(reply.text)
    assert reply.text.count("\n:") >= 3
    assert server.pid == first
    server.serves()


#: One that the engine refuses at once, and one that it refuses after it began its answer.
REFUSED = ["root ::= a_b", 'root ::= "x" [z-a]']


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_refused_grammar_of_ours_is_an_error_and_never_an_unheld_reply(
    server: Running, protocol: Protocol, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.until(server.ready)
    sent: list[str | None] = []

    def broken(*catalogue: Any, **settings: Any) -> Grammar:
        return replace(compile_catalogue(*catalogue, **settings), text=text)

    complete = server.engine.client.complete

    def watched(*prompt: Any, grammar: str | None, **settings: Any) -> Any:
        sent.append(grammar)
        return complete(*prompt, grammar=grammar, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(plan, "compiled_catalogue", lambda *_, **__: None)
        patch.setattr(plan, "compile_catalogue", broken)
        patch.setattr(server.engine.client, "complete", watched)
        for stream in (False, True):
            reply = server.http.post(protocol.path, json=protocol.body("call", stream=stream))
            assert reply.status_code == 500
            message = protocol.error(reply.json())
            assert message is not None
            assert "refused a grammar of ours" in message
    assert sent == [text, text]
    if protocol is OPENAI:
        assert reply.json()["error"]["code"] == "grammar_refused"
    server.serves()


def test_a_refused_grammar_of_the_clients_is_the_clients_error(server: Running) -> None:
    server.until(server.ready)
    for grammar in REFUSED:
        reply = server.http.post(OPENAI.path, json=letters(5) | {"grammar": grammar})
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] == "grammar"
    server.serves()


def test_while_there_is_no_engine_requests_wait_for_it(server: Running) -> None:
    server.until(server.ready)
    kill(server)
    server.until(lambda: not server.ready())
    states = server.http.get("/ready").json()["engines"]
    assert "SIGKILL" in states[0]["reason"]
    replies = [server.http.post(path, json=body) for path, body in (
        (OPENAI.path, letters(3)), ("/v1/completions", {"prompt": "x", "max_tokens": 3, "grammar": "root ::= [a-z] root"}),
    )]  # fmt: skip
    assert [reply.status_code for reply in replies] == [200, 200]
    assert httpx.get(f"{server.served.url}/health").status_code == 200
    server.serves()
