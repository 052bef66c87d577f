"""How often the tools that a question needs are among the first that a search finds.

    python -m tests.bench.search_recall [--misses N]

The pool is every function that eleven categories of BFCL know, one a name (the first that has it): 1,703. Each question
of the eight categories with expected calls is searched for as it is. Recall@k is the mean over questions of the part of the expected functions, by
name, that is among the first k. Needs ``bfcl-eval`` (``pip install --no-deps bfcl-eval``).
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tacid.catalogue import Tool
from tacid.search import Search

CATEGORIES = (
    "simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple", "live_parallel",
    "live_parallel_multiple",
)  # fmt: skip
#: Categories whose functions are in the way too.
OTHERS = ("irrelevance", "live_irrelevance", "live_relevance")
DEPTHS = (1, 5, 10, 50)
#: Goals of recall@5 and recall@50.
GOALS = {5: 0.79, 50: 0.95}


def folder() -> Path:
    """Where the installed package keeps its data."""
    spec = find_spec("bfcl_eval")
    if spec is None or spec.origin is None:
        raise SystemExit("bfcl-eval isn't installed: pip install --no-deps bfcl-eval")
    return Path(spec.origin).parent / "data"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", type=int, default=0, help="show so many questions whose functions aren't found")
    arguments = parser.parse_args()
    questions: dict[str, list[tuple[str, set[str]]]] = {}
    pool: dict[str, Tool] = {}
    for category in CATEGORIES:
        expected = {
            row["id"]: {name for call in row["ground_truth"] for name in call}
            for row in rows(folder() / "possible_answer" / f"BFCL_v4_{category}.json")
        }
        for row in rows(folder() / f"BFCL_v4_{category}.json"):
            for function in row["function"]:
                name = function["name"]
                pool.setdefault(name, Tool(name, function["description"], function["parameters"]))
            text = "\n".join(message["content"] for message in row["question"][0] if message["role"] == "user")
            questions.setdefault(category, []).append((text, expected[row["id"]]))
    for category in OTHERS:
        for row in rows(folder() / f"BFCL_v4_{category}.json"):
            for function in row["function"]:
                name = function["name"]
                pool.setdefault(name, Tool(name, function["description"], function["parameters"]))
    begun = time.perf_counter()
    search = Search(pool.values())
    built = time.perf_counter() - begun
    print(f"{len(pool):,} functions, {sum(map(len, questions.values())):,} questions")
    print("| category | questions | " + " | ".join(f"recall@{depth}" for depth in DEPTHS) + " |")
    print("| --- |" + " --- |" * (len(DEPTHS) + 1))
    everything: list[dict[int, float]] = []
    begun = time.perf_counter()
    left = arguments.misses
    for category, asked in questions.items():
        found: list[dict[int, float]] = []
        for text, wanted in asked:
            best = search.find(text, DEPTHS[-1])
            found.append({depth: len(wanted & set(best[:depth])) / len(wanted) for depth in DEPTHS})
            if found[-1][50] < 1 and left > 0:
                left -= 1
                print(category, text[:200], wanted, best[:3])
        everything += found
        print(f"| {category} | {len(found):,} | " + " | ".join(_mean(found, depth) for depth in DEPTHS) + " |")
    took = time.perf_counter() - begun
    print(f"| all | {len(everything):,} | " + " | ".join(_mean(everything, depth) for depth in DEPTHS) + " |")
    print(f"built in {1000 * built:.0f} ms; {1000 * took / len(everything):.2f} ms a question")
    for depth, goal in GOALS.items():
        reached = sum(one[depth] for one in everything) / len(everything)
        print(f"recall@{depth} {'reaches' if reached >= goal else 'MISSES'} {goal}")


def _mean(found: list[dict[int, float]], depth: int) -> str:
    return f"{sum(one[depth] for one in found) / len(found):.3f}"


if __name__ == "__main__":
    main()
