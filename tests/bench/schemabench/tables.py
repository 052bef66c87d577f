"""Rows of judged schemas as tables: how many are right, by split; what is still too wide or too narrow, by keyword."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

#: MaskBench's splits that are tools' schemas, and those that are hard.
TOOL_LIKE = ("BFCL", "Glaiveai2K", "MCPspec", "JME")
HARD = ("Github_hard", "Github_ultra", "JsonSchemaStore")


def split_of(name: str) -> str:
    """The split that a file of MaskBench belongs to."""
    return name.split("---")[0] if "---" in name else name.split("_")[0]


def read(path: Path) -> list[Row]:
    """Rows as they were kept."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def right(row: Row) -> bool:
    """Whether the grammar takes every valid instance and no invalid one, in time."""
    return row["status"] == "ok" and not row["v_bad"] and not row["i_bad"] and not row["slow"]


def report(rows: Sequence[Row], title: str) -> str:
    """All figures of a run as text."""
    tested = [row for row in rows if row["nv"] + row["ni"]]
    usable = [row for row in rows if row["status"] == "ok"]
    states = Counter(row["status"] for row in rows if row["status"] != "ok")
    valid, invalid = sum(row["nv"] for row in rows), sum(row["ni"] for row in rows)
    narrow, wide = [r for r in usable if r["v_bad"]], [r for r in usable if r["i_bad"]]
    unsaid = [row for row in wide if not row["widened"]]
    lines = [
        f"== {title}: {len(rows)} schemas, {len(tested)} with tests; {valid} valid, {invalid} invalid instances",
        f"usable {_share(len(usable), len(rows))} {dict(states) or ''}",
        f"valid accepted {_share(sum(row['v_ok'] for row in usable), valid)}"
        f" ({sum(row['order'] for row in usable)} of them in the schema's order only)",
        f"invalid refused {_share(sum(row['i_rej'] for row in usable), invalid)}",
        f"fully correct {_share(sum(map(right, tested)), len(tested))}; too narrow {len(narrow)}, too wide {len(wide)},"
        f" of these without a widening recorded {len(unsaid)}; slow {sum(bool(row['slow']) for row in usable)}",
        f"tool-like splits {_splits(tested, TOOL_LIKE)}; hard splits {_splits(tested, HARD)}",
        f"compile ms, p50 / p99 / max: {_quantiles(row['compile_ms'] for row in usable)}",
        f"grammar bytes, p50 / p99 / max: {_quantiles(row['size'] for row in usable)}",
    ]
    if any(row.get("elements") for row in usable):
        lines.append(f"engine's elements: {_quantiles(row['elements'] for row in usable)}")
        lines.append(f"most stacks: {_quantiles(row['peak'] for row in usable)}")
    by: defaultdict[str, list[Row]] = defaultdict(list)
    for row in tested:
        by[row["split"]].append(row)
    lines.extend(f"  {split:18} {_share(sum(map(right, by[split])), len(by[split]))}" for split in sorted(by))
    return "\n".join(lines)


def kinds(rows: Iterable[Row]) -> str:
    """What is wrong, by the keyword that the data's validator named; with the names of schemas."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["status"] != "ok":
            places[f"{row['status']}: {row.get('err', '')[:90]}"].append(row["id"])
            continue
        if row["v_bad"]:
            places["too narrow"].append(f"{row['id']} {row['v_bad']}")
        for index, keyword, _ in row["i_bad"]:
            said = "" if row["widened"] else ", not recorded"
            places[f"too wide: {keyword}{said}"].append(f"{row['id']} {index}")
    lines = []
    for kind, found in sorted(places.items(), key=lambda item: -len(item[1])):
        schemas = len({one.split(" ")[0] for one in found})
        lines.append(f"{len(found):5} in {schemas:4} schemas  {kind}: {', '.join(found[:8])}")
    return "\n".join(lines)


def compare(one: Path, other: Path) -> str:
    """What each of two results has right and the other hasn't."""
    left, both = {row["id"]: row for row in read(one)}, {row["id"]: row for row in read(other)}
    lines = []
    for mine, theirs, name in ((left, both, one), (both, left, other)):
        only = [key for key in mine if key in theirs and right(mine[key]) and not right(theirs[key])]
        lines += [f"right in {name} alone: {len(only)}", *(f"  {key}" for key in only[:40])]
    return "\n".join(lines)


def drawn(rows: Sequence[Row]) -> str:
    """The figures of texts drawn from grammars."""
    states = Counter(row["status"] for row in rows)
    some = [row for row in rows if row["status"] == "ok" and row.get("done")]
    total, broken = Counter[str](), Counter[str]()
    for row in some:
        total.update({key: row.get(key, 0) for key in ("done", "valid", "not JSON", "repeated key", "unfinished")})
        broken.update(row["broken"])
    all_valid = [row for row in some if row.get("valid", 0) == row["done"]]
    unsaid = [row for row in some if row.get("valid", 0) < row["done"] and not row["widened"]]
    lines = [
        f"== {len(rows)} schemas {dict(states)}",
        f"texts {total['done']} ({total['unfinished']} unfinished): valid {_share(total['valid'], total['done'])},"
        f" not JSON {total['not JSON']}, with a repeated key {total['repeated key']}",
        f"schemas whose every text is valid {_share(len(all_valid), len(some))}; invalid and no widening recorded:"
        f" {len(unsaid)}",
        "broken: " + ", ".join(f"{keyword} {number}" for keyword, number in broken.most_common(25)),
    ]
    lines += [f"  not recorded: {row['id']} {row['bad']}" for row in unsaid[:20]]
    return "\n".join(lines)


def _splits(rows: Sequence[Row], splits: Sequence[str]) -> str:
    chosen = [row for row in rows if row["split"] in splits]
    return _share(sum(map(right, chosen)), len(chosen))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.2f} %)" if whole else str(part)


def _quantiles(values: Iterable[float]) -> str:
    ordered = sorted(values) or [0.0]
    picked = [ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.99, 1)]
    return " / ".join(
        f"{value:,.2f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}" for value in picked
    )
