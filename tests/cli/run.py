"""Runs the command as people do: as a process of its own, without a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def complaint(self) -> str:
        """The last line of standard error, after checking that it is all in order: a sentence and no traceback."""
        assert "Traceback" not in self.err, self.err
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert lines, "nothing was said"
        assert lines[-1].startswith("tacid: ") or "Error" in self.err, self.err
        return lines[-1]


def environment(home: Path, models: Path | None = None, **more: str) -> dict[str, str]:
    """An environment in which nothing of the person's own configuration is seen."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TACID_", "XDG_"))}
    config = home / "config.toml"
    if not config.exists():
        home.mkdir(parents=True, exist_ok=True)
        lines = ["[machine]", f'state_dir = "{home / "state"}"', "[model]"]
        lines.append(f'dir = "{models or home / "models"}"')
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {**kept, "HOME": str(home), "TACID_CONFIG": str(config), "NO_COLOR": "1", **more}


def command(*arguments: str) -> list[str]:
    """The command line of tacid in this environment."""
    return [sys.executable, "-m", "tacid", *arguments]


def tacid(*arguments: str, env: Mapping[str, str], stdin: str | None = None, timeout: float = 300) -> Ran:
    """Run the command to its end."""
    done = subprocess.run(
        command(*arguments), input=stdin or "", env=dict(env), capture_output=True, text=True, timeout=timeout
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def descendants(pid: int) -> list[int]:
    """The processes below this one that are still there."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def gone(pids: Sequence[int], within: float = 10.0) -> bool:
    """Whether all of these processes end in time."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not any(_alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
