"""`tacid serve` as a process of its own: its start, its end, ports that are taken, full disks, engines that won't start."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tacid.api.server import listen
from tacid.cli.app import app
from tacid.engine.find import EngineSpec
from tacid.errors import InputError
from tests.cli.run import command, descendants, environment, gone, tacid
from tests.faults.asking import OPENAI, letters, lines, posted

pytestmark = [pytest.mark.engine, pytest.mark.model]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """A server in a process, with what it says."""

    def __init__(self, home: Path, model: Path, *arguments: str, stderr: Any = None, **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.told = home / "stderr"
        engine = {"THREADS": "1", "CONTEXT": "8192", "BATCH": "16", "SLOTS": "2"}
        variables = {f"TACID_ENGINE__{name}": value for name, value in engine.items()}
        env = environment(home, **variables, **settings)
        with self.told.open("wb") as file:
            self.running = subprocess.Popen(
                command("serve", "--port", str(self.port), "--model", str(model), *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr or file,
                env=env,
                start_new_session=True,
            )
        self.http = httpx.Client(base_url=self.url, timeout=60)
        #: All that it started, so far as seen.
        self.below: list[int] = []

    def until(self, condition: Callable[[], bool], within: float = 40.0) -> None:
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < within, self.words()
            time.sleep(0.02)

    def status(self, path: str) -> int:
        try:
            return self.http.get(path).status_code
        except httpx.HTTPError:
            return 0

    def ready(self) -> None:
        self.until(lambda: self.status("/ready") == 200)
        self.below = descendants(self.running.pid)
        assert len(self.below) >= 2

    def words(self) -> str:
        return self.told.read_text(encoding="utf-8")

    def sentences(self) -> list[str]:
        """What is for people."""
        return [line for line in self.words().splitlines() if not line.startswith("{")]

    def records(self) -> list[dict[str, Any]]:
        """What is for machines."""
        return [json.loads(line) for line in self.words().splitlines() if line.startswith("{")]

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.running.send_signal(number)

    def ended(self, within: float) -> int:
        """The exit code; all that was started has ended too."""
        code = self.running.wait(within)
        assert gone(self.below, 5.0), "an orphan was left"
        return code


@contextmanager
def serve(home: Path, model: Path, *arguments: str, **settings: Any) -> Iterator[Process]:
    process = Process(home, model, *arguments, **settings)
    try:
        yield process
    finally:
        process.running.kill()
        process.running.wait()
        process.http.close()


def test_it_says_how_its_start_goes_and_ends_with_0(tmp_path: Path, random_model: Path) -> None:
    with serve(tmp_path, random_model) as process:
        process.ready()
        assert process.http.post(OPENAI.path, json=letters(3)).status_code == 200
        process.until(lambda: len(process.sentences()) == 2)
        loading, ready = process.sentences()
        assert "loading random" in loading
        assert f"ready at {process.url}" in ready
        assert "8,192 tokens of context, 2 at a time" in ready
        assert "\x1b" not in process.words(), "no colour where there is no terminal"
        process.signal()
        assert process.ended(8.0) == 0
        (record,) = [line for line in process.records() if line["event"] == "request" and line["method"] == "POST"]
        assert record["completion_tokens"] == 3


def test_open_streams_are_drained_and_then_told(tmp_path: Path, random_model: Path) -> None:
    with serve(tmp_path, random_model, TACID_SERVER__DRAIN="3") as process:
        process.ready()
        with (
            process.http.stream("POST", OPENAI.path, json=letters(7000, stream=True)) as long,
            process.http.stream("POST", OPENAI.path, json=letters(100, stream=True)) as short,
        ):
            process.signal()
            begun = time.monotonic()
            process.until(lambda: process.status("/health") == 0, 2.0)
            finished = "\n".join(lines(short))
            told = "\n".join(lines(long))
            took = time.monotonic() - begun
        assert OPENAI.whole(finished), "what could be finished was"
        assert "is being stopped" in OPENAI.ended_in_error(told)
        assert 2.5 < took < 6.0
        assert process.ended(8.0) == 0
        assert "has 3 seconds to finish" in process.sentences()[-1]
        outcomes = [
            line["outcome"] for line in process.records() if line["event"] == "request" and line["method"] == "POST"
        ]
        assert sorted(outcomes) == ["failed", "ok"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_second_signal_waits_for_nobody(
    tmp_path: Path, random_model: Path, number: signal.Signals, code: int
) -> None:
    with serve(tmp_path, random_model, TACID_SERVER__DRAIN="60") as process:
        process.ready()
        with process.http.stream("POST", OPENAI.path, json=letters(7000, stream=True)) as reply:
            rest = lines(reply)
            next(line for line in rest if OPENAI.content(line))
            process.signal(number)
            process.until(lambda: process.status("/health") == 0, 2.0)
            assert process.running.poll() is None, "it waits for who is served"
            process.signal(number)
            begun = time.monotonic()
            assert "is being stopped" in OPENAI.ended_in_error("\n".join(rest))
            assert time.monotonic() - begun < 2.0
            assert process.ended(8.0) == code
        assert "Traceback" not in process.words()


def test_a_second_signal_cuts_off_who_neither_reads_nor_sends(tmp_path: Path, random_model: Path) -> None:
    with serve(tmp_path, random_model, TACID_SERVER__DRAIN="60") as process, ExitStack() as clients:
        process.ready()
        half, deaf = (clients.enter_context(closing(socket.socket())) for _ in range(2))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        for client, request in ((half, posted(letters(3))[:-5]), (deaf, posted(letters(7000, stream=True)))):
            client.connect(("127.0.0.1", process.port))
            client.sendall(request)
        process.until(lambda: "tacid_open_streams 2.0" in process.http.get("/metrics").text)
        process.signal()
        process.until(lambda: process.status("/health") == 0, 2.0)
        process.signal()
        assert process.ended(8.0) == 0


def test_a_signal_while_the_engine_starts(tmp_path: Path, random_model: Path) -> None:
    with serve(tmp_path, random_model) as process:
        process.until(lambda: process.status("/health") == 200)
        process.below = descendants(process.running.pid)
        process.signal()
        assert process.ended(8.0) == 0


def test_being_killed_leaves_no_engine(tmp_path: Path, random_model: Path) -> None:
    with serve(tmp_path, random_model) as process:
        process.ready()
        process.signal(signal.SIGKILL)
        assert process.ended(5.0) == -signal.SIGKILL


def test_a_taken_port_is_one_sentence(tmp_path: Path, random_model: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran = tacid("serve", "--port", port, "--model", str(random_model), env=environment(tmp_path), timeout=30)
    assert ran.code == 1
    assert (
        ran.err.strip()
        == f"tacid: The port {port} of 127.0.0.1 is taken; end what listens there, or give another port with --port."
    )


@pytest.mark.parametrize(
    ("host", "why"), [("192.0.2.1", "no address of this machine"), ("nowhere.invalid", "no address or name")]
)
def test_an_address_that_is_none_of_ours_is_named(host: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        listen(host, free_port())


def test_a_port_is_taken_by_one_only_and_is_free_at_once_afterwards() -> None:
    port = free_port()
    for _ in range(2):
        (first,) = listen("127.0.0.1", port)
        with pytest.raises(InputError, match="is taken"):
            listen("127.0.0.1", port)
        first.close()


def test_a_full_disk_under_log_and_audit_stops_nobody(tmp_path: Path, random_model: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        settings = {"stderr": full, "TACID_SERVER__AUDIT": "/dev/full"}
        with serve(tmp_path, random_model, **settings) as process:
            process.ready()
            for _ in range(3):
                reply = process.http.post(OPENAI.path, json=OPENAI.body("call", stream=False))
                assert reply.json()["choices"][0]["finish_reason"] == "tool_calls"
            process.signal()
            assert process.ended(8.0) == 0


def test_an_engine_that_dies_at_each_start_is_explained_until_it_is_repaired(
    tmp_path: Path, random_model: Path, engine_spec: EngineSpec
) -> None:
    repaired = tmp_path / "repaired"
    real = [engine_spec.where] if engine_spec.kind == "binary" else [sys.executable, "-P", "-m", "tacid.engine.child"]
    program = tmp_path / "server"
    program.write_text(
        f'#!/bin/sh\n[ -e {repaired} ] && exec {" ".join(real)} "$@"\n'
        "echo 'error: invalid argument: --webui' >&2\nexit 1\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    settings = {"TACID_ENGINE__BINARY": str(program), "TACID_ENGINE__RESTARTS": "1"}
    with serve(tmp_path, random_model, **settings) as process:
        process.until(lambda: process.status("/health") == 200)
        process.until(lambda: "failed" in process.http.get("/ready").text)
        why = process.http.get("/ready")
        assert why.status_code == 503
        assert "does not know the argument --webui" in why.json()["engines"][0]["reason"]
        reply = process.http.post(OPENAI.path, json=letters(3))
        assert reply.status_code == 503
        assert int(reply.headers["retry-after"]) >= 1
        assert reply.json()["error"]["code"] == "engine_start_failed"
        assert "does not know the argument --webui" in reply.json()["error"]["message"]
        process.until(lambda: any("would not start" in line for line in process.sentences()))
        repaired.touch()
        process.until(lambda: process.http.post(OPENAI.path, json=letters(3)).status_code == 200)
        process.until(lambda: any("ready at" in line for line in process.sentences()))
        process.below = descendants(process.running.pid)
        process.signal()
        assert process.ended(8.0) == 0


def test_the_help_says_where_to_begin() -> None:
    told = re.sub(r"\s+", " ", CliRunner().invoke(app, ["serve", "--help"]).output)
    for word in ("/v1", "curl http://127.0.0.1:8017", "/docs", "/ready", "/metrics", "Ctrl-C", "--port", "--keys"):
        assert word in told


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_small_writes_never_wait_for_an_acknowledgement(host: str) -> None:
    sockets, waits = listen(host, 0), []

    def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waits.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    for one in sockets:
        async with await asyncio.start_server(connected, sock=one):
            reader, writer = await asyncio.open_connection(*one.getsockname()[:2])
            await reader.read()
            writer.close()
            await writer.wait_closed()
    assert waits == [1] * len(sockets)
