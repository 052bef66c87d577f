"""How much memory an engine may take: what is configured, else what the machine can bear where no cgroup limits it.

Held by ``RLIMIT_DATA`` (setrlimit(2)), which counts what is allocated and not the model file that is only mapped. At
the limit an allocation fails: the engine refuses that one request (400), or it ends and is started again. Measured
(xllamacpp b11549, random weights): 176 MB once ready, and a grammar whose reading runs away is refused at the limit.
"""

from __future__ import annotations

from pathlib import Path

from tacid.config import EngineConfig
from tacid.engine import cpu

#: The part of the machine's memory that an engine may take where nothing else is said.
SHARE = 7 / 8
_CGROUPS = Path("/sys/fs/cgroup")


def memory_limit(config: EngineConfig) -> int | None:
    """The limit in bytes; none where a cgroup has one already, or the machine's memory can't be told."""
    if config.memory_limit is not None:
        return config.memory_limit * 2**20
    if in_limited_cgroup():
        return None
    memory = cpu.memory()
    return None if memory is None else int(memory.total * SHARE)


def in_limited_cgroup(root: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> bool:
    """Whether a cgroup (version 2) that we are in, or one above it, limits memory."""
    for line in _read(own).splitlines():
        number, _, name = line.partition("::")
        if number != "0":
            continue
        folder = root / name.strip().lstrip("/")
        return any(
            _read(at / "memory.max").strip().isdigit() for at in (folder, *folder.parents) if at.is_relative_to(root)
        )
    return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
