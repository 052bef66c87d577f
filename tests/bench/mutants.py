"""Mutation tests of the compiler's merge and number code: how many mutants the tests tell from the code itself.

    python -m tests.bench.mutants [--module tacid.grammar.digits …] [--sample 600] [--seed N] [--jobs 1] [--out FILE]

A sample is drawn over all mutants of the modules by their content, so that it stays what it is where the code does;
``--sample 0`` takes all. Prints each mutant that no test kills, and a table; ends with 1 below `GOAL`. What changes only
the words of a message is no mutant here. Those that mean the same as the code (``data/same_mutants.json``, each with
its reason) are told apart and count on neither side.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.bench.mutating import ROOT, Loose, Mutant, Mutated, run

#: The part of all mutants that has to die.
GOAL = 0.9
MODULES = (
    "tacid.schema.alternatives",
    "tacid.schema.exclusive",
    "tacid.schema.join_arrays",
    "tacid.schema.join_objects",
    "tacid.schema.merge",
    "tacid.schema.presence",
    "tacid.grammar.bounds",
    "tacid.grammar.digits",
    "tacid.grammar.multiples",
    "tacid.grammar.numbers",
)
#: What a mutant is tried with, as far as it calls the mutant's function.
TESTS = (
    "tests/schema/test_alternatives.py",
    "tests/schema/test_exclusive.py",
    "tests/schema/test_join.py",
    "tests/schema/test_merge.py",
    "tests/schema/test_presence.py",
    "tests/grammar/test_compile_arrays.py",
    "tests/grammar/test_compile_bounded.py",
    "tests/grammar/test_compile_numbers.py",
    "tests/grammar/test_compile_objects.py",
    "tests/grammar/test_compile_random.py",
    "tests/grammar/test_compile_references.py",
    "tests/grammar/test_compile_unions.py",
    "tests/grammar/test_compile_values.py",
    "tests/grammar/test_keywords.py",
    "tests/grammar/test_numbers_in_full.py",
    "tests/grammar/test_recorded.py",
    "tests/issues/test_tuples_beside_values.py",
)
#: Mutants that no test can kill: ``[function, lines, lines of the mutant, reason]``.
SAME = Path(__file__).parent / "data" / "same_mutants.json"


def sample(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """As many mutants as ``size`` (0: all), in an order that depends on the seed and on what each of them is."""

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(repr((seed, mutant.key, mutant.name)).encode()).hexdigest()

    return sorted(mutants, key=place)[: size or None]


def known() -> dict[tuple[str, str, str], str]:
    """Mutants that mean the same as the code, each with the reason."""
    return {(where, was, now): why for where, was, now, why in json.loads(SAME.read_text(encoding="utf-8"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", nargs="+", default=MODULES, choices=MODULES, metavar="MODULE")
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a line of JSON for each mutant")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    same = set(known())
    finder = Mutated(arguments.module)
    sys.meta_path.insert(0, finder)
    mutants = [mutant for mutant in finder.mutants if not mutant.wording]
    drawn = sample(mutants, arguments.sample, arguments.seed)
    chosen = [mutant for mutant in drawn if mutant.key not in same]
    counts: dict[str, Counter[str]] = {module: Counter() for module in arguments.module}
    for mutant in drawn:
        counts[mutant.module]["same" if mutant.key in same else "tried"] += 1

    begin = time.time()

    def ended(mutant: Mutant, killed: bool, test: str) -> None:
        counts[mutant.module]["killed"] += killed
        if not killed:
            print(f"alive: {mutant.module}.{mutant.name}\n  - {mutant.was}\n  + {mutant.now}", flush=True)
        if arguments.out:
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps([mutant.module, mutant.name, mutant.was, mutant.now, killed, test, time.time() - begin])
                    + "\n"
                )

    plugin = Loose(chosen, ended, arguments.jobs)
    run(TESTS, plugin)
    if plugin.broken:
        sys.exit(f"these tests fail without a mutant, so none was tried: {', '.join(plugin.broken)}")
    print(
        "| module | mutants | drawn | mean the same | killed | alive | |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    everything = Counter({module: sum(mutant.module == module for mutant in mutants) for module in counts})
    for module, count in counts.items():
        _row(module, everything[module], count)
    whole = sum(counts.values(), Counter())
    _row("all", everything.total(), whole)
    if whole["killed"] < GOAL * whole["tried"]:
        sys.exit(1)


def _row(name: str, mutants: int, count: Counter[str]) -> None:
    part = count["killed"] / count["tried"] if count["tried"] else 1
    drawn, alive = count["tried"] + count["same"], count["tried"] - count["killed"]
    print(f"| `{name}` | {mutants} | {drawn} | {count['same']} | {count['killed']} | {alive} | {part:.1%} |")


if __name__ == "__main__":
    main()
