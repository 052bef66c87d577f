"""`tacid engine run` as a process of its own, as a unit would start it: what systemd hears, and who may ask."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.run import command, descendants, environment, gone, tacid
from tests.engine.random_model import make_random_model
from tests.notified import Manager, notified

pytestmark = [pytest.mark.engine, pytest.mark.model]


class Unit:
    """A running unit."""

    def __init__(self, home: Path, manager: Manager, *arguments: str, **settings: str) -> None:
        self.manager = manager
        self.runtime = home / "run"
        self.runtime.mkdir(parents=True)
        self.told = home / "stderr"
        self.below: list[int] = []
        engine = {"TACID_ENGINE__THREADS": "1", "TACID_ENGINE__CONTEXT": "1024", "NOTIFY_SOCKET": manager.address}
        env = environment(home, RUNTIME_DIRECTORY=str(self.runtime), WATCHDOG_USEC="1000000", **engine, **settings)
        with self.told.open("wb") as file:
            self.running = subprocess.Popen(
                command("engine", "run", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env=env,
                start_new_session=True,
            )

    @property
    def socket(self) -> Path:
        return self.runtime / "engine.sock"

    def words(self) -> str:
        return self.told.read_text(encoding="utf-8")

    def status(self, words: str, times: int = 1) -> None:
        """Wait until a status with these words was told."""
        told = self.manager
        told.until(lambda: sum(words in value for value in told.values("STATUS")) >= times, why=self.words)

    def ready(self) -> None:
        """Wait until it says that it is ready."""
        self.manager.until(lambda: self.manager.values("READY") or self.running.poll() is not None, why=self.words)
        assert self.manager.values("READY") == ["1"], self.words()
        self.below = descendants(self.running.pid)

    @property
    def engine(self) -> int:
        """The process of the engine itself, under its guard."""
        return descendants(self.running.pid)[-1]

    def ask(self, path: str, **body: object) -> httpx.Response:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(self.socket)), timeout=60) as http:
            return http.post(f"http://engine{path}", json=body) if body else http.get(f"http://engine{path}")

    def end(self, number: signal.Signals) -> int:
        self.running.send_signal(number)
        return self.running.wait(30)


@contextmanager
def unit(tmp_path: Path, *arguments: str, **settings: str) -> Iterator[Unit]:
    with notified(tmp_path) as manager:
        made = Unit(tmp_path / "home", manager, *arguments, **settings)
        try:
            yield made
        finally:
            made.running.kill()
            made.running.wait()
            assert gone(made.below)


def test_it_is_ready_when_it_answers_at_its_socket_and_ends_with_it(tmp_path: Path, random_model: Path) -> None:
    with unit(tmp_path, TACID_MODEL__NAME=str(random_model)) as made:
        made.ready()
        names = [name for name, _ in made.manager.told]
        assert "WATCHDOG" in names
        assert "STOPPING" not in names
        [words] = [value for value in made.manager.values("STATUS") if value.startswith("Serving ")]
        assert "random.gguf, 1,024 tokens of context, 1 at a time" in words
        assert stat.S_ISSOCK(made.socket.stat().st_mode)
        assert made.socket.stat().st_mode & 0o022 == 0, "who may write to it may ask"
        assert made.ask("/health").status_code == 200
        assert made.ask("/completion", prompt="x", n_predict=2).status_code == 200, "no key is needed"
        beats = len(made.manager.values("WATCHDOG"))
        made.manager.until(lambda: len(made.manager.values("WATCHDOG")) > beats + 2)
        assert made.end(signal.SIGTERM) == 0
        assert [name for name, _ in made.manager.told if name in ("READY", "STOPPING")] == ["READY", "STOPPING"]
        assert not made.socket.exists()
        assert gone(made.below)
        assert "Traceback" not in made.words()


def test_an_engine_that_is_killed_or_hangs_is_started_again_and_both_are_told(
    tmp_path: Path, random_model: Path
) -> None:
    settings = {"TACID_MODEL__NAME": str(random_model), "TACID_ENGINE__PROBE_AFTER": "0.2"}
    with unit(tmp_path, **settings) as made:
        made.ready()
        os.kill(made.engine, signal.SIGKILL)
        made.status("The engine is started again: it was killed")
        made.status("Serving ", 2)
        assert made.ask("/completion", prompt="x", n_predict=2).status_code == 200
        os.kill(made.engine, signal.SIGSTOP)
        made.status("it was wedged")
        made.status("Serving ", 3)
        assert made.ask("/completion", prompt="x", n_predict=2).status_code == 200
        assert made.manager.values("READY") == ["1"]
        assert made.running.poll() is None
        assert made.end(signal.SIGINT) == 130


@pytest.mark.parametrize("what", ["missing", "junk", "ends"])
def test_one_that_can_not_start_ends_with_a_sentence(tmp_path: Path, random_model: Path, what: str) -> None:
    model = {"missing": tmp_path / "none.gguf", "junk": tmp_path / "junk.gguf", "ends": random_model}[what]
    (tmp_path / "junk.gguf").write_bytes(b"no model" * 100)
    broken = tmp_path / "llama-server"
    broken.write_text("#!/bin/sh\necho 'tacid: the card is not there' >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    settings = {"TACID_MODEL__NAME": str(model), "TACID_ENGINE__RESTARTS": "1"}
    if what == "ends":
        settings["TACID_ENGINE__BINARY"] = str(broken)
    with unit(tmp_path, **settings) as made:
        assert made.running.wait(60) == 1
        last = made.words().strip().splitlines()[-1]
        assert last.startswith("tacid: ")
        assert ("the card is not there" if what == "ends" else model.name) in last
        assert "Traceback" not in made.words()
        assert made.manager.values("READY") == []


def test_a_name_takes_the_model_and_the_socket_of_its_table(tmp_path: Path, smollm2: Path) -> None:
    home = tmp_path / "home"
    environment(home)
    (home / "models").mkdir()
    model = make_random_model(home / "models" / "large.gguf", smollm2)
    socket = tmp_path / "large.sock"
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write(
            f'[[endpoints]]\nname = "large"\nkind = "local"\nurl = "unix://{socket}"\nmodel = "{model}"\n'
            '[[endpoints]]\nname = "hosted"\nkind = "remote"\nurl = "http://127.0.0.1:9"\nfallback = true\n'
        )
    with unit(tmp_path, "--name", "large") as made:
        made.ready()
        assert made.ask("/props").json()["model_path"] == str(model)
        assert made.end(signal.SIGTERM) == 0
    env = {**environment(home), "RUNTIME_DIRECTORY": ""}
    with notified(home) as manager:
        elsewhere = subprocess.Popen(
            command("engine", "run", "--name", "large"), env={**env, "NOTIFY_SOCKET": manager.address}
        )
        try:
            manager.until(lambda: manager.values("READY"))
            assert socket.is_socket(), "without a directory of the unit, the URL says where"
        finally:
            elsewhere.terminate()
            elsewhere.wait()
    ran = tacid("engine", "run", "--name", "hosted", env=env)
    assert ran.code == 1
    assert 'of kind "local" called "hosted" (there: large)' in ran.complaint()


def test_it_says_when_nothing_says_where_to_listen(tmp_path: Path, random_model: Path) -> None:
    env = environment(tmp_path / "home", TACID_MODEL__NAME=str(random_model), RUNTIME_DIRECTORY="")
    env["TACID_ENGINE__URL"] = "http://127.0.0.1:8080"
    assert "give --socket /run/tacid-engine/engine.sock" in tacid("engine", "run", env=env).complaint()
    assert "ends in .sock" in tacid("engine", "run", "--socket", "engine", env=env).complaint()
