"""`tacid eval bfcl`, `run` and `report`: what a person is told, and what is never started by accident."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacid.cli.app import app
from tacid.evaluation.rows import read_run
from tests.cli.run import command, descendants, environment, gone, tacid
from tests.evaluation.endpoint import endpoint, reply
from tests.evaluation.made import GOOD, run_of, text_of


def test_a_dry_run_says_what_would_be_run_and_starts_nothing(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "a.jsonl"
    ran = tacid(
        "eval", "bfcl", "--model", "qwen2.5-coder-1.5b-instruct", "--limit", "50", "--pool", "12", "--dry-run",
        "--out", str(out), env=environment(tmp_path / "home"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert "simple_python: 50 items" in lines
    assert "live_parallel: 16 items" in lines
    assert "406 items, 12 pooled tools" in ran.out
    assert "qwen2.5-coder-1.5b-instruct" in ran.out
    assert "Nothing was started" in ran.out
    assert not out.parent.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--categories", "paralel"), "did you mean parallel?"),
        (("--model", "nonesuch"), "nonesuch"),
        (("--base-url", "http://127.0.0.1:9/v1", "--model", "smollm2-135m-instruct"), "leave out --model"),
        (("--pool", "2000"), "--pool wants 2,000"),
        (("--tools", "none.json"), "none.json does not exist"),
    ],
)
def test_what_can_not_be_run_is_one_sentence(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = tacid(
        "eval", "bfcl", *arguments, "--dry-run", "--out", str(tmp_path / "a.jsonl"), env=environment(tmp_path / "home")
    )
    assert ran.code == 1
    assert said in ran.complaint()


@pytest.mark.parametrize("name", ["bfcl", "run", "report", "parity"])
def test_the_help_teaches(name: str) -> None:
    done = CliRunner().invoke(app, ["eval", name, "--help"], env={"COLUMNS": "110"})
    assert done.exit_code == 0
    assert f"Example: tacid eval {name}" in done.output


def test_the_help_of_the_page_names_the_extra() -> None:
    assert "tacid[eval]" in CliRunner().invoke(app, ["eval", "report", "--help"], env={"COLUMNS": "110"}).output


def test_without_confirmation_nothing_is_started(tmp_path: Path) -> None:
    ran = tacid("eval", "run", "--out-dir", str(tmp_path / "runs"), env=environment(tmp_path / "home"))
    assert ran.code == 2
    assert "--confirm-heavy-run" in ran.complaint()
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_of_both_sides_prints_commands_that_exist(tmp_path: Path) -> None:
    ran = tacid(
        "eval", "run", "--model", "smollm2-135m-instruct", "--out-dir", str(tmp_path / "my runs"), "--limit", "5",
        "--categories", "simple,multiple", "--tool-mode", "deferred", "--dry-run", env=environment(tmp_path / "home"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    full, deferred, gate = (shlex.split(line) for line in ran.out.splitlines())
    for words in (full, deferred):
        done = CliRunner().invoke(app, [*words[1:], "--dry-run"])
        assert done.exit_code == 0, done.output
        assert "10 items" in done.output
    assert full[full.index("--tool-mode") + 1] == "full"
    assert deferred[deferred.index("--tool-mode") + 1] == "deferred"
    assert "--require-hop-stats" in gate
    # The gate's runs aren't there yet, so nothing is measured.
    assert CliRunner().invoke(app, gate[1:]).exit_code == 2
    assert not (tmp_path / "my runs").exists()


def _answers(body: dict[str, Any]) -> tuple[int, Any]:
    return reply(said="No.", **({"get_tool_info_hops": 1} if body.get("tool_mode") else {}))


def test_both_sides_and_the_gate_in_one_go(tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    with endpoint(_answers) as served:
        ran = tacid(
            "eval", "run", "--base-url", served.url, "--out-dir", str(directory), "--limit", "10",
            "--categories", "simple_python,irrelevance", "--confirm-heavy-run", env=environment(tmp_path / "home"),
        )  # fmt: skip
    assert len(served.asked) == 40
    assert {body.get("tool_mode") for body in served.asked} == {None, "deferred"}
    # A model that never calls.
    assert ran.code == 2, ran.err
    assert "not measured" in ran.out
    verdict = json.loads((directory / "parity-deferred.json").read_text(encoding="utf-8"))
    assert verdict["outcome"] == "not measured"
    assert "too weak" in verdict["reasons"][0]
    assert verdict["hops"] == 1


def test_a_run_that_fails_has_not_rejected_anything(tmp_path: Path) -> None:
    ran = tacid(
        "eval", "run", "--base-url", "http://127.0.0.1:9/v1", "--out-dir", str(tmp_path / "runs"), "--limit", "1",
        "--confirm-heavy-run", env=environment(tmp_path / "home"),
    )  # fmt: skip
    assert ran.code == 2
    assert "127.0.0.1:9" in ran.complaint()


def test_the_key_comes_from_the_environment(tmp_path: Path) -> None:
    with endpoint(_answers) as served:
        ran = tacid(
            "eval", "bfcl", "--base-url", served.url, "--limit", "1", "--out", str(tmp_path / "a.jsonl"),
            env=environment(tmp_path / "home", OPENAI_API_KEY="sesame"),
        )  # fmt: skip
    assert ran.code == 0, ran.err
    assert {body["_key"] for body in served.asked} == {"Bearer sesame"}
    assert "sesame" not in ran.out + ran.err


def test_the_page_is_written(tmp_path: Path) -> None:
    (tmp_path / "full.jsonl").write_text(text_of(run_of(GOOD)), encoding="utf-8")
    ran = tacid("eval", "report", str(tmp_path), "--out", str(tmp_path / "p.html"), env=environment(tmp_path / "home"))
    assert ran.code == 0, ran.err
    assert ran.out.strip() == str(tmp_path / "p.html")
    assert "<svg" in (tmp_path / "p.html").read_text(encoding="utf-8")


@pytest.mark.engine
def test_ctrl_c_ends_the_engine_and_keeps_the_rows(tmp_path: Path, random_model: Path) -> None:
    out = tmp_path / "a.jsonl"
    words = command("eval", "bfcl", "--model", str(random_model), "--max-tokens", "64", "--out", str(out))
    running = subprocess.Popen(
        words, env=environment(tmp_path / "home"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 120
        while not (out.exists() and out.read_bytes().count(b"\n") > 2):
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < until
            time.sleep(0.1)
        below = descendants(running.pid)
        assert below
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "tacid: interrupted."
    assert gone(below)
    assert len(read_run(out).items) >= 2
