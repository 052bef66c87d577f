"""A minute of each fuzzer side by side, from another seed each day; ten by ``python -m tests.bench.fuzz_…``."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUZZERS = ("fuzz_schemas", "fuzz_patterns", "fuzz_texts")
#: Seconds of each, and seeds that a day has to itself.
SECONDS, SEEDS = 60, 10**6

pytestmark = pytest.mark.fuzz


async def _fuzz(name: str, seed: int) -> tuple[int, str]:
    command = (sys.executable, "-m", f"tests.bench.{name}", "--seconds", str(SECONDS), "--seed", str(seed))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=ROOT)  # fmt: skip
    out, _ = await process.communicate()
    return await process.wait(), out.decode(errors="replace")


async def test_a_minute_of_each_fuzzer_finds_nothing() -> None:
    seed = int(time.time() // 86_400) * SEEDS
    done = await asyncio.gather(*(_fuzz(name, seed) for name in FUZZERS))
    for name, (code, out) in zip(FUZZERS, done, strict=True):
        assert code == 0, f"{name} from seed {seed}:\n{out}"
