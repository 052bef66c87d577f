"""Engines that die, wedge, won't start or go away, and the one who keeps them running."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import pytest

from tacid.chat import Sampling
from tacid.config import EngineConfig
from tacid.engine import supervise
from tacid.engine.client import Piece
from tacid.engine.find import EngineSpec
from tacid.engine.memory import in_limited_cgroup, memory_limit
from tacid.engine.process import Engine, start_engine
from tacid.engine.supervise import State, Supervisor
from tacid.engine.watch import PATIENCE
from tacid.errors import EngineDied, EngineError, EngineStartError, GrammarRefused
from tests.engine.test_process import gone, running, script

pytestmark = [pytest.mark.engine, pytest.mark.model]

SMALL = EngineConfig(context=4096, threads=1, probe_after=1.0)
#: Seconds for a start on a machine that does other work as well; the bounds that are promised stand beside it.
START = 20.0
#: Random weights write bytes that are no UTF-8, at which llama-server (b10434) refuses to go on; letters never are.
LETTERS = "root ::= [a-z ]+"


class Heard(list[State]):
    """The states that were told."""

    @property
    def names(self) -> list[str]:
        return [state.name for state in self]


@asynccontextmanager
async def kept(
    spec: EngineSpec, model: Path | None, config: EngineConfig = SMALL
) -> AsyncIterator[tuple[Supervisor, Heard]]:
    heard = Heard()
    async with Supervisor(spec, model, config, on_change=heard.append) as supervisor:
        yield supervisor, heard
    assert supervisor.state.name == "stopped"


def endless(tokens: int) -> Sampling:
    """Sampling that only ends at its limit: SmolLM2's two tokens that end a text never come."""
    return Sampling(max_tokens=tokens, temperature=1.0, seed=1, logit_bias=((0, -math.inf), (2, -math.inf)))


async def written(engine: Engine, prompt: str = "x", tokens: int = 2) -> float:
    """Complete a prompt; how many of its tokens the engine had to read."""
    read = -1.0
    async with aclosing(engine.client.complete([prompt], grammar=LETTERS, sampling=endless(tokens))) as pieces:
        async for piece in pieces:
            if piece.end is not None:
                read = piece.end.timings["prompt_n"]
    return read


def kill(engine: Engine, number: signal.Signals = signal.SIGKILL) -> int:
    assert engine.pid is not None
    with suppress(ProcessLookupError):
        os.kill(engine.pid, number)
    return engine.pid


async def until(condition: object, seconds: float = START) -> None:
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def test_an_engine_killed_while_idle_is_there_again_for_the_next_request(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with kept(engine_spec, random_model) as (supervisor, heard):
        first = await supervisor.wait_ready(START)
        assert supervisor.engine is first
        kill(first)
        begun = time.monotonic()
        await until(lambda: not first.alive)
        second = await supervisor.wait_ready(START)
        took = time.monotonic() - begun
        assert second is not first
        assert await written(second) > 0
        assert took < 6.0, "3 s are promised, on a machine that does nothing else"
        assert heard.names == ["ready", "restarting", "ready"]
        assert "it was killed (SIGKILL)" in heard[1].reason
        assert supervisor.restarts == 1
    assert await gone(second.pid)


@pytest.mark.parametrize("phase", ["prefill", "completion"])
async def test_a_request_in_flight_is_told_and_the_next_one_is_served(
    engine_spec: EngineSpec, random_model: Path, phase: str
) -> None:
    config = SMALL.model_copy(update={"batch": 16})
    async with kept(engine_spec, random_model, config) as (supervisor, _):
        engine = await supervisor.wait_ready(START)
        prompt = "word " * (3900 if phase == "prefill" else 3)

        def read(done: int, total: int) -> None:
            if phase == "prefill" and 0 < done < total:
                kill(engine)

        with pytest.raises(EngineDied, match=r"ended in the middle of the reply: it was killed \(SIGKILL\)"):
            async with aclosing(
                engine.client.complete([prompt], grammar=LETTERS, sampling=endless(3000), on_progress=read)
            ) as pieces:
                async for _ in pieces:
                    assert phase == "completion"
                    kill(engine)
        assert await written(await supervisor.wait_ready(START)) > 0


async def test_a_stopped_engine_is_found_ended_and_started_again_idle_or_busy(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with kept(engine_spec, random_model) as (supervisor, heard):
        for busy in (False, True):
            engine = await supervisor.wait_ready(START)
            await written(engine, "word " * 500)  # so that its speed is known
            request = asyncio.create_task(written(engine, tokens=3000)) if busy else None
            await asyncio.sleep(0.1)
            child = engine._child
            assert child is not None
            heard.clear()
            pid = kill(engine, signal.SIGSTOP)
            begun = time.monotonic()
            await until(lambda: "wedged" in heard.names)
            found = time.monotonic() - begun
            if request is not None:
                with pytest.raises(EngineDied, match=r"it was wedged \(no progress for \d+ seconds"):
                    await request
            again = await supervisor.wait_ready(START)
            assert await written(again) > 0
            assert await gone(pid)
            assert not running(child.process.pid)
            assert SMALL.probe_after - 0.5 < found < SMALL.probe_after + PATIENCE + 6.0
            assert time.monotonic() - begun - found < 6.0, "3 s are promised, on a machine that does nothing else"
            assert heard.names == ["wedged", "restarting", "ready"]
        assert supervisor.restarts == 2


async def test_an_idle_engine_is_asked_for_a_token_and_loses_no_cache(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    config = SMALL.model_copy(update={"probe_after": 0.2, "slots": 2})
    async with kept(engine_spec, random_model, config) as (supervisor, heard):
        engine = await supervisor.wait_ready(START)
        signs = engine.client.signs
        await until(lambda: signs.held, 5.0)  # nobody but the prober asked
        assert await written(engine, "first " * 300, tokens=40) > 290
        assert await written(engine, "word " * 400, tokens=40) > 390
        held = dict(signs.held)
        (last, holding) = list(held.items())[-1]
        before = (await engine.client.slots())[last]
        assert before["n_prompt_tokens"] == holding.tokens > 400 + 38
        seen = signs.last
        await until(lambda: signs.last > seen + 0.2, 5.0)
        after = (await engine.client.slots())[last]
        assert after["id_task"] > before["id_task"], "the prober asked this slot"
        assert after["n_prompt_tokens"] == before["n_prompt_tokens"]
        assert dict(signs.held) == held
        assert await written(engine, "word " * 400, tokens=1) == 1
        assert await written(engine, "first " * 300, tokens=1) == 1
        assert heard.names == ["ready"]


async def test_a_slow_engine_that_gets_on_is_not_taken_for_a_wedge(engine_spec: EngineSpec, random_model: Path) -> None:
    config = SMALL.model_copy(update={"probe_after": 0.3, "batch": 64})
    async with kept(engine_spec, random_model, config) as (supervisor, heard):
        engine = await supervisor.wait_ready(START)
        request = asyncio.create_task(written(engine, "word " * 3900, tokens=100))
        begun = time.monotonic()
        # Runs a hundredth of the time: far longer silences than probe_after, reading and sampling.
        while not request.done() and time.monotonic() - begun < 3.0:
            kill(engine, signal.SIGSTOP)
            await asyncio.sleep(0.9)
            kill(engine, signal.SIGCONT)
            await asyncio.sleep(0.01)
        assert await request > 3000
        assert heard.names == ["ready"]


async def test_an_engine_that_sleeps_when_idle_is_not_kept_awake(engine_spec: EngineSpec, random_model: Path) -> None:
    config = SMALL.model_copy(update={"probe_after": 0.1, "extra_args": ("--sleep-idle-seconds", "1")})
    async with kept(engine_spec, random_model, config) as (supervisor, heard):
        engine = await supervisor.wait_ready(START)
        last = engine.client.signs.last
        await asyncio.sleep(0.5)
        assert engine.client.signs.last == last
        assert await written(engine) > 0
        assert heard.names == ["ready"]


async def test_an_engine_that_dies_at_each_start_is_given_up_with_the_reason_until_it_is_repaired(
    engine_spec: EngineSpec, random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "RETRY", 0.5)
    program = tmp_path / "server"
    count = tmp_path / "count"
    spec = script(program, f"echo x >> {count}; echo 'error: invalid argument: --webui' >&2; exit 1")
    config = SMALL.model_copy(update={"restarts": 2})
    async with kept(spec, random_model, config) as (supervisor, heard):
        with pytest.raises(EngineStartError, match="does not know the argument --webui") as caught:
            await supervisor.wait_ready(START)
        assert "given up" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert heard.names == ["restarting", "failed"]
        assert len(count.read_text(encoding="utf-8").split()) == 3
        begun = time.monotonic()
        with pytest.raises(EngineStartError, match="does not know the argument"):
            await supervisor.wait_ready(START)
        assert time.monotonic() - begun < 0.1, "within a few seconds nobody tries again"
        with pytest.raises(EngineStartError):
            _ = supervisor.engine
        assert len(count.read_text(encoding="utf-8").split()) == 3
        binary = engine_spec.where if engine_spec.kind == "binary" else f"{sys.executable} -P -m tacid.engine.child"
        script(program, f'exec {binary} "$@"')
        await until(lambda: time.monotonic() - supervisor.state.since > supervise.RETRY)
        assert await written(await supervisor.wait_ready(START)) > 0


async def test_a_model_that_is_missing_is_said_at_once_and_taken_when_it_is_there(
    engine_spec: EngineSpec, random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "RETRY", 0.2)
    model = tmp_path / "model.gguf"
    async with kept(engine_spec, model) as (supervisor, heard):
        with pytest.raises(EngineStartError, match="does not exist; fetch one"):
            await supervisor.wait_ready(START)
        assert heard.names == ["failed"]
        shutil.copyfile(random_model, model)
        await until(lambda: time.monotonic() - supervisor.state.since > supervise.RETRY)
        assert await written(await supervisor.wait_ready(START)) > 0


async def test_who_waits_too_long_hears_what_is_being_done(random_model: Path, tmp_path: Path) -> None:
    async with kept(script(tmp_path / "slow", "exec sleep 60"), random_model) as (supervisor, _):
        with pytest.raises(EngineStartError, match="is starting; ask again in a moment"):
            await supervisor.wait_ready(0.3)


async def test_leaving_while_it_starts_or_waits_leaves_nothing(random_model: Path, tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    pid_file = tmp_path / "pid"
    async with kept(script(tmp_path / "slow", f"echo $$ > {pid_file}; exec sleep 60"), random_model) as (supervisor, _):
        waiting = asyncio.create_task(supervisor.wait_ready())
        await until(lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8").strip())
    with pytest.raises(EngineDied, match="was stopped"):
        await waiting
    assert await gone(int(pid_file.read_text(encoding="utf-8")))
    assert asyncio.all_tasks() <= before


async def test_an_engine_that_is_not_ours_goes_and_comes_back_and_is_never_ended(
    engine_spec: EngineSpec, random_model: Path, tmp_path: Path
) -> None:
    port, log = _free_port(), tmp_path / "log"
    config = SMALL.model_copy(update={"url": f"http://127.0.0.1:{port}"})
    spec = EngineSpec("url", str(config.url))
    async with kept(spec, None, config) as (supervisor, heard):
        with pytest.raises(EngineError, match="Nothing answers at"):
            await supervisor.wait_ready(0.5)
        with _foreign(engine_spec, random_model, port, log) as first:
            engine = await supervisor.wait_ready(START)
            assert engine.pid is None
            assert await written(engine, "word " * 900) > 0
            first.send_signal(signal.SIGSTOP)
            await until(lambda: supervisor.state.name == "wedged")
            with pytest.raises(EngineDied, match="gets nothing done"):
                _ = supervisor.engine
            assert first.poll() is None
            first.send_signal(signal.SIGCONT)
            engine = await supervisor.wait_ready(START)
            assert await written(engine) > 0
        await until(lambda: supervisor.state.name == "restarting")
        with _foreign(engine_spec, random_model, port, log) as second:
            assert await written(await supervisor.wait_ready(START)) > 0
            assert supervisor.restarts == 1
        assert second.returncode is not None
        assert heard.names[:5] == ["restarting", "ready", "wedged", "ready", "restarting"]


async def test_an_engine_that_a_grammar_has_wedged_is_ended_and_the_next_request_is_served(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with kept(engine_spec, random_model) as (supervisor, _):
        engine = await supervisor.wait_ready(START)
        await written(engine, "word " * 500)
        # No grammar of ours can be so; it is the engine's own way to hang, with /health at 200.
        stream = engine.client.complete(
            ["x"], grammar="root ::= ([a-z]{0,40}){0,40}", sampling=Sampling(max_tokens=50, seed=1)
        )
        request = asyncio.create_task(_drained(stream))
        await until(lambda: supervisor.state.name != "ready" or request.done())
        with pytest.raises(EngineDied, match="it was wedged"):
            await request
        assert await written(await supervisor.wait_ready(START)) > 0


async def _drained(stream: AsyncGenerator[Piece, None]) -> None:
    async with aclosing(stream) as pieces:
        async for _ in pieces:
            pass


async def test_a_grammar_whose_reading_runs_away_is_stopped_at_the_limit(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    config = SMALL.model_copy(update={"memory_limit": 300, "context": 512})
    async with start_engine(engine_spec, random_model, config) as engine:
        with pytest.raises((GrammarRefused, EngineDied)):
            await _drained(engine.client.complete(["x"], grammar='root ::= "a"{3,1}', sampling=Sampling(max_tokens=3)))
        limits = Path(f"/proc/{engine.pid}/limits")
        if engine.alive and limits.exists():
            assert await written(engine) > 0
            (line,) = [row for row in limits.read_text(encoding="utf-8").splitlines() if row.startswith("Max data")]
            assert line.split()[3] == str(300 * 2**20)


async def test_too_low_a_limit_is_said_at_the_start(engine_spec: EngineSpec, random_model: Path) -> None:
    config = SMALL.model_copy(update={"memory_limit": 64, "context": 8192, "slots": 64})
    with pytest.raises(EngineStartError, match="not enough memory"):
        async with start_engine(engine_spec, random_model, config):
            pass


def test_a_limit_of_the_cgroup_makes_ours_needless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.write_text("0::/system.slice/tacid.service\n", encoding="utf-8")
    service = tmp_path / "system.slice" / "tacid.service"
    service.mkdir(parents=True)
    (service / "memory.max").write_text("max\n", encoding="utf-8")
    assert not in_limited_cgroup(tmp_path, own)
    (service.parent / "memory.max").write_text("1000000\n", encoding="utf-8")
    assert in_limited_cgroup(tmp_path, own)
    monkeypatch.setattr("tacid.engine.memory.in_limited_cgroup", lambda: True)
    assert memory_limit(EngineConfig()) is None
    assert memory_limit(EngineConfig(memory_limit=100)) == 100 * 2**20
    monkeypatch.setattr("tacid.engine.memory.in_limited_cgroup", lambda: False)
    assert (memory_limit(EngineConfig()) or 0) > 2**28


PARENT = """
import asyncio, sys
from pathlib import Path
from tacid.config import EngineConfig
from tacid.engine import supervise
from tacid.engine.client import Piece
from tacid.engine.find import EngineSpec
from tacid.engine.supervise import Supervisor

async def main():
    spec = EngineSpec(sys.argv[1], sys.argv[2])
    async with Supervisor(spec, Path(sys.argv[3]), EngineConfig(context=1024, threads=1)) as supervisor:
        print((await supervisor.wait_ready(30)).pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def parent(spec: EngineSpec, model: Path) -> tuple[subprocess.Popen[str], int]:
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT, spec.kind, spec.where, str(model)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    return started, int(started.stdout.readline())


async def test_a_supervisor_that_is_killed_leaves_no_engine(engine_spec: EngineSpec, random_model: Path) -> None:
    ours, pid = parent(engine_spec, random_model)
    ours.kill()
    ours.communicate()
    assert await gone(pid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _foreign(spec: EngineSpec, model: Path, port: int, log: Path) -> subprocess.Popen[bytes]:
    """An engine that somebody else started; as a context it is ended on leaving."""
    program = [spec.where] if spec.kind == "binary" else [sys.executable, "-P", "-m", "tacid.engine.child"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--ctx-size", "1024", "--threads", "1", "--parallel", "1"]

    class Foreign(subprocess.Popen[bytes]):
        def __exit__(self, *details: object) -> None:
            self.kill()
            super().__exit__(None, None, None)

    with log.open("ab") as file:
        return Foreign([*program, "--model", str(model), *options], stdout=file, stderr=file)


async def test_an_engine_that_is_let_rest_is_gone_until_it_is_wanted(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with kept(engine_spec, random_model) as (supervisor, heard):
        first = await supervisor.wait_ready(START)
        assert supervisor.let_rest()
        assert supervisor.state.name == "resting"
        with pytest.raises(EngineStartError, match="rests; the next request starts it"):
            _ = supervisor.engine
        async with asyncio.timeout(START):
            await supervisor.resting()
        assert await gone(first.pid)
        await asyncio.sleep(0.3)
        assert supervisor.state.name == "resting", "nobody asked"
        second = await supervisor.wait_ready(START)
        assert await written(second) > 0
        assert supervisor.restarts == 0, "a rest is no failure"
        assert heard.names == ["ready", "resting", "starting", "ready"]


async def test_who_asks_while_an_engine_is_being_put_to_rest_gets_the_next_one(
    engine_spec: EngineSpec, random_model: Path
) -> None:
    async with kept(engine_spec, random_model) as (supervisor, _):
        first = await supervisor.wait_ready(START)
        assert supervisor.let_rest()
        second = await supervisor.wait_ready(START)
        async with asyncio.timeout(START):
            await supervisor.resting()  # it doesn't any more
        assert second is not first
        assert await written(second) > 0
        kill(second)
        await until(lambda: not second.alive)
        assert await written(await supervisor.wait_ready(START)) > 0
        assert supervisor.restarts == 1


async def test_only_an_engine_that_is_ready_and_ours_is_let_rest(engine_spec: EngineSpec, random_model: Path) -> None:
    async with start_engine(engine_spec, random_model, SMALL) as other:
        config = EngineConfig(url=other.client.url, key=other.client.key)
        async with kept(EngineSpec("url", other.client.url, "an engine"), None, config) as (supervisor, _):
            await supervisor.wait_ready(START)
            assert not supervisor.let_rest()
            assert supervisor.state.name == "ready"
    async with kept(engine_spec, random_model) as (supervisor, _):
        await asyncio.sleep(0.01)
        assert not supervisor.let_rest(), "it is only starting"
