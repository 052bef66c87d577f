"""Bounds in time and number: the queue, turns by key, the time of a request, signs of life, keys, clocks, full disks."""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import tacid
from tacid.config import Config
from tests.faults.asking import (
    OLLAMA,
    OPENAI,
    PROTOCOLS,
    Protocol,
    Running,
    connect,
    letters,
    lines,
    long,
    posted,
    running,
)

pytestmark = [pytest.mark.engine, pytest.mark.model]

BEAT = 0.3
A, B = "first-key-0123456789", "second-key-0123456789"


@pytest.fixture(scope="module")
def server(own: Callable[..., Config]) -> Iterator[Running]:
    with running(own(server={"heartbeat": BEAT})) as made:
        yield made


@pytest.fixture(scope="module")
def keyed(own: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    """A server that knows two keys, and lets few wait."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"a:{A}\nb:{B}\n", encoding="utf-8")
    with running(own(server={"keys": str(keys), "queue": 8}), {"x-api-key": A}) as made:
        yield made, keys


@pytest.fixture(scope="module")
def hasty(own: Callable[..., Config]) -> Iterator[Running]:
    with running(own(server={"request_timeout": 1.0})) as made:
        yield made


def silences(moments: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(moments)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_sign_of_life_while_the_engine_reads(server: Running, protocol: Protocol) -> None:
    prompt = f"{time.monotonic_ns()} " + "word " * 7000
    moments, beats = [time.monotonic()], 0
    with server.http.stream("POST", protocol.path, json=protocol.body("answer", prompt, stream=True)) as reply:
        assert reply.status_code == 200
        for line in lines(reply):
            moments.append(time.monotonic())
            if protocol.content(line):
                break
            beats += protocol.beat(line)
    assert beats >= 3, "it reads for seconds"
    assert max(silences(moments)) < BEAT + 0.7
    server.serves()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_sign_of_life_while_arguments_are_held_back(server: Running, protocol: Protocol) -> None:
    # Ollama's arguments are one piece anyway; the others' wait for their check.
    schema = long(6, held=protocol is not OLLAMA)
    for attempt in range(20):
        moments, beats, text = [time.monotonic()], 0, ""
        body = protocol.body("call", f"Go on, {attempt}.", stream=True, schema=schema)
        with server.http.stream("POST", protocol.path, json=body) as reply:
            for line in lines(reply):
                moments.append(time.monotonic())
                text += line + "\n"
                beats += protocol.beat(line)
                if protocol is OLLAMA and protocol.content(line):
                    break  # Ollama's clients can't ask for a call, and this one says something
            else:
                if protocol is not OLLAMA or "tool_calls" in text:
                    break  # an answer may also be empty
    assert "tool_calls" in text or "tool_use" in text
    assert beats >= 2
    assert max(silences(moments)) < BEAT + 0.7
    assert protocol.whole(text)


def test_the_queue_is_bounded_and_says_when_to_come_again(keyed: tuple[Running, Path]) -> None:
    server, _ = keyed
    with ExitStack() as clients:
        request = posted(letters(5000)).replace(b"Host:", f"x-api-key: {A}\r\nHost:".encode())
        for _ in range(9):
            clients.enter_context(closing(connect(server))).sendall(request)
        server.until(lambda: server.figure("tacid_queue_depth") == 8)
        for protocol in PROTOCOLS:
            for stream in (False, True):
                begun = time.monotonic()
                reply = server.http.post(protocol.path, json=protocol.body("call", stream=stream))
                assert time.monotonic() - begun < 1.0
                assert reply.status_code == 429
                assert int(reply.headers["retry-after"]) >= 1
                assert "8 requests wait already" in (protocol.error(reply.json()) or "")
    assert reply.json()["error"]["type"] == "rate_limit_error"
    server.until(lambda: server.busy() == 0, 2)
    server.serves()


def test_with_one_slot_two_keys_take_turns(keyed: tuple[Running, Path]) -> None:
    server, _ = keyed
    with ThreadPoolExecutor(8) as threads:

        def ask(key: str, tokens: int) -> None:
            reply = server.http.post(OPENAI.path, json=letters(tokens), headers={"x-api-key": key})
            assert reply.status_code == 200

        first = threads.submit(ask, A, 150)
        server.until(lambda: server.busy() == 1)
        many = []
        for waiting in range(5):
            many.append(threads.submit(ask, A, 20))
            server.until(lambda waiting=waiting: server.figure("tacid_queue_depth") == waiting + 1)  # type: ignore[misc]
        few = [threads.submit(ask, B, 20) for _ in range(2)]
        for one in (first, *many, *few):
            one.result()
    order = "".join(line["key"] for line in server.served.log() if line["event"] == "request" and line["status"] == 200)
    assert order[-8:] == "aababaaa"
    server.serves()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_request_that_takes_too_long_is_ended(hasty: Running, protocol: Protocol) -> None:
    body = protocol.body("answer", stream=False, schema=long(12))
    begun = time.monotonic()
    reply = hasty.http.post(protocol.path, json=body)
    assert reply.status_code == 504
    assert "more than 1 seconds" in (protocol.error(reply.json()) or "")
    reply = hasty.http.post(protocol.path, json={**body, "stream": True})
    assert reply.status_code == 200
    assert "more than 1 seconds" in protocol.ended_in_error(reply.text)
    assert time.monotonic() - begun < 5
    hasty.until(lambda: hasty.busy() == 0, 1)
    hasty.serves()


def test_keys_are_read_again_and_a_broken_file_changes_nothing(keyed: tuple[Running, Path]) -> None:
    server, keys = keyed
    good = keys.read_text(encoding="utf-8")
    new = "third-key-0123456789"

    def status(key: str) -> int:
        return int(server.http.get("/v1/models", headers={"x-api-key": key}).status_code)

    assert [status(key) for key in (A, B, new)] == [200, 200, 401]
    keys.write_text(good + f"c:{new}\n", encoding="utf-8")
    assert [status(key) for key in (A, B, new)] == [200, 200, 200]
    for broken in ("no key at all", "", "a:short\n"):
        keys.write_text(broken, encoding="utf-8")
        assert [status(key) for key in (A, B, new)] == [200, 200, 200]
    keys.unlink()
    assert status(new) == 200
    keys.write_text(good.replace(B, new), encoding="utf-8")
    assert [status(key) for key in (A, B, new)] == [200, 401, 200]
    keys.write_text(good, encoding="utf-8")
    assert status(B) == 200
    server.serves()


@pytest.mark.parametrize("jump", [-400_000.0, 400_000.0])
def test_a_jump_of_the_clock_ends_nothing(server: Running, jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = time.time
    pid = server.pid
    with server.http.stream("POST", OPENAI.path, json=letters(300, stream=True)) as reply:
        text = ""
        for line in lines(reply):
            if not text:
                monkeypatch.setattr(time, "time", lambda: clock() + jump)
            text += line + "\n"
        assert OPENAI.whole(text)
        assert text.count("\n:") <= 40, "signs of life come by the clock that doesn't jump"
    created = server.http.post(OPENAI.path, json=letters(3)).json()["created"]
    assert abs(created - (clock() + jump)) < 60
    server.serves()
    assert server.pid == pid


def test_no_deadline_is_kept_by_the_clock_on_the_wall() -> None:
    root = Path(tacid.__file__).parent
    found = [
        f"{path.relative_to(root)}: {ast.unparse(node)}"
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.time", "time.time_ns")
    ]
    # What OpenAI's ``created`` says is a date.
    assert found == ["api/reply.py: time.time()"]
