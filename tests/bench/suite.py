"""``python -m tests.bench.suite --tests DIR [--draft draft7 …] [--list]``: the official JSON-Schema-Test-Suite.

DIR holds ``draft4`` to ``draft2020-12`` of the suite (GitHub json-schema-org/JSON-Schema-Test-Suite, folder ``tests``,
MIT; the source package ``jsonschema`` on PyPI carries it as ``json/tests``). Every valid instance must be admitted in
some serialisation, every invalid one refused: by the grammar, or by the check where a widening is recorded. What needs
a remote document is told apart, since nothing is ever fetched. Prints a table by keyword; exits 1 on a finding.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_schema
from tacid.grammar.walk import accepts
from tacid.schema.validate import refuse_to_fetch
from tests.grammar.orders import texts

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
#: Serialisations of one instance that are tried.
MOST = 5000


@dataclass(frozen=True)
class Verdict:
    """How one instance fared: ``admitted``, ``grammar``, ``check``, or a finding (``narrow``, ``wide``)."""

    keyword: str
    outcome: str
    where: str


def instances(folder: Path, draft: str) -> Iterator[tuple[str, Any, list[dict[str, Any]], str]]:
    """Each schema of a draft, with ``$schema`` set: keyword, schema, instances, where it stands."""
    for path in sorted((folder / draft).rglob("*.json")):
        keyword = str(path.relative_to(folder / draft).with_suffix(""))
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            yield keyword, schema, group["tests"], f"{draft}/{keyword}: {group['description']}"


def admits(grammar: Grammar | None, value: Any) -> bool:
    """Whether any serialisation of a value is admitted."""
    return grammar is not None and any(accepts(grammar.rules, text) for text in texts(value, MOST))


def judge(keyword: str, schema: Any, tests: list[dict[str, Any]], where: str) -> Iterator[Verdict]:
    """The verdicts on the instances of one schema."""
    try:
        grammar = compile_schema(schema, open_objects=True)
    except CompilerBug:
        raise
    except GrammarError:
        grammar = None
    widened = grammar is not None and bool(grammar.report.widenings)
    formats = keyword.startswith("optional/format")
    try:
        validator = jsonschema_rs.validator_for(schema, retriever=refuse_to_fetch, validate_formats=formats)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        validator = None
    for test in tests:
        admitted = admits(grammar, test["data"])
        place = f"{where}: {test['description']}"
        if test["valid"]:
            yield Verdict(keyword, "admitted" if admitted else "narrow", place)
        elif not admitted:
            yield Verdict(keyword, "grammar", place)
        elif not widened:
            yield Verdict(keyword, "wide", place)
        elif validator is None:
            yield Verdict(keyword, "unchecked", place)
        else:
            yield Verdict(keyword, "missed" if validator.is_valid(test["data"]) else "check", place)


def table(verdicts: list[Verdict]) -> str:
    """A row for each keyword: valid instances admitted, invalid ones refused by grammar and by check, the rest."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        rows[verdict.keyword][verdict.outcome] += 1
    columns = ("admitted", "narrow", "grammar", "check", "unchecked", "missed", "wide")
    lines = ["| keyword | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for keyword, row in sorted(rows.items()):
        lines.append(f"| {keyword} | " + " | ".join(str(row[column] or "") for column in columns) + " |")
    total = Counter(verdict.outcome for verdict in verdicts)
    lines.append("| all | " + " | ".join(str(total[column] or "") for column in columns) + " |")
    return "\n".join(lines)


def main() -> int:
    """Judge, print the table and the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=Path, required=True, help="the suite's folder with draft4 to draft2020-12")
    parser.add_argument("--draft", action="append", choices=[*DRAFTS])
    parser.add_argument("--list", action="store_true", help="name every instance that the grammar alone doesn't settle")
    args = parser.parse_args()
    if not (args.tests / "draft2020-12").is_dir():
        parser.error(f"{args.tests} holds no suite: there is no folder draft2020-12 in it")
    verdicts = [
        verdict for draft in args.draft or DRAFTS for group in instances(args.tests, draft) for verdict in judge(*group)
    ]
    print(table(verdicts))
    shown = ("narrow", "wide", "missed", "unchecked", "check") if args.list else ("narrow", "wide")
    for verdict in verdicts:
        if verdict.outcome in shown:
            print(verdict.outcome, verdict.where)
    return any(verdict.outcome in ("narrow", "wide") for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
