"""Random patterns against an ECMA-262 engine that isn't ours, as automata and as grammars.

    python -m tests.bench.fuzz_patterns --seconds 600 [--seed N] [--once]

Prints what differs, with the seed that makes it again; ends with 1 if anything did.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tacid.patterns import string_language
from tests.bench.fuzzing import fuzz
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


def _counted(seed: int, counts: Counter[str]) -> str | None:
    result = check(seed)
    if result == "skipped":
        counts["not read by the engine"] += 1
        return None
    return result


if __name__ == "__main__":
    sys.exit(fuzz(__doc__, _counted, "patterns", first=0, most=20))
