"""`tacid eval parity`: exit codes for scripts, words for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import environment, tacid
from tests.evaluation.made import GOOD, run_of, text_of


def _files(
    tmp_path: Path, full: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]], **more: object
) -> list[str]:
    for name, scores, mode in (("a", full, "full"), ("b", other, "deferred")):
        told = {} if mode == "full" else more
        (tmp_path / f"{name}.jsonl").write_text(text_of(run_of(scores, mode, **told)), encoding="utf-8")
    return ["--full", str(tmp_path / "a.jsonl"), "--deferred", str(tmp_path / "b.jsonl")]


@pytest.mark.parametrize(
    ("moved", "hops", "outcome", "code"),
    [
        (0, 1, "accept", 0),
        (10, 1, "better", 0),
        (-20, 1, "reject", 1),
        (0, 3, "reject", 1),
        (0, None, "not measured", 2),
    ],
)
def test_the_verdict_is_the_exit_code(moved: int, hops: int | None, outcome: str, code: int, tmp_path: Path) -> None:
    other = {name: (n, max(0, min(n, right + moved))) for name, (n, right) in GOOD.items()}
    files = _files(tmp_path, GOOD, other, hops=hops)
    out = tmp_path / "c.json"
    ran = tacid("eval", "parity", *files, "--require-hop-stats", "--out", str(out), env=environment(tmp_path / "home"))
    assert ran.code == code, ran.err
    assert outcome in ran.out.splitlines()
    assert "95 % interval" in ran.out
    assert ran.complaint()
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["outcome"] == outcome
    assert document["reasons"]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"kind":"item"}', "\x00\n", ""])
def test_a_run_that_nobody_can_read_is_not_measured_and_never_rejected(content: str | None, tmp_path: Path) -> None:
    files = _files(tmp_path, GOOD, GOOD)
    if content is None:
        (tmp_path / "b.jsonl").unlink()
    else:
        (tmp_path / "b.jsonl").write_text(content, encoding="utf-8")
    ran = tacid("eval", "parity", *files, env=environment(tmp_path / "home"))
    assert ran.code == 2
    assert "not measured" in ran.out
    assert "b.jsonl" in ran.complaint()


def test_the_help_says_the_rules(tmp_path: Path) -> None:
    ran = tacid("eval", "parity", "--help", env=environment(tmp_path / "home", COLUMNS="120"))
    for word in ("2 points", "10 points", "3 items", "30 %", "Exit codes", "Example"):
        assert word in ran.out


def test_a_category_that_is_not_there_is_told_the_nearest(tmp_path: Path) -> None:
    files = _files(tmp_path, GOOD, GOOD)
    ran = tacid("eval", "parity", *files, "--categories", "live_multple", env=environment(tmp_path / "home"))
    assert ran.code == 2
    assert "did you mean live_multiple?" in ran.complaint()


def test_a_verdict_that_can_not_be_written_is_no_verdict(tmp_path: Path) -> None:
    files = _files(tmp_path, GOOD, GOOD)
    ran = tacid("eval", "parity", *files, "--out", str(tmp_path / "no" / "c.json"), env=environment(tmp_path / "home"))
    assert ran.code == 2
    assert "c.json" in ran.complaint()
