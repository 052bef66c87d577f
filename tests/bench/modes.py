"""What the tool modes cost on one model: tokens and seconds of a cold first call, of a warm second one, and their hops.

    python -m tests.bench.modes --model NAME|PATH [--tools 100] [--questions 6] [--modes full direct deferred]
        [--context 16384] [--index line]

The catalogue are so many of BFCL's functions (``pip install --no-deps bfcl-eval``), always the same; the questions are
those of ``simple_python`` whose function is among them. Each mode has an engine of its own, which has read nothing: its
first call is cold; each further one brings the same tools. A call is demanded, so that the modes do the same work.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Call, Message, Truncated
from tacid.config import load_config
from tacid.endpoints.opening import open_endpoint
from tacid.prompt.index import IndexStyle
from tacid.schema.validate import Validators
from tacid.turn.mode import run_local
from tacid.turn.request import Modes, TurnRequest, TurnResult
from tests.bench.search_recall import data_folder, pool, rows

#: Types of BFCL's schemas that are not JSON Schema's.
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None, "list": "array", "String": "string"}
SEED = 20_261_203


@dataclass(frozen=True)
class Cost:
    """One call: tokens in all its prompts, of them read anew, written; seconds, hops, and whether its arguments fit."""

    prompt: int
    read: int
    written: int
    seconds: float
    hops: int
    valid: bool
    right: bool


def tool(function: dict[str, Any]) -> Tool:
    """A function of BFCL's as a tool."""
    return _converted(Tool(function["name"], function["description"], function["parameters"]))


def _converted(one: Tool) -> Tool:
    return Tool(re.sub(r"[^A-Za-z0-9_-]", "_", one.name), one.description, _schema(one.parameters))


def _schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    held = {key: _schema(value) for key, value in schema.items()}
    if isinstance(kind := schema.get("type"), str) and kind in _TYPES:
        held["type"] = _TYPES[kind]
        if held["type"] is None:
            del held["type"]
    return held


def catalogue(count: int) -> tuple[Catalogue, list[tuple[str, str]]]:
    """So many tools, and the questions that one of them serves, each with its name."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("bfcl-eval isn't installed: pip install --no-deps bfcl-eval")
    asked = {tool(row["function"][0]).name: row for row in rows(folder / "BFCL_v4_simple_python.json")}
    known = {one.name: one for one in map(_converted, pool(folder))}
    order = sorted(known)
    random.Random(SEED).shuffle(order)
    chosen = sorted(order[:count])
    questions = [(asked[name]["question"][0][0]["content"], name) for name in order[:count] if name in asked]
    return Catalogue(tuple(known[name] for name in chosen)), questions


async def costs(arguments: argparse.Namespace, mode: Any) -> list[Cost]:
    """One engine, one call a question."""
    config = load_config()
    engine = config.engine.model_copy(update={"slots": 1, "context": arguments.context})
    config = config.model_copy(
        update={"engine": engine, "model": config.model.model_copy(update={"name": arguments.model})}
    )
    tools, questions = catalogue(arguments.tools)
    validators = Validators(tools)
    found: list[Cost] = []
    async with open_endpoint(config) as opened:
        sampling = replace(opened.sampling, temperature=0.0, max_tokens=256)
        for text, name in questions[: arguments.questions]:
            request = TurnRequest(
                (Message("user", text),),
                tools,
                choice=Choice("required"),
                sampling=sampling,
                on_invalid="mark",
                modes=Modes(mode, context=opened.context, index=arguments.index, tokens=arguments.index_tokens),
            )
            begun = time.perf_counter()
            result = await _result(opened.endpoint, request)
            took = time.perf_counter() - begun
            done, usage = result.completion, result.usage
            valid = isinstance(done, Truncated) or (
                isinstance(done, Call) and not validators.problems(done.name, done.arguments)
            )
            right = isinstance(done, Call) and done.name == name
            read = usage.prompt - usage.cached
            found.append(Cost(usage.prompt, read, usage.completion, took, result.infos, valid, right))
    return found


async def _result(endpoint: Any, request: TurnRequest) -> TurnResult:
    async for event in run_local(endpoint, request):
        if isinstance(event, TurnResult):
            return event
    raise AssertionError


def shown(mode: str, found: Sequence[Cost]) -> str:
    cold, warm = found[0], found[1:] or found
    return (
        f"| {mode} | {cold.read:,} | {cold.seconds:.1f} | {statistics.median(one.read for one in warm):,.0f} | "
        f"{statistics.median(one.seconds for one in warm):.1f} | {statistics.mean(one.hops for one in found):.2f} | "
        f"{sum(one.right for one in found)}/{len(found)} | {sum(one.valid for one in found)}/{len(found)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tools", type=int, default=100)
    parser.add_argument("--questions", type=int, default=6)
    parser.add_argument("--modes", nargs="+", default=["full", "direct", "deferred"])
    parser.add_argument("--context", type=int, default=16_384)
    parser.add_argument("--index", choices=get_args(IndexStyle), default="line")
    parser.add_argument("--index-tokens", type=int, default=2048)
    arguments = parser.parse_args()
    print("| mode | cold: tokens read | s | warm: tokens read | s | hops | right tool | valid |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for mode in arguments.modes:
        print(shown(mode, asyncio.run(costs(arguments, mode))), flush=True)


if __name__ == "__main__":
    main()
