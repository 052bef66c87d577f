"""Random patterns against an ECMA-262 engine that isn't ours, as automata and as grammars.

    python -m tests.bench.fuzz_patterns --seconds 600 [--seed N]

Prints what differs, with the seed that makes it again; ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tacid.patterns import string_language
from tests.grammar.draw import draw
from tests.patterns.engines import found_in, pattern, text


def check(seed: int) -> str | None:
    """What is wrong with the pattern of a seed; ``None`` if all is well, ``"skipped"`` if the engine can't say."""
    rng = random.Random(seed)
    wanted = pattern(rng)
    texts = [text(rng) for _ in range(12)]
    found = found_in(wanted, texts)
    if found is None:
        return "skipped"
    least, most = rng.choice(((0, None), (0, None), (0, 3), (2, None), (1, 4)))
    schema = {"type": "string", "pattern": wanted, "minLength": least, **({} if most is None else {"maxLength": most})}
    fits = {one: bool(yes) and _within(one, least, most) for one, yes in zip(texts, found, strict=True)}
    language = string_language(wanted, least, most)
    if language is not None:
        for one, right in fits.items():
            if language.accepts(one) != right:
                return f"the automaton of {schema} is wrong on {one!r}, which should be {right}"
    try:
        grammar = compile_schema(schema)
    except GrammarError:
        fitting = [one for one, right in fits.items() if right]
        return f"nothing fits {schema}, says the compiler; {fitting[0]!r} does" if fitting else None
    exact = not grammar.report.widenings
    for one, right in fits.items():
        admitted = accepts(grammar.rules, dumps(one))
        if admitted != right and (right or exact):
            return f"the grammar of {schema} is wrong on {one!r}, which should be {right}"
    drawn = [json.loads(draw(grammar.rules, number, size=12)) for number in range(4)]
    found = found_in(wanted, drawn)
    for one, yes in zip(drawn, found or (), strict=False):
        if exact and yes is not None and not (yes and _within(one, least, most)):
            return f"the grammar of {schema} gives {one!r}"
    return None


def _within(one: str, least: int, most: int | None) -> bool:
    return least <= len(one) and (most is None or len(one) <= most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    seed, skipped, wrong = arguments.seed, 0, 0
    while time.monotonic() < until and wrong < 20:
        result = check(seed)
        skipped += result == "skipped"
        if result not in (None, "skipped"):
            wrong += 1
            print(f"seed {seed}: {result}", flush=True)
        seed += 1
    print(f"{seed - arguments.seed:,} patterns, of which the engine doesn't read {skipped:,}; {wrong} findings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
