"""What the fuzzers share: the loop over seeds, and what `jsonschema-rs` says of a value where it can be believed."""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from tacid.schema.validate import refuse_to_fetch

#: A number that a double doesn't hold as it is written: with so small a fraction, or of more than 15 digits with one.
_FINE = re.compile(r"\.(0{5}|9{8})|(?=[\d.]{17})\d+\.\d+")


def fuzz(
    description: str | None,
    check: Callable[[int, Counter[str]], str | None],
    what: str,
    *,
    first: int | None = None,
    most: int = 10,
) -> int:
    """Check seed after seed, from ``first`` on or from the clock, as the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=first, help="where to begin; with --once the only one")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--most", type=int, default=most, help="findings after which it stops")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    begun = seed = args.seed if args.seed is not None else int(time.time()) * 1000
    ends, found = time.monotonic() + args.seconds, 0
    counts: Counter[str] = Counter()
    while time.monotonic() < ends and found < args.most:
        wrong = check(seed, counts)
        if wrong is not None:
            found += 1
            print(f"seed {seed}: {wrong}", flush=True)
        seed += 1
        if args.once:
            break
    print(f"{seed - begun:,} {what}, {found} findings; {dict(counts)}")
    return found > 0


def oracle_of(schema: Any) -> jsonschema_rs.Validator | None:
    """What judges values by a schema; ``None`` where `jsonschema-rs` can't read it."""
    try:
        return jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch, validate_formats=False)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return None


def is_valid(oracle: jsonschema_rs.Validator, value: Any) -> bool | None:
    """Whether a value is valid; ``None`` where the oracle can't say."""
    try:
        return oracle.is_valid(value)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def unlike(text: str) -> bool:
    """Whether a text has what the oracle reads otherwise: a line separator, which ``.`` doesn't match in ECMA-262, or a
    number that only more digits than a double has tell from an integer."""
    return _FINE.search(text) is not None or any(
        mark in text for mark in ("\\r", "\\u000d", "\\u000D", "2028", "2029", "\u2028", "\u2029")
    )


def repeats(text: str) -> bool:
    """Whether an object in a text has a member twice: its number of members isn't what the text says then."""
    seen: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: seen.append(len({k for k, _ in pairs}) < len(pairs)))
    return any(seen)
