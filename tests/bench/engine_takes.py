"""``python -m tests.bench.engine_takes --data DIR [--llama-server FILE] [--closed]``: a real engine takes every grammar.

DIR holds MaskBench's files (see `tests.bench.schemabench`). The grammar of each schema, and the tree behind each of its
gates, goes to an engine with one token to sample. The engine is the package's, or the llama-server given; its model has
random weights. Prints what it refuses, and how long it takes; exits 1 on a refusal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tacid.config import EngineConfig
from tacid.engine.download import fetch
from tacid.engine.find import EngineSpec, find_engine
from tacid.engine.pins import find_pin
from tacid.engine.process import start_engine
from tacid.errors import CompilerBug, GrammarError, TacidError
from tacid.grammar import compile_schema
from tests.engine.random_model import make_random_model
from tests.kept import models_kept

#: Seconds after which the engine counts as hanging.
HANGS = 60.0


def grammars(data: Path, open_objects: bool) -> Iterator[tuple[str, str]]:
    """The texts of the schemas of a folder, each with its file's name; schemas that nothing fits have none."""
    for path in sorted(data.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        try:
            grammar = compile_schema(case["schema"], open_objects=open_objects)
        except CompilerBug:
            raise
        except GrammarError as error:
            print(f"{path.name}: {error}")
            continue
        for text in grammar.texts():
            yield path.name, text


async def tried(found: Iterator[tuple[str, str]], spec: EngineSpec, config: EngineConfig, model: Path) -> int:
    """Give an engine each text; how many it doesn't take."""
    refused, taken, slowest, size = 0, 0, (0.0, ""), 0
    async with start_engine(spec, model, config) as engine:
        for name, text in found:
            started = time.monotonic()
            try:
                async with asyncio.timeout(HANGS):
                    await engine.client.check_grammar(text)
            except (TacidError, TimeoutError) as error:
                refused += 1
                print(f"{name}: {type(error).__name__} {error}", flush=True)
                if not engine.alive:
                    print("The engine is gone.")
                    return refused
                continue
            taken += 1
            size += len(text)
            slowest = max(slowest, (time.monotonic() - started, name))
        print(f"{engine.name} {engine.build}: {taken:,} grammars taken ({size / 1e6:.1f} MB), {refused} not;", end=" ")
        print(f"slowest {slowest[0]:.2f} s ({slowest[1]})")
    return refused


def main() -> int:
    """Compile, ask, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--llama-server", type=Path)
    parser.add_argument("--closed", action="store_true", help="objects are closed, as those of tools are")
    args = parser.parse_args()
    if not any(args.data.glob("*.json")):
        parser.error(f"{args.data} holds no schemas (*.json)")
    config = EngineConfig(binary=args.llama_server, slots=1, context=1024, threads=1)
    if args.llama_server:
        config = config.model_copy(update={"extra_args": ("--device", "none")})
    with tempfile.TemporaryDirectory() as folder:
        model = make_random_model(Path(folder) / "plain.gguf", fetch(find_pin("smollm2"), models_kept()), plain=True)
        found = grammars(args.data, not args.closed)
        return asyncio.run(tried(found, find_engine(config), config, model)) > 0


if __name__ == "__main__":
    sys.exit(main())
