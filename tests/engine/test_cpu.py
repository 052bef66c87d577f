"""What the machine computes with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacid.engine import cpu


def test_the_features_are_read_from_the_first_processor() -> None:
    text = "processor : 0\nflags\t\t: fpu avx2 fma\nprocessor : 1\nflags : none\n"
    assert cpu.features(text) == {"fpu", "avx2", "fma"}
    assert cpu.features("processor : 0\n") is None


def test_what_the_package_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "is_x86", lambda: True)
    assert cpu.missing_features("flags : avx2 fma\n") == ("f16c", "bmi2")
    assert cpu.missing_features("flags : avx2 fma f16c bmi2\n") == ()
    assert cpu.missing_features("nothing is known\n") == ()
    monkeypatch.setattr(cpu, "is_x86", lambda: False)
    assert cpu.missing_features("flags : fpu\n") == ()


def test_there_is_at_least_one_core_and_a_quota_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu.physical_cores() >= 1
    files = {"cpu.max": "150000 100000", "thread_siblings_list": ""}
    monkeypatch.setattr(cpu, "_read", lambda path: files.get(Path(path).name, ""))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    assert cpu.physical_cores() == 2
    files["cpu.max"] = "max 100000"
    assert cpu.physical_cores() == 8


def test_two_threads_of_one_core_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cpu,
        "_read",
        lambda path: (
            "0-1" if "cpu0/" in str(path) or "cpu1/" in str(path) else "2-3" if "topology" in str(path) else ""
        ),
    )
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert cpu.physical_cores() == 2


def test_memory_is_read_and_cut_to_the_limit_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n"
    assert cpu.memory(text) == cpu.Memory(16_000_000 * 1024, 8_000_000 * 1024)
    files = {"meminfo": text, "memory.max": "2000000000\n", "memory.current": "500000000\n"}
    monkeypatch.setattr(cpu, "_read", lambda path: files.get(Path(path).name, ""))
    assert cpu.memory() == cpu.Memory(2_000_000_000, 1_500_000_000)
    files["memory.max"] = "max\n"
    assert cpu.memory() == cpu.Memory(16_000_000 * 1024, 8_000_000 * 1024)
