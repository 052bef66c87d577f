"""Random schemas that love odd keywords and their combination, against jsonschema-rs.

    python -m tests.bench.fuzz_schemas --seconds 600 [--seed N] [--once]

Of each schema: what jsonschema-rs calls valid is admitted in some serialisation, texts drawn from the grammar are JSON
and, unless a widening is recorded, valid. Instances come from `hypothesis-jsonschema`, from the grammar by mutation,
and from the schema's own words. Prints what differs, with the seed that makes it again; ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis_jsonschema
import jsonschema_rs

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_schema
from tacid.grammar.walk import accepts
from tacid.schema.keywords import plain
from tacid.schema.validate import refuse_to_fetch
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
    try:
        oracle = jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch, validate_formats=False)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
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
        if not grammar.report.widenings and _valid(oracle, value) is False and not _repeats(text) and not _unlike(text):
            return f"{json.dumps(schema)} is wide: {text}"
    for value in _instances(rng, schema, drawn, seed):
        # Draft 4's 1.0 is no integer; ours is, in every draft.
        value = plain(value)
        if _orders(value) > ORDERS or _unlike(json.dumps(value)):
            continue
        valid = _valid(oracle, value)
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


#: A number that a double doesn't hold as it is written: with so small a fraction, or of more than 15 digits with one.
_FINE = re.compile(r"\.(0{5}|9{8})|(?=[\d.]{17})\d+\.\d+")


def _orders(value: Any) -> int:
    """In how many orders the members of a value can be written."""
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(map(_orders, value.values()))
    return math.prod(map(_orders, value)) if isinstance(value, list) else 1


def _unlike(text: str) -> bool:
    """Whether a text has what the oracle reads otherwise: a line separator, which ``.`` doesn't match in ECMA-262, or a
    number that only more digits than a double has tell from an integer."""
    return _FINE.search(text) is not None or any(
        mark in text for mark in ("\\r", "\\u000d", "\\u000D", "2028", "2029", "\u2028", "\u2029")
    )


def _valid(oracle: jsonschema_rs.Validator, value: Any) -> bool | None:
    """Whether a value is valid; ``None`` where the oracle can't say."""
    try:
        return oracle.is_valid(value)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _repeats(text: str) -> bool:
    """Whether an object in a text has a member twice: its number of members isn't what the text says then."""
    seen: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: seen.append(len({k for k, _ in pairs}) < len(pairs)))
    return any(seen)


def main() -> int:
    """Fuzz until the time is up, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; with --once the only one")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--most", type=int, default=10, help="findings after which it stops")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    seed = args.seed if args.seed is not None else int(time.time()) * 1000
    ends, first, found = time.monotonic() + args.seconds, seed, 0
    counts: Counter[str] = Counter()
    while time.monotonic() < ends and found < args.most:
        wrong = check(seed, counts)
        if wrong is not None:
            found += 1
            print(f"seed {seed}: {wrong}", flush=True)
        seed += 1
        if args.once:
            break
    print(f"{seed - first:,} schemas, {found} findings; {dict(counts)}")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
