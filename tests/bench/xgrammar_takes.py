"""``python -m tests.bench.xgrammar_takes [--data DIR] [--seconds 20]``: XGrammar reads every grammar of ours.

Needs ``xgrammar`` (``pip install xgrammar``; it brings PyTorch), which the project doesn't. Grammars are those of the
cases in ``tests/cases`` and, with ``--data``, of MaskBench's files (see `tests.bench.schemabench`). Each is read in a
process of its own. Prints what XGrammar doesn't take, and why; exits 1 if there is any.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from tacid.errors import TacidError
from tacid.grammar import compile_catalogue, compile_schema
from tests.bench.engine_takes import grammars
from tests.case_files import cases_of


def of_cases() -> Iterator[tuple[str, str]]:
    """The texts of the cases about schemas and tools."""
    for case in cases_of("schema.", "catalogue", "tools."):
        try:
            grammar = compile_schema(case.schema) if case.kind.startswith("schema.") else compile_catalogue(case.tools)
        except TacidError:
            continue
        for text in grammar.texts():
            yield case.id, text


def _read(text: str, pipe: Connection) -> None:
    import xgrammar

    try:
        xgrammar.Grammar.from_ebnf(text)
    except RuntimeError as error:
        pipe.send(str(error))
    else:
        pipe.send("")


def refusal(text: str, seconds: float) -> str:
    """Why XGrammar doesn't take a text; nothing where it does."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=_read, args=(text, theirs))
    process.start()
    theirs.close()
    try:
        if not mine.poll(seconds):
            return f"it takes more than {seconds:g} s"
        return str(mine.recv())
    except EOFError:
        process.join()
        return f"it died ({process.exitcode})"
    finally:
        process.kill()
        process.join()


def main() -> int:
    """Try all, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="after which a grammar counts as not taken")
    args = parser.parse_args()
    import xgrammar  # noqa: F401  imported once, so that every process has it

    taken = refused = 0
    slowest = (0.0, "")
    for source in (of_cases(), grammars(args.data, True) if args.data else iter(())):
        for name, text in source:
            started = time.monotonic()
            why = refusal(text, args.seconds)
            slowest = max(slowest, (time.monotonic() - started, name))
            if why:
                refused += 1
                print(f"{name} ({len(text):,} bytes): {why[:300]}", flush=True)
            else:
                taken += 1
    print(f"{taken:,} grammars taken, {refused} not; slowest {slowest[0]:.2f} s ({slowest[1]})")
    return refused > 0


if __name__ == "__main__":
    sys.exit(main())
