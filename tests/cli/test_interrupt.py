"""Ctrl-C, and being killed, in each phase: one sentence, exit code 130, and no engine left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import command, descendants, environment, gone

pytestmark = [pytest.mark.engine, pytest.mark.model]

LONG = "Tell me everything about the history of the world, in as many words as you can find."


def _start(tmp_path: Path, model: Path, *more: str) -> subprocess.Popen[str]:
    env = environment(tmp_path / "home")
    return subprocess.Popen(
        command("ask", LONG, "--model", str(model), "--choice", "none", "--max-tokens", "20000", *more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )


def _until(condition: Callable[[], bool], within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it didn't come to that"
        time.sleep(0.02)


@pytest.mark.parametrize("phase", ["starting", "answering"])
def test_ctrl_c_is_one_sentence_and_leaves_no_engine(phase: str, tmp_path: Path, smollm2: Path) -> None:
    running = _start(tmp_path, smollm2)
    try:
        _until(lambda: len(descendants(running.pid)) >= 2)
        if phase == "answering":
            assert running.stdout is not None
            running.stdout.read(1)
        below = descendants(running.pid)
        os.killpg(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert err.strip().endswith("interrupted.")
    assert gone(below)


def test_ctrl_c_while_the_program_itself_is_loaded_is_one_sentence(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", PYTHONVERBOSE="1")
    with subprocess.Popen(
        command("ask", "hello"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env
    ) as running:
        assert running.stderr is not None
        try:
            # Python tells what it has loaded: the first of what takes a second.
            assert any(line.startswith(("import 'typer'", "import 'pydantic'")) for line in running.stderr)
            running.send_signal(signal.SIGINT)
            said = "".join(line for line in running.stderr if not line.startswith("#"))
        finally:
            running.kill()
    assert "Traceback" not in said, said
    assert "tacid: interrupted." in said
    assert running.returncode == 130


def test_being_killed_leaves_no_engine(tmp_path: Path, smollm2: Path) -> None:
    running = _start(tmp_path, smollm2)
    try:
        assert running.stdout is not None
        running.stdout.read(1)
        below = descendants(running.pid)
        assert len(below) >= 2
        running.kill()
        running.wait()
        running.communicate()
        assert gone(below)
    finally:
        running.kill()
        running.wait()


def test_an_engine_killed_in_a_reply_is_one_sentence(tmp_path: Path, smollm2: Path) -> None:
    running = _start(tmp_path, smollm2)
    try:
        assert running.stdout is not None
        running.stdout.read(1)
        os.kill(descendants(running.pid)[-1], signal.SIGKILL)
        _, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 1
    assert "Traceback" not in err
    assert "engine" in err
