"""Both sides of a comparison and the gate, as the commands that do it one by one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tacid.evaluation.categories import CATEGORIES
from tacid.evaluation.rows import ToolMode
from tacid.evaluation.session import Options


def sides(options: Options, mode: ToolMode, directory: Path) -> tuple[Options, Options]:
    """The run in ``full`` and the one in ``mode``, each with its file in ``directory``."""
    return (
        replace(options, tool_mode="full", out=directory / "full.jsonl"),
        replace(options, tool_mode=mode, out=directory / f"{mode}.jsonl"),
    )


def verdict_path(mode: ToolMode, directory: Path) -> Path:
    """Where the verdict on ``mode`` is written."""
    return directory / f"parity-{mode}.json"


def commands(options: Options, mode: ToolMode, directory: Path) -> list[str]:
    """The commands that do the same, as they are typed."""
    full, other = sides(options, mode, directory)
    gate = ["tacid", "eval", "parity", "--full", str(full.out), "--deferred", str(other.out)]
    if mode == "deferred":
        gate.append("--require-hop-stats")
    gate += [*_categories(options), "--out", str(verdict_path(mode, directory))]
    return [shlex.join(words) for words in ([*_asking(full)], [*_asking(other)], gate)]


def _asking(options: Options) -> Iterator[str]:
    yield from ("tacid", "eval", "bfcl", "--tool-mode", options.tool_mode)
    for flag, value in (
        ("--model", options.model),
        ("--engine", options.engine),
        ("--base-url", options.base_url),
        ("--model-name", options.model_name),
        ("--limit", options.limit),
        ("--tools", options.tools),
        ("--label", options.label),
    ):
        if value is not None:
            yield from (flag, str(value))
    yield from _categories(options)
    yield from ("--seed", str(options.seed), "--pool", str(options.pool), "--max-tokens", str(options.max_tokens))
    yield from ("--streams", str(options.streams))
    yield from ("--out", str(options.out))


def _categories(options: Options) -> list[str]:
    if options.categories == CATEGORIES:
        return []
    return ["--categories", ",".join(category.name for category in options.categories)]


__all__ = ["commands", "sides", "verdict_path"]
