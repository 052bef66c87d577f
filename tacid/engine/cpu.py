"""What this machine computes with: CPU features, physical cores, memory.

Read from Linux's own files, else asked of Python.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

#: What the engine in the package was compiled with (its ``get_system_info``); without them it dies of SIGILL.
PACKAGE_NEEDS = ("avx2", "fma", "f16c", "bmi2")


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in bytes: what the machine (or the container) has, and what could be had now."""

    total: int
    available: int


def is_x86() -> bool:
    """Whether this is a 64-bit x86 machine, where features of the CPU differ from one to the next."""
    return platform.machine().lower() in ("x86_64", "amd64")


def features(cpuinfo: str | None = None) -> frozenset[str] | None:
    """The CPU's feature flags as Linux spells them (``avx2``); none where they can't be told.

    ``cpuinfo`` is the text of ``/proc/cpuinfo``; default: the real one.
    """
    if cpuinfo is None:
        cpuinfo = _read(Path("/proc/cpuinfo"))
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() in ("flags", "features"):
            return frozenset(value.split())
    return None


def missing_features(cpuinfo: str | None = None) -> tuple[str, ...]:
    """Which of the features that the packaged engine needs this CPU lacks; empty where all are there or unknown."""
    if not is_x86():
        return ()
    found = features(cpuinfo)
    return () if found is None else tuple(name for name in PACKAGE_NEEDS if name not in found)


def physical_cores() -> int:
    """How many cores a process of ours may keep busy: physical ones, within its affinity and its cgroup's quota."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = {
        _read(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) or str(cpu) for cpu in allowed
    }
    count = max(1, len(cores))
    quota = _read(Path("/sys/fs/cgroup/cpu.max")).split()
    if len(quota) == 2 and quota[0].isdigit() and quota[1].isdigit() and int(quota[1]):
        count = min(count, max(1, round(int(quota[0]) / int(quota[1]))))
    return count


def memory(meminfo: str | None = None) -> Memory | None:
    """The machine's memory, cut to the cgroup's limit where there is one; none where it can't be told.

    ``meminfo`` is the text of ``/proc/meminfo``; default: the real one and the real limit.
    """
    limit = ""
    if meminfo is None:
        meminfo = _read(Path("/proc/meminfo"))
        limit = _read(Path("/sys/fs/cgroup/memory.max")).strip()
    values: dict[str, int] = {}
    for line in meminfo.splitlines():
        key, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            values[key] = int(number[0]) * 1024
    total = values.get("MemTotal")
    if total is None:
        try:
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            return None
    available = values.get("MemAvailable", total)
    if limit.isdigit():
        total = min(total, int(limit))
        used = _read(Path("/sys/fs/cgroup/memory.current")).strip()
        available = min(available, max(0, int(limit) - (int(used) if used.isdigit() else 0)))
    return Memory(total, available)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
