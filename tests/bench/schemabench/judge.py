"""One schema, judged: compiled, its instances offered to the grammar, or texts of the grammar to the oracle."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from tacid.errors import TacidError
from tacid.grammar import Grammar, compile_schema
from tacid.grammar.walk import accepts
from tests.bench.schemabench.engine import EngineGrammarError, GbnfEngine, OpenedGrammar
from tests.bench.schemabench.forms import texts
from tests.grammar.draw import draw

Row = dict[str, Any]


@dataclass(frozen=True)
class Judge:
    """What a worker has at hand; without an engine our own acceptor judges."""

    engine: GbnfEngine | None
    open_objects: bool

    def judge(self, case: Row, stage: Callable[[str], None]) -> Row:
        """The row of one schema and its instances."""
        schema, tests = case["schema"], case["tests"]
        row: Row = {"nv": sum(t["valid"] for t in tests), "ni": sum(not t["valid"] for t in tests), "status": "ok"}
        grammar, opened = self._prepare(schema, stage, row)
        if grammar is None:
            return row
        stage("match")
        row.update(v_ok=0, asis=0, order=0, slow=0, v_bad=[], i_bad=[])
        for index, test in enumerate(tests):
            hit = None
            for name, text in texts(test["data"], schema):
                answer = opened.match(text) if opened else int(accepts(grammar.rules, text))
                if answer == 1:
                    hit = name
                    break
                row["slow"] += answer < 0
            if test["valid"] and hit:
                row["v_ok"] += 1
                row["order"] += not hit.startswith("asis")
            elif test["valid"]:
                row["v_bad"].append(index)
            elif hit:
                row["i_bad"].append([index, failed_keyword(test), hit])
        row["i_rej"] = row["ni"] - len(row["i_bad"])
        row["peak"] = opened.peak if opened else 0
        return row

    def draw(self, case: Row, number: int, stage: Callable[[str], None]) -> Row:
        """The row of so many texts drawn from a schema's grammar, and what jsonschema-rs says of them."""
        row: Row = {"nv": 0, "ni": 0, "status": "ok"}
        try:
            oracle = jsonschema_rs.validator_for(case["schema"], validate_formats=True)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            return {**row, "status": "no oracle", "err": str(error)[:80]}
        grammar, opened = self._prepare(case["schema"], stage, row)
        if grammar is None:
            return row
        stage("draw")
        counts, broken = Counter[str](), Counter[str]()
        row.update(bad=None)
        for seed in range(1, number + 1):
            text = _drawn(grammar, opened, seed)
            if text is None:
                counts["unfinished"] += 1
                continue
            verdict = _verdict(oracle, text)
            if verdict == "beyond":
                continue
            counts["done"] += 1
            counts[verdict if verdict in ("valid", "not JSON", "repeated key") else "invalid"] += 1
            if verdict != "valid":
                broken[verdict] += 1
                row["bad"] = row["bad"] or [verdict, text[:200].decode(errors="replace")]
        return {**row, **counts, "broken": broken}

    def _prepare(
        self, schema: Any, stage: Callable[[str], None], row: Row
    ) -> tuple[Grammar | None, OpenedGrammar | None]:
        stage("compile")
        begun = time.process_time()
        try:
            grammar = compile_schema(schema, open_objects=self.open_objects)
        except TacidError as error:
            row.update(status="compile_error", err=str(error)[:300])
            return None, None
        row["compile_ms"] = (time.process_time() - begun) * 1e3
        row["size"] = len(grammar.text.encode())
        row["widened"] = sorted({widening.keyword for widening in grammar.report.widenings})
        if self.engine is None:
            return grammar, None
        stage("open")
        try:
            opened = self.engine.open(grammar.text)
        except EngineGrammarError as error:
            row.update(status="grammar_error", err=str(error)[:300])
            return None, None
        row["elements"] = opened.elements()
        return grammar, opened


def failed_keyword(test: Row) -> str:
    """The keyword that MaskBench's own validator named."""
    found = re.search(r"Failed validating '([^']+)' in schema", str(test.get("python_error") or ""))
    return found.group(1) if found else "?"


def _drawn(grammar: Grammar, opened: OpenedGrammar | None, seed: int) -> bytes | None:
    return opened.random(seed) if opened else draw(grammar.rules, seed).encode()


def _verdict(oracle: jsonschema_rs.Validator, text: bytes) -> str:
    """``valid``, ``not JSON``, ``repeated key``, ``beyond`` (what the oracle can't take), or the keyword broken."""
    try:
        value = json.loads(text.decode(), object_pairs_hook=_pairs)
    except KeyError:
        return "repeated key"
    except ValueError:
        return "not JSON"
    if not _finite(value):
        return "beyond"
    try:
        error = next(iter(oracle.iter_errors(value)), None)
    except (ValueError, TypeError, OverflowError):
        return "beyond"
    if error is None:
        return "valid"
    path = [part for part in error.schema_path if isinstance(part, str)]
    return path[-1] if path else "?"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise KeyError
    return dict(pairs)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, dict) or all(map(_finite, value.values()))
