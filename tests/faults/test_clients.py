"""Clients that go away at each phase of a request, alone and by the hundred: the engine stops, the next one is served."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tacid.config import Config
from tests.faults.asking import (
    OPENAI,
    PROTOCOLS,
    Protocol,
    Running,
    connect,
    letters,
    long,
    posted,
    reading,
    running,
)

pytestmark = [pytest.mark.engine, pytest.mark.model]

#: Seconds in which the engine stops when nobody wants its work; on a machine that does other work as well, that
#: is so in one of a few tries, and never much later.
STOPS, STOPS_EVER, TRIES = 0.2, 2.0, 6


@pytest.fixture(scope="module")
def server(own: Callable[..., Config]) -> Iterator[Running]:
    with running(own(server={"body_timeout": 0.4, "streams_per_key": 400, "queue": 400})) as made:
        yield made


def gone(server: Running, request: bytes, wait: Callable[[socket.socket], object]) -> float:
    """Ask, wait for a moment of the work, and go away; the seconds until the engine has nothing to do."""
    with closing(connect(server)) as client:
        client.sendall(request)
        wait(client)
        assert server.busy() == 1
    return server.until(lambda: server.busy() == 0, STOPS_EVER)


def outcomes(server: Running) -> list[str]:
    return [line["outcome"] for line in server.served.log() if line["event"] == "request"]


def first_bytes(client: socket.socket) -> None:
    """Until the reply itself has begun."""
    file = client.makefile("r", encoding="utf-8", errors="replace", newline="\n")
    while line := file.readline():
        if any(protocol.content(line) for protocol in PROTOCOLS):
            return
    raise AssertionError("the stream ended")


PHASES: dict[str, tuple[dict[str, Any], bool]] = {
    "whole answer": (letters(5000), False),
    "streamed answer": (letters(5000, stream=True), True),
    "streamed call": (OPENAI.body("call", stream=True, schema=long(8)), True),
    "whole call": (OPENAI.body("call", stream=False, schema=long(8)), False),
}


@pytest.mark.parametrize("phase", PHASES)
def test_the_engine_stops_when_its_client_is_gone_while_it_samples(server: Running, phase: str) -> None:
    body, streamed = PHASES[phase]
    took = []
    for _ in range(TRIES):
        wait = first_bytes if streamed else lambda _: (server.until(lambda: server.busy() == 1), time.sleep(0.1))
        took.append(gone(server, posted(body), wait))
        if took[-1] < STOPS:
            break
    assert min(took) < STOPS, took
    server.serves()
    server.until(lambda: outcomes(server)[-2:] == ["client_gone", "ok"], 5)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_it_stops_for_each_protocol(server: Running, protocol: Protocol) -> None:
    body = protocol.body("answer", stream=True, schema=long(8))
    assert gone(server, posted(body, protocol.path), first_bytes) < STOPS_EVER
    server.serves()


@pytest.mark.parametrize("stream", [True, False])
def test_it_stops_after_the_batch_at_hand_while_it_reads(server: Running, stream: bool) -> None:
    def wait(_: socket.socket) -> None:
        server.until(lambda: server.busy() == 1)
        time.sleep(0.2)

    begun = time.monotonic()
    assert gone(server, posted(reading(7000, stream=stream)), wait) < 1.0
    assert time.monotonic() - begun < 4.0
    server.serves()


def test_who_leaves_the_queue_is_never_served(server: Running) -> None:
    with closing(connect(server)) as busy:
        busy.sendall(posted(letters(5000, stream=True)))
        first_bytes(busy)
        waiting = [connect(server) for _ in range(5)]
        for client in waiting:
            client.sendall(posted(letters(3000)))
        server.until(lambda: server.figure("tacid_queue_depth") == 5)
        for client in waiting:
            client.close()
        server.until(lambda: server.figure("tacid_queue_depth") == 0, 2)
        assert server.busy() == 1, "who is being served doesn't notice"
        assert busy.recv(100)
    server.until(lambda: server.busy() == 0, STOPS_EVER)
    tokens = server.figure_of("tacid_tokens_total", kind="completion")
    server.serves()
    assert server.figure_of("tacid_tokens_total", kind="completion") == tokens + 3


def test_two_hundred_clients_gone_at_once(server: Running) -> None:
    before = open_files()
    bodies = [letters(3000), letters(3000, stream=True), OPENAI.body("call", stream=True), reading(3000)]
    clients = [connect(server) for _ in range(200)]
    for index, client in enumerate(clients):
        client.sendall(posted(bodies[index % len(bodies)]))
    server.until(lambda: server.figure("tacid_open_streams") == 200)
    begun = time.monotonic()
    for client in clients:
        client.close()
    server.serves(within=5.0)
    assert time.monotonic() - begun < 8.0
    assert server.busy() == 0
    server.until(lambda: open_files() <= before + 5, 10)


def open_files() -> int:
    """Of this process, the server's thread among it."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_half_a_body_is_told_so_or_given_up(server: Running, protocol: Protocol) -> None:
    request = posted(protocol.body("answer", stream=True), protocol.path)
    with closing(connect(server)) as client:
        client.sendall(request[:-20])
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == b"408"
    assert "within 0.4 seconds" in (protocol.error(json.loads(body)) or "")
    with closing(connect(server)) as client:
        client.sendall(request[:-20])
    server.serves()


def test_half_a_head_is_given_up(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacid.api.connection.HEAD", 0.5)
    with closing(connect(server)) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127")
        begun = time.monotonic()
        assert client.recv(65536) == b""
        assert 0.4 < time.monotonic() - begun < 3.0
    with closing(connect(server)) as kept:
        for _ in range(2):
            # A connection that is kept, and one byte of the next request.
            kept.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += kept.recv(65536)
            assert b"200 OK" in answer
        kept.sendall(b"G")
        begun = time.monotonic()
        assert kept.recv(65536) == b""
        assert 0.4 < time.monotonic() - begun < 3.0
    server.serves()


def test_a_client_that_never_reads_holds_nobody_up(own: Callable[..., Config], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacid.api.reply.READING", 0.5)
    with running(own(server={"request_timeout": 1.5})) as server, closing(socket.socket()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", server.served.port))
        client.sendall(posted(letters(7000, stream=True)))
        server.until(lambda: server.busy() == 1)
        # The next one waits for the slot no longer than any request may take.
        server.until(lambda: server.busy() == 0, 4)
        server.serves()
