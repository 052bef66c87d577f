"""Seconds a token under a grammar against free text, on one engine, both ways by turns.

    python -m tests.bench.decoding [--model smollm2-135m-instruct] [--rounds 24]

After one and the same prompt, which shows eight tools and asks for a call of one: free text, calls of one of 20 tools, of
200, of 200 with each tool's arguments behind a gate; and lists of one enum of 5,000 values, after a prompt that asks for
such a list. A grammar costs most where the model would write something else: llama.cpp then looks at every token of its
vocabulary, so ``--against`` asks for prose instead. Milliseconds a token are the engine's own (``predicted_ms``); with
gates there are several requests a reply, so their wall time is told too. The ratio is of medians.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from dataclasses import dataclass, field, replace
from typing import Any

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Message
from tacid.config import load_config
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.opening import open_endpoint
from tacid.grammar import Grammar, compile_catalogue, compile_schema
from tacid.prompt.render import render
from tacid.prompt.segments import Prompt
from tacid.turn.steps import Tally, sample
from tests.bench.catalogue_time import tools

#: Tokens of one reply, at most.
LENGTH = 96
SHOWN = 8
PROSE = "Tell me everything that you know about lamps."
LIST = "Write a JSON list of twenty of these units, such as unit-000000, unit-007919, unit-015838, unit-023757."


@dataclass
class Way:
    """One way to sample, and what its replies took: milliseconds a token, the engine's own and by the clock."""

    name: str
    grammar: Grammar | None
    prompt: Prompt
    engine: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def numbered(count: int) -> Catalogue:
    """So many tools: those of public servers, again and again with a number."""
    known = tools()
    return Catalogue(
        tuple(
            Tool(
                f"{known[n % len(known)].name}_{n}", known[n % len(known)].description, known[n % len(known)].parameters
            )
            for n in range(count)
        )
    )


def ways(against: bool) -> list[Way]:
    required: dict[str, Any] = {"choice": Choice("required")}
    values = [f"unit-{number * 7919 % 100_003:06d}" for number in range(5000)]
    many = {"type": "array", "items": {"enum": values}, "minItems": 20}
    shown = numbered(SHOWN)
    asked = PROSE if against else f"Call {shown.tools[2].name}: {shown.tools[2].description[:200]}"
    call = render((Message("user", asked),), catalogue=shown, choice=Choice("required"))
    listed = render((Message("user", PROSE if against else LIST),), catalogue=Catalogue())
    return [
        Way("free", None, call),
        Way("20 tools", compile_catalogue(numbered(20), **required), call),
        Way("200 tools", compile_catalogue(numbered(200), **required), call),
        Way("200 tools, each behind a gate", compile_catalogue(numbered(200), **required, apart=True), call),
        Way("free list", None, listed),
        Way("enum of 5,000", compile_schema(many), listed),
    ]


async def measure(endpoint: LocalEndpoint, way: Way, seed: int, advised: Any) -> None:
    """One reply."""
    ids = list(await endpoint.tokens(way.prompt))
    tally = Tally()
    settings = replace(advised, temperature=0.7, seed=seed, max_tokens=LENGTH)
    begun: float | None = None
    async for _ in sample(endpoint, ids, way.grammar, settings, tally):
        begun = begun or time.perf_counter()
    count = tally.timings["predicted_n"]
    if begun is not None and count > 8:
        way.engine.append(tally.timings["predicted_ms"] / count)
        way.wall.append(1000 * (time.perf_counter() - begun) / count)


async def run(model: str, rounds: int, against: bool) -> list[Way]:
    config = load_config()
    config = config.model_copy(
        update={
            "model": config.model.model_copy(update={"name": model}),
            "engine": config.engine.model_copy(update={"slots": 1, "context": 4096}),
        }
    )
    found = ways(against)
    async with open_endpoint(config) as opened:
        for number in range(rounds + 1):
            for way in found:
                await measure(opened.endpoint, way, number, opened.sampling)
            if not number:
                for way in found:
                    way.engine.clear()
                    way.wall.clear()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--against", action="store_true", help="ask for prose, which no grammar of calls lets through")
    arguments = parser.parse_args()
    found = asyncio.run(run(arguments.model, arguments.rounds, arguments.against))
    free = found[0]
    print("| way | grammar bytes | replies | ms a token | against free | by the clock |")
    print("| --- | --- | --- | --- | --- | --- |")
    for way in found:
        free = way if way.grammar is None else free
        size = len(way.grammar.text) if way.grammar is not None else 0
        own, wall = statistics.median(way.engine), statistics.median(way.wall)
        print(
            f"| {way.name} | {size:,} | {len(way.engine)} | {own:.2f} | {own / statistics.median(free.engine):.2f} | "
            f"{wall / statistics.median(free.wall):.2f} |"
        )


if __name__ == "__main__":
    main()
