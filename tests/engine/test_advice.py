"""The advice on models, and the doctor."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tacid.config import Config, EngineConfig, ModelConfig, ServerConfig
from tacid.engine import cpu, doctor
from tacid.engine.cpu import Memory
from tacid.engine.doctor import Check, examine
from tacid.engine.pins import find_pin
from tacid.engine.recommend import recommend

GB = 10**9


@pytest.mark.parametrize(
    ("memory", "cores", "name"),
    [
        (Memory(1 * GB, GB // 2), 1, "smollm2-135m-instruct"),
        (Memory(4 * GB, int(2.4 * GB)), 2, "qwen3-0.6b"),
        (Memory(8 * GB, 4 * GB), 2, "qwen2.5-coder-1.5b-instruct"),
        (Memory(64 * GB, 60 * GB), 2, "qwen2.5-coder-1.5b-instruct"),
        (Memory(64 * GB, 60 * GB), 8, "qwen3-4b-instruct-2507"),
        (None, 8, "smollm2-135m-instruct"),
    ],
)
def test_the_largest_that_fits_is_advised(memory: Memory | None, cores: int, name: str) -> None:
    advice = recommend(memory, cores)
    assert advice.pin.name == name
    assert advice.reason.endswith(".")
    for pin, why_not in advice.passed_over:
        assert pin.size > advice.pin.size
        assert why_not.endswith(".")


def test_the_advice_says_the_numbers_it_is_made_of() -> None:
    advice = recommend(Memory(4 * GB, int(2.4 * GB)), 1)
    assert "2.4 GB" in advice.reason
    assert "1 core:" in advice.reason
    assert ("2.4 GB of memory, and 2.4 GB are available") in {pin.name: words for pin, words in advice.passed_over}[
        "qwen2.5-coder-1.5b-instruct"
    ]


def by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    for check in checks:
        assert check.text.endswith(".")
        assert (check.status == "ok") == (check.remedy == ""), check
    return {check.name: check for check in checks}


@pytest.mark.engine
@pytest.mark.model
async def test_a_healthy_machine_is_well(smollm2: Path, engine_config: EngineConfig) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    config = Config(engine=engine_config, model=ModelConfig(dir=smollm2.parent), server=ServerConfig(port=free))
    ours = Check("services", "ok", "Nine services.")
    checks = by_name(await examine(config, [lambda: ours]))
    assert list(checks) == ["python", "cpu", "engine", "model", "memory", "port", "start", "services"]
    assert {name for name, check in checks.items() if check.status != "ok"} == set()
    assert "is ready after" in checks["start"].text


async def test_a_bare_machine_gets_a_remedy_for_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tacid.engine.find.PACKAGE", "no_such_package_of_an_engine")
    monkeypatch.setattr(cpu, "is_x86", lambda: True)
    monkeypatch.setattr(cpu, "missing_features", lambda *_: ("avx2",))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = Config(model=ModelConfig(dir=tmp_path), server=ServerConfig(port=taken.getsockname()[1]))
        checks = by_name(await examine(config))
    assert checks["engine"].status == "fail" and "pip install" in checks["engine"].remedy
    assert checks["model"].status == "fail" and "tacid model pull" in checks["model"].remedy
    assert checks["cpu"].status == "warn" and "AVX2" in checks["cpu"].text
    assert checks["port"].status == "warn" and "server.port" in checks["port"].remedy
    assert "start" not in checks


@pytest.mark.model
async def test_an_engine_that_would_not_start_is_found_out(smollm2: Path, tmp_path: Path) -> None:
    broken = tmp_path / "llama-server"
    broken.write_text("#!/bin/sh\nkill -ILL $$\n", encoding="utf-8")
    broken.chmod(0o755)
    config = Config(engine=EngineConfig(binary=broken), model=ModelConfig(dir=smollm2.parent))
    start = by_name(await examine(config))["start"]
    assert start.status == "fail"
    assert "the CPU lacks instructions" in start.text
    assert start.remedy.startswith("Take a build that fits")


def test_python_and_memory_are_judged() -> None:
    assert doctor.python_check((3, 12)).status == "ok"
    assert doctor.python_check((3, 14)).status == "warn"
    pin = find_pin("qwen3-4b")
    assert doctor.memory_check(pin, Memory(2 * GB, GB)).status == "warn"
    assert doctor.memory_check(pin, Memory(64 * GB, 60 * GB)).status == "ok"
    assert doctor.memory_check(None, Memory(2 * GB, GB)).status == "ok"


def test_a_package_that_cannot_be_loaded_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    check, _ = doctor.engine_check(Config())
    assert check.status == "fail"
    assert "apt install libgomp1" in check.remedy
