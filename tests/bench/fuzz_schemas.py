"""Random schemas that love odd keywords and their combination, against jsonschema-rs.

    python -m tests.bench.fuzz_schemas --seconds 600 [--seed N] [--once]

Of each schema: what jsonschema-rs calls valid is admitted in some serialisation, texts drawn from the grammar are JSON
and, unless a widening is recorded, valid. Instances come from `hypothesis-jsonschema`, from the grammar by mutation,
and from the schema's own words. Prints what differs, with the seed that makes it again; ends with 1 if anything did.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis_jsonschema

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_schema
from tacid.grammar.walk import accepts
from tacid.schema.keywords import plain
from tests.bench.fuzzing import fuzz, is_valid, oracle_of, repeats, unlike
from tests.bench.odd_schemas import mutated, odd_schema, value_of
from tests.grammar.draw import draw
from tests.grammar.orders import texts

#: Instances and texts of one schema.
INSTANCES, TEXTS = 12, 8
#: One schema in so many also gets instances from `hypothesis-jsonschema`, which takes its time.
STRATEGY_EVERY = 6
#: Orders of one instance's members that are tried; an instance with more is passed over.
ORDERS = 720


def check(seed: int, counts: Counter[str]) -> str | None:
    """What is wrong with the schema of a seed; ``None`` if all is well."""
    rng = random.Random(seed)
    schema = odd_schema(rng)
    oracle = oracle_of(schema)
    if oracle is None:
        counts["no oracle"] += 1
        return None
    started = time.process_time()
    try:
        grammar: Grammar | None = compile_schema(schema, open_objects=True)
    except CompilerBug as error:
        return f"{json.dumps(schema)} is a bug: {error}"
    except GrammarError:
        grammar = None
    if (took := time.process_time() - started) > 2:
        return f"{json.dumps(schema)} took {took:.1f} s"
    counts["nothing fits" if grammar is None else "widened" if grammar.report.widenings else "exact"] += 1
    drawn: list[Any] = []
    for number in range(TEXTS if grammar is not None else 0):
        assert grammar is not None
        text = draw(grammar.rules, seed * TEXTS + number, size=60)
        try:
            value = plain(json.loads(text))
        except ValueError:
            return f"{json.dumps(schema)} draws {text!r}, which is no JSON"
        drawn.append(value)
        if not grammar.report.widenings and is_valid(oracle, value) is False and not repeats(text) and not unlike(text):
            return f"{json.dumps(schema)} is wide: {text}"
    for value in _instances(rng, schema, drawn, seed):
        # Draft 4's 1.0 is no integer; ours is, in every draft.
        value = plain(value)
        if _orders(value) > ORDERS or unlike(json.dumps(value)):
            continue
        valid = is_valid(oracle, value)
        counts["valid" if valid else "invalid"] += 1
        if valid and not (grammar is not None and any(accepts(grammar.rules, text) for text in texts(value, ORDERS))):
            return f"{json.dumps(schema)} is narrow: {json.dumps(value)}"
        if valid is False and grammar is not None and not grammar.report.widenings:
            for text in texts(value, ORDERS):
                if accepts(grammar.rules, text):
                    return f"{json.dumps(schema)} is wide: {text}"
    return None


def _instances(rng: random.Random, schema: Any, drawn: list[Any], seed: int) -> Iterator[Any]:
    for _ in range(INSTANCES):
        yield mutated(rng, rng.choice(drawn), schema) if drawn and rng.random() < 0.6 else value_of(rng, schema)
    if seed % STRATEGY_EVERY == 0 and isinstance(schema, (dict, bool)):
        yield from _strategy(schema, seed)


def _strategy(schema: Any, seed: int) -> list[Any]:
    """A few instances that `hypothesis-jsonschema` makes; none where it can't."""
    found: list[Any] = []
    try:
        strategy = hypothesis_jsonschema.from_schema(schema)

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=6, database=None, deadline=None, suppress_health_check=[*hypothesis.HealthCheck]
        )
        @hypothesis.given(strategy)
        def collect(value: Any) -> None:
            found.append(value)

        collect()
    except Exception:  # whatever it can't do says nothing about ours
        return []
    return [value for value in found if _size(value) < 12]


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _orders(value: Any) -> int:
    """In how many orders the members of a value can be written."""
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(map(_orders, value.values()))
    return math.prod(map(_orders, value)) if isinstance(value, list) else 1


if __name__ == "__main__":
    sys.exit(fuzz(__doc__, check, "schemas"))
