"""Engines are started, explain why they would not, and never outlive us."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from tacid.chat import Sampling
from tacid.config import EngineConfig
from tacid.engine import process
from tacid.engine.find import EngineSpec
from tacid.engine.process import Engine, start_engine
from tacid.errors import EngineDied, EngineStartError, InputError, ModelError

pytestmark = [pytest.mark.engine, pytest.mark.model]

SMALL = EngineConfig(context=1024, threads=1)


def running(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


async def gone(pid: int | None, seconds: float = 6.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not running(pid):
            return True
        await asyncio.sleep(0.02)
    return False


def script(path: Path, text: str) -> EngineSpec:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return EngineSpec("binary", str(path))


async def failed_start(spec: EngineSpec, model: Path, config: EngineConfig = SMALL) -> str:
    with pytest.raises(EngineStartError) as caught:
        async with start_engine(spec, model, config):
            pass
    message = str(caught.value)
    assert "\n" not in message
    return message


async def test_a_started_engine_answers_tells_its_build_and_ends(engine_spec: EngineSpec, random_model: Path) -> None:
    heard: list[str] = []
    async with start_engine(engine_spec, random_model, SMALL, on_progress=heard.append) as engine:
        assert engine.alive
        assert engine.context == 1024
        assert engine.build
        assert running(engine.pid)
        assert heard[0].startswith("Starting")
        assert heard[-1] == "Ready"
    assert await gone(engine.pid)
    assert not engine.alive


async def test_the_context_holds_for_each_slot(engine: Engine) -> None:
    assert engine.slots == 2
    assert engine.context == 8192


async def test_the_key_is_in_no_command_line_and_without_it_nothing_is_answered(engine: Engine) -> None:
    client = engine.client
    key = client._http.headers["Authorization"].removeprefix("Bearer ")
    assert len(key) > 30
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                assert key.encode() not in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    assert await client.knows_key()


async def test_a_unix_socket_is_cleared_used_and_removed(
    engine_spec: EngineSpec, random_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    async with start_engine(engine_spec, random_model, SMALL, socket=path) as engine:
        assert path.is_socket()
        assert await engine.client.tokenize("hi", special=False)
        with pytest.raises(EngineStartError, match="in use by another engine"):
            async with start_engine(engine_spec, random_model, SMALL, socket=path):
                pass
        assert path.is_socket()
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")
async def test_a_socket_of_somebody_else_says_whom_to_ask_instead(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        path.chmod(0o600)
        os.seteuid(65534)
        try:
            with pytest.raises(EngineStartError, match=r"not for this user to ask .*--engine auto"):
                async with start_engine(EngineSpec("url", f"unix://{path}"), None, SMALL):
                    pass
        finally:
            os.seteuid(0)


@pytest.mark.parametrize("name", ["relative.sock", "/tmp/no-ending", "/" + "x" * 120 + ".sock"])
async def test_a_socket_that_cannot_be_is_refused(engine_spec: EngineSpec, random_model: Path, name: str) -> None:
    with pytest.raises(InputError, match="must be an absolute path"):
        async with start_engine(engine_spec, random_model, SMALL, socket=Path(name)):
            pass


async def test_a_file_in_the_way_of_a_socket_is_left_alone(
    engine_spec: EngineSpec, random_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "notes.sock"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="remove it"):
        async with start_engine(engine_spec, random_model, SMALL, socket=path):
            pass
    assert path.read_text(encoding="utf-8") == "mine"


PARENT = """
import asyncio, sys
from pathlib import Path
from tacid.config import EngineConfig
from tacid.engine.find import EngineSpec
from tacid.engine.process import start_engine

async def main():
    spec = EngineSpec(sys.argv[1], sys.argv[2])
    async with start_engine(spec, Path(sys.argv[3]), EngineConfig(context=1024, threads=1)) as engine:
        print(engine.pid, engine._child.process.pid, flush=True)
        await asyncio.sleep(60)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def parent(spec: EngineSpec, model: Path) -> tuple[subprocess.Popen[str], int, int]:
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT, spec.kind, spec.where, str(model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout is not None
    engine, guard = started.stdout.readline().split()
    return started, int(engine), int(guard)


async def test_an_engine_goes_when_we_are_killed_hard(engine_spec: EngineSpec, random_model: Path) -> None:
    ours, engine, guard = parent(engine_spec, random_model)
    assert running(engine)
    ours.kill()
    ours.communicate()
    assert await gone(engine)
    assert await gone(guard)


async def test_an_engine_goes_even_when_its_guard_is_killed_hard(engine_spec: EngineSpec, random_model: Path) -> None:
    ours, engine, guard = parent(engine_spec, random_model)
    os.kill(guard, signal.SIGKILL)
    assert await gone(engine)
    ours.kill()
    ours.communicate()


async def test_a_stopped_engine_goes_when_we_are_killed_hard(engine_spec: EngineSpec, random_model: Path) -> None:
    ours, engine, _ = parent(engine_spec, random_model)
    os.kill(engine, signal.SIGSTOP)
    ours.kill()
    ours.communicate()
    assert await gone(engine)


async def test_ctrl_c_ends_the_engine_in_order_and_without_noise(engine_spec: EngineSpec, random_model: Path) -> None:
    ours, engine, guard = parent(engine_spec, random_model)
    os.killpg(ours.pid, signal.SIGINT)
    out, noise = ours.communicate(timeout=15)
    assert out.strip() == "interrupted"
    assert noise == ""
    assert await gone(engine)
    assert await gone(guard)


async def test_ctrl_c_while_the_engine_starts_leaves_nothing(random_model: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    spec = script(tmp_path / "slow-server", f"echo $$ > {pid_file}; exec sleep 60")
    task = asyncio.create_task(_enter(spec, random_model))
    while not (pid_file.exists() and pid_file.read_text(encoding="utf-8").strip()):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int(pid_file.read_text(encoding="utf-8")))


async def _enter(spec: EngineSpec, model: Path) -> None:
    async with start_engine(spec, model, SMALL):
        pass


async def test_what_a_wrapper_script_started_ends_with_it(random_model: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    spec = script(tmp_path / "wrapper", f"sleep 60 & echo $! > {pid_file}; wait")
    message = await failed_start(spec, random_model, EngineConfig(start_timeout=1.0))
    assert "was not ready after 1 seconds" in message
    assert "engine.start_timeout" in message
    assert await gone(int(pid_file.read_text(encoding="utf-8")))


async def test_an_engine_killed_in_mid_reply_is_an_error_that_says_so(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with start_engine(engine_spec, random_model, SMALL) as engine:
        sampling = Sampling(max_tokens=900, temperature=1.0)
        with pytest.raises(EngineDied, match=r"ended in the middle of the reply: it was killed \(SIGKILL\)"):
            async with aclosing(engine.client.complete(["x"], grammar=None, sampling=sampling)) as pieces:
                assert engine.pid is not None
                await anext(pieces)
                os.kill(engine.pid, signal.SIGKILL)
                async for _ in pieces:
                    pass
        with pytest.raises(EngineDied, match="isn't there"):
            await engine.client.tokenize("x", special=False)
        assert not engine.alive


async def test_a_wedged_engine_is_noticed_and_can_still_be_stopped(engine_spec: EngineSpec, random_model: Path) -> None:
    config = EngineConfig(context=1024, threads=1, reply_timeout=0.7)
    async with start_engine(engine_spec, random_model, config) as engine:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(EngineDied, match=r"wedged: no sign of life for 0\.7 seconds"):
            async with aclosing(engine.client.complete(["x"], grammar=None, sampling=Sampling(max_tokens=5))) as pieces:
                async for _ in pieces:
                    pass
        assert time.monotonic() - begun < 5
    assert await gone(engine.pid)


async def test_the_port_is_taken_and_another_one_is_chosen(
    engine_spec: EngineSpec, random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        real = process._free_port
        monkeypatch.setattr(process, "_free_port", lambda: ports.pop() if ports else real())
        async with start_engine(engine_spec, random_model, SMALL) as engine:
            assert await engine.client.tokenize("hi", special=False)


async def test_a_port_that_stays_taken_is_said(
    engine_spec: EngineSpec, random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(process, "_free_port", lambda: taken.getsockname()[1])
        assert "the port is taken" in await failed_start(engine_spec, random_model)


async def test_a_model_that_is_none_is_refused_before_anything_starts(
    engine_spec: EngineSpec, smollm2: Path, tmp_path: Path
) -> None:
    whole = smollm2.read_bytes()[:3_000_000]
    cases = {
        "missing.gguf": (None, "does not exist"),
        "empty.gguf": (b"", "is empty"),
        "junk.gguf": (b"PK\x03\x04" + bytes(5000), "is no GGUF file"),
        "cut.gguf": (whole, "is cut short"),
        "head.gguf": (whole[:700], "is cut short"),
    }
    for name, (content, words) in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelError, match=words) as caught:
            async with start_engine(engine_spec, path, SMALL):
                pass
        assert str(path) in str(caught.value)


async def test_flipped_bytes_are_noticed(engine_spec: EngineSpec, random_model: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    shutil.copyfile(random_model, damaged)
    with damaged.open("r+b") as file:
        file.seek(-200_000, os.SEEK_END)
        file.write(b"\xff" * 150_000)
    assert "damaged" in await failed_start(engine_spec, damaged)


async def test_too_little_memory_is_said(engine_spec: EngineSpec, smollm2: Path, tmp_path: Path) -> None:
    binary = engine_spec.where if engine_spec.kind == "binary" else f"{sys.executable} -P -m tacid.engine.child"
    spec = script(tmp_path / "limited", f'ulimit -v 4000000; exec {binary} "$@"')
    # 64 slots of 8,192 tokens want 12 GB for their caches.
    message = await failed_start(spec, smollm2, EngineConfig(context=8192, slots=64, threads=1))
    assert "not enough memory" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kill -ILL $$", "the CPU lacks instructions"),
        ("kill -KILL $$", "it was killed (SIGKILL), by hand or because memory ran out"),
        ("kill -SEGV $$", "it crashed (SIGSEGV)"),
        ("echo 'error: invalid argument: --webui' >&2; exit 1", "does not know the argument --webui"),
        ("echo terminate called: std::bad_alloc >&2; kill -ABRT $$", "not enough memory"),
        (
            "echo 'llama-server: error while loading shared libraries: libgomp.so.1: cannot open shared object file' >&2; exit 127",
            "apt install libgomp1",
        ),
        ("echo \"unknown model architecture: 'new'\" >&2; exit 1", "does not know models of the kind new"),
        ("echo something odd >&2; exit 3", "it ended with code 3 (last line of its log: something odd)"),
    ],
)
async def test_the_reason_of_an_end_is_one_sentence(random_model: Path, tmp_path: Path, text: str, words: str) -> None:
    message = await failed_start(script(tmp_path / "server", text), random_model)
    assert words in message
    assert message.startswith(str(tmp_path / "server"))
    assert message.endswith(".")


async def test_what_cannot_be_executed_says_so(random_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "server"
    path.write_bytes(b"\x7fELF junk")
    path.chmod(0o755)
    assert "can't be run" in await failed_start(EngineSpec("binary", str(path)), random_model)


async def test_variables_that_set_flags_do_not_reach_the_engine(
    engine_spec: EngineSpec, random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "512")
    monkeypatch.setenv("LLAMA_API_KEY", "known")
    async with start_engine(engine_spec, random_model, SMALL) as engine:
        assert engine.context == 1024
        assert engine.client._http.headers["Authorization"] != "Bearer known"


async def test_a_loud_engine_is_kept_within_bounds(random_model: Path, tmp_path: Path) -> None:
    spec = script(
        tmp_path / "loud", "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; yes line | head -n 50000 >&2; exit 5"
    )
    message = await failed_start(spec, random_model)
    assert "code 5" in message
    assert len(message) < 1000


async def test_an_engine_that_runs_already_is_joined(engine: Engine) -> None:
    key = engine.client._http.headers["Authorization"].removeprefix("Bearer ")
    url = str(engine.client.url)
    spec = EngineSpec("url", url)
    async with start_engine(spec, None, EngineConfig(url=url, key=key)) as joined:
        assert joined.pid is None
        assert joined.context == engine.context
        assert await joined.client.tokenize("hi", special=False)
    assert engine.alive


async def test_an_engine_that_is_not_there_or_wants_a_key_says_so(engine: Engine) -> None:
    url = str(engine.client.url)
    with pytest.raises(Exception, match=r"set engine\.key"):
        async with start_engine(EngineSpec("url", url), None, EngineConfig(url=url)):
            pass
    with pytest.raises(EngineStartError, match=r"Nothing answers at http://127\.0\.0\.1:9"):
        async with start_engine(EngineSpec("url", "http://127.0.0.1:9"), None, EngineConfig(url="http://127.0.0.1:9")):
            pass
