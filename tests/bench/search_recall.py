"""How well tools are found by words: ``python -m tests.bench.search_recall``.

The pool are the functions of eleven single-turn categories of BFCL, one for each of 1,703 names: where several are called the
same, the first stands. Each question of the eight categories that want calls of them (2,351) is asked as it is: what the user
says, nothing else. recall@k of a question is the part of the distinct functions in its possible answer that are among the
first k found; a row is the mean over the questions of a category, the last one over all questions. That the pool has other
functions which would serve as well (a dozen tell the weather) counts against us.

Needs the data of ``bfcl-eval``: ``pip install --no-deps bfcl-eval``.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacid.catalogue import Tool
from tacid.search import Search

ASKED = (
    "simple_python", "multiple", "parallel", "parallel_multiple",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple",
)  # fmt: skip
POOLED = (*ASKED, "irrelevance", "live_relevance", "live_irrelevance")
FIRST = (1, 5, 10, 50)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the names of the functions that answer it."""

    text: str
    gold: frozenset[str]


def data_folder() -> Path | None:
    """Where the package has its data; nothing of it is imported."""
    spec = importlib.util.find_spec("bfcl_eval")
    return Path(spec.origin).parent / "data" if spec is not None and spec.origin is not None else None


def rows(path: Path) -> Iterator[Any]:
    """The JSON lines of a file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def pool(folder: Path) -> list[Tool]:
    """The functions, one for each name."""
    found: dict[str, Tool] = {}
    for category in POOLED:
        for row in rows(folder / f"BFCL_v4_{category}.json"):
            for one in row["function"]:
                found.setdefault(one["name"], Tool(one["name"], one["description"], one["parameters"]))
    return list(found.values())


def questions(folder: Path, category: str) -> list[Question]:
    """The questions of a category."""
    answers = rows(folder / "possible_answer" / f"BFCL_v4_{category}.json")
    gold = {row["id"]: frozenset(name for call in row["ground_truth"] for name in call) for row in answers}
    return [
        Question("\n".join(said["content"] for turn in row["question"] for said in turn if said["role"] == "user"), gold[row["id"]])
        for row in rows(folder / f"BFCL_v4_{category}.json")
    ]  # fmt: skip


def recalls(search: Search, asked: Sequence[Question]) -> list[list[float]]:
    """For each question, its recall at each of `FIRST`."""
    found = [search.find(one.text, max(FIRST)) for one in asked]
    return [
        [len(one.gold & set(names[:first])) / len(one.gold) for first in FIRST]
        for one, names in zip(asked, found, strict=True)
    ]


def told(name: str, found: Sequence[Sequence[float]]) -> str:
    """A row of the table."""
    means = (sum(values) / len(found) for values in zip(*found, strict=True))
    return f"| {name} | {len(found):,} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"


def main() -> int:
    """Measure and print."""
    folder = data_folder()
    if folder is None:
        print("The package bfcl-eval is not installed; `pip install --no-deps bfcl-eval` is enough.", file=sys.stderr)
        return 1
    tools = pool(folder)
    began = time.process_time()
    search = Search(tools)
    made = time.process_time() - began
    print("| category | questions | " + " | ".join(f"recall@{first}" for first in FIRST) + " |")
    print("| --- " * (2 + len(FIRST)) + "|")
    everything: list[list[float]] = []
    began = time.process_time()
    for category in ASKED:
        found = recalls(search, questions(folder, category))
        print(told(category, found))
        everything += found
    each = (time.process_time() - began) / len(everything)
    print(told("all", everything))
    print(f"\n{len(tools):,} tools: {made * 1e3:.0f} ms to read, {each * 1e3:.1f} ms a question")
    return 0


if __name__ == "__main__":
    sys.exit(main())
