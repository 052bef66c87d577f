"""The real server and real weights: some questions of each kind, through the real checker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacid.config import EngineConfig
from tacid.engine.process import Engine
from tacid.evaluation.bfcl import Watcher
from tacid.evaluation.categories import CATEGORIES
from tacid.evaluation.rows import Item, Run, read_run
from tacid.evaluation.session import Options
from tests.cli.run import environment, tacid
from tests.serving import joined, serving


class _Quiet(Watcher):
    def at(self, done: int, total: int, category: str, score: float | None) -> None:
        pass

    def finished(self, category: str, items: list[Item]) -> None:
        pass


async def _run(engine: Engine, out: Path, **more: Any) -> Run:
    with serving(joined(engine, server={"request_timeout": 600.0})) as server:
        given: dict[str, Any] = {"categories": CATEGORIES, "limit": 1, "max_tokens": 64, **more}
        options = Options(out=out, base_url=f"{server.url}/v1", **given)
        return await options.perform(*options.prepare(), _Quiet())


@pytest.mark.engine
async def test_a_model_that_samples_anything_is_asked_all_ten_categories(random_engine: Engine, tmp_path: Path) -> None:
    done = await _run(random_engine, tmp_path / "a.jsonl")
    assert len(done.items) == 10
    for item in done.items.values():
        # Every call that came whole fits its tool's schema: that is the grammar.
        assert item.valid in (True, None), item
        assert item.error is None or "cut off" in item.error, item
        assert item.tokens.prompt > 0
        assert item.latency > 0
    assert read_run(tmp_path / "a.jsonl").items == done.items


@pytest.mark.engine
async def test_a_pool_is_read_once_by_each_slot(
    random_engine: Engine, engine_config: EngineConfig, tmp_path: Path
) -> None:
    done = await _run(random_engine, tmp_path / "a.jsonl", categories=CATEGORIES[:1], limit=6, pool=10, max_tokens=8)
    cached = [item.tokens.cached > item.tokens.prompt / 2 for item in done.items.values()]
    assert cached.count(False) <= engine_config.slots, [item.tokens for item in done.items.values()]


@pytest.mark.engine
def test_the_command_starts_a_server_of_its_own_and_ends_it(random_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "a.jsonl"
    command = (
        "eval", "bfcl", "--model", str(random_model), "--categories", "simple", "--limit", "2", "--max-tokens", "48",
        "--out", str(out),
    )  # fmt: skip
    ran = tacid(*command, env=environment(tmp_path / "home"), timeout=600)
    assert ran.code == 0, ran.err
    assert "bfcl/simple_python:" in ran.out
    assert "bfcl/average:" in ran.out
    assert len(read_run(out).items) == 2
    log = [json.loads(line) for line in out.with_suffix(".log").read_text(encoding="utf-8").splitlines()]
    assert sum(line.get("path") == "/v1/chat/completions" for line in log) == 2
    # Nothing is asked again, and what was written stays.
    before = out.read_bytes()
    again = tacid(*command, env=environment(tmp_path / "home"), timeout=600)
    assert again.code == 0, again.err
    assert again.out == ran.out
    assert out.read_bytes() == before


@pytest.mark.engine
def test_a_server_that_can_not_start_says_why(tmp_path: Path) -> None:
    file = tmp_path / "junk.gguf"
    file.write_bytes(b"GGUF")
    ran = tacid(
        "eval", "bfcl", "--model", str(file), "--limit", "1", "--out", str(tmp_path / "a.jsonl"),
        env=environment(tmp_path / "home"), timeout=120,
    )  # fmt: skip
    assert ran.code == 1
    assert str(file) in ran.complaint()
