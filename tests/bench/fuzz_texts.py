"""Texts drawn from grammars, against jsonschema-rs: each is JSON, and, unless a widening is recorded, valid.

    python -m tests.bench.fuzz_texts --seconds 600 [--seed N] [--once]

Schemas are those of the cases and random ones that love odd keywords, with objects closed and open, whole and as one
tool of a call. Texts are short and long. Prints what differs, with the seed that makes it again; ends with 1 if anything
did.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

from tacid.catalogue import Choice, Tool
from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_catalogue, compile_schema
from tacid.grammar.walk import accepts
from tacid.jsontext import loads
from tacid.schema.keywords import plain
from tests.bench.fuzzing import fuzz, is_valid, oracle_of, repeats, unlike
from tests.bench.odd_schemas import odd_schema
from tests.case_files import cases_of
from tests.grammar.draw import draw

#: Texts of one schema, and about how long they may be.
TEXTS, SIZES = 16, (5, 40, 200)
#: One schema in so many is a case's.
CASE_EVERY = 10
CASES = [case.schema for case in cases_of("schema.")]


def check(seed: int, counts: Counter[str]) -> str | None:
    """What is wrong with what is drawn for a seed; ``None`` if all is well."""
    rng = random.Random(seed)
    schema = rng.choice(CASES) if rng.randrange(CASE_EVERY) == 0 else odd_schema(rng)
    open_objects, as_call = rng.random() < 0.5, rng.random() < 0.3
    if as_call:
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False}
    oracle = oracle_of(schema)
    if oracle is None:
        counts["no oracle"] += 1
        return None
    try:
        grammar = _compiled(schema, open_objects, as_call)
    except CompilerBug as error:
        return f"{json.dumps(schema)} is a bug: {error}"
    except GrammarError:
        counts["nothing fits"] += 1
        return None
    exact = not grammar.report.widenings
    counts["exact" if exact else "widened"] += 1
    for number in range(TEXTS):
        text = draw(grammar.rules, seed * TEXTS + number, size=rng.choice(SIZES))
        if not accepts(grammar.rules, text):
            return f"{json.dumps(schema)}: the acceptor refuses {text!r}"
        try:
            value = plain(loads(text, "the text"))
        except Exception as error:
            return f"{json.dumps(schema)} draws {text!r}, which is no JSON: {error}"
        if as_call:
            if value.keys() != {"tool", "arguments"} or value["tool"] != "t":
                return f"{json.dumps(schema)} draws {text!r}, which is no call"
            value = value["arguments"]
        valid = is_valid(oracle, value)
        counts["valid" if valid else "invalid"] += 1
        if exact and valid is False and not repeats(text) and not unlike(text):
            return f"{json.dumps(schema)} is wide: {text}"
    return None


def _compiled(schema: Any, open_objects: bool, as_call: bool) -> Grammar:
    if as_call:
        return compile_catalogue([Tool("t", "", schema)], choice=Choice("required"), open_objects=open_objects)
    return compile_schema(schema, open_objects=open_objects)


if __name__ == "__main__":
    sys.exit(fuzz(__doc__, check, "schemas"))
