"""`tacid serve` as a unit starts it: what systemd hears, and what SIGHUP has read again while requests are open."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tacid.engine.process import Engine
from tests.cli.run import command, environment
from tests.faults.asking import letters
from tests.faults.test_process import free_port
from tests.notified import Manager, notified

pytestmark = [pytest.mark.engine, pytest.mark.model]

ONE, TWO = "first-key-0123456789", "second-key-0123456789"


class Unit:
    """A running unit, with the credential and the directories that systemd gives it."""

    def __init__(self, home: Path, manager: Manager, engine: Engine) -> None:
        self.home, self.manager = home, manager
        for name in ("run", "state", "credentials"):
            (home / name).mkdir(parents=True)
        self.keys = home / "credentials" / "keys"
        self.keys.write_text("# none", encoding="utf-8")
        self.services = home / "services.json"
        self.services.write_text('["nginx"]', encoding="utf-8")
        port = free_port()
        env = environment(
            home,
            NOTIFY_SOCKET=manager.address,
            WATCHDOG_USEC="1000000",
            RUNTIME_DIRECTORY=str(home / "run"),
            CREDENTIALS_DIRECTORY=str(home / "credentials"),
            TACID_ENGINE__URL=engine.client.url,
            TACID_ENGINE__KEY=engine.client.key or "",
            TACID_MACHINE__SERVICES=str(self.services),
            TACID_MODEL__ALIASES='{"helper": "random"}',
        )
        with (home / "stderr").open("wb") as file:
            self.running = subprocess.Popen(
                command("serve", "--port", str(port), "--offer", "helper"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                env=env,
                start_new_session=True,
            )
        self.url = f"http://127.0.0.1:{port}"

    def words(self) -> str:
        return (self.home / "stderr").read_text(encoding="utf-8")

    def reload(self) -> None:
        """As the unit's ExecReload does it, but for the copy of the keys."""
        times = len(self.manager.values("READY"))
        self.running.send_signal(signal.SIGHUP)
        self.manager.until(lambda: len(self.manager.values("READY")) > times, why=self.words)

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        return httpx.get(self.url + path, headers={"x-api-key": key} if key else {}, timeout=30)


@pytest.fixture
def unit(tmp_path: Path, random_engine: Engine) -> Iterator[Unit]:
    with notified(tmp_path) as manager:
        made = Unit(tmp_path / "home", manager, random_engine)
        try:
            yield made
        finally:
            made.running.kill()
            made.running.wait()


async def test_a_unit_tells_how_it_is_and_a_reload_takes_new_keys_and_lists_without_dropping_a_stream(
    unit: Unit,
) -> None:
    # In a thread, as the engine's log is read by this loop: a full pipe would stop the engine.
    await asyncio.to_thread(_life, unit)


def _life(unit: Unit) -> None:
    manager = unit.manager
    manager.until(lambda: "engine is ready" in manager.values("STATUS"), why=unit.words)
    assert manager.values("READY") == ["1"]
    assert unit.get("/ready").json()["lists"][0] | {"path": ""} == {
        "name": "services", "path": "", "state": "good", "entries": 1, "reason": "",
    }  # fmt: skip
    body = letters(600, stream=True)
    with httpx.stream("POST", f"{unit.url}/v1/chat/completions", json=body, timeout=60) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("data:")
        # What the unit's ExecReload lays there; the credential itself stays as it was at the start.
        (unit.home / "run" / "keys").write_text(f"one:{ONE}\n", encoding="utf-8")
        unit.services.write_text('["nginx", "sshd"]', encoding="utf-8")
        unit.reload()
        assert unit.running.poll() is None
        assert [line for line in lines if line][-1] == "data: [DONE]"
    reloading = [name for name, _ in manager.told if name in ("READY", "RELOADING", "MONOTONIC_USEC")]
    assert reloading == ["READY", "RELOADING", "MONOTONIC_USEC", "READY"]
    assert unit.get("/ready").status_code == 401, "the first keys of a server that had none are asked for"
    assert unit.get("/ready", ONE).json()["lists"][0]["entries"] == 2
    (unit.home / "run" / "keys").write_text(f"two:{TWO}\n", encoding="utf-8")
    unit.services.write_text("[", encoding="utf-8")
    unit.reload()
    assert unit.get("/ready", ONE).status_code == 401
    told = unit.get("/ready", TWO).json()
    assert told["ready"] is True
    assert told["lists"][0]["state"] == "last_good"
    assert told["lists"][0]["entries"] == 2
    figures = unit.get("/metrics", TWO).text
    assert 'tacid_services_list{state="last_good"} 1.0' in figures
    assert "tacid_services_names 2.0" in figures
    logged = [json.loads(line) for line in unit.words().splitlines() if line.startswith("{")]
    assert any("The last list that worked is used (2 names)." in line.get("message", "") for line in logged)
    assert ONE not in unit.words()
    beats = len(manager.values("WATCHDOG"))
    manager.until(lambda: len(manager.values("WATCHDOG")) > beats + 2)
    unit.running.send_signal(signal.SIGTERM)
    assert unit.running.wait(30) == 0
    assert manager.values("STOPPING") == ["1"]
