"""A page of runs, modes side by side: what was right, and what it cost in tokens, seconds and hops, by size of pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from tacid.errors import InputError
from tacid.evaluation.categories import in_order
from tacid.evaluation.plots import Line, plot
from tacid.evaluation.rows import Item, Run, read_run
from tacid.evaluation.summary import average, figures

_ABOUT = (
    "Questions, answers and checker are those of bfcl-eval. The average gives every category the same weight. Validity "
    "is the share of replies with calls whose arguments all fit their schemas. Tokens are means of a question, summed "
    "over its hops; cached ones were not read again. Made by: tacid eval report."
)
_COLUMNS = (
    "run", "pool", "items", "average", "valid", "errors", "tokens read", "of them cached", "written", "s, median",
    "s, p95", "hops",
)  # fmt: skip


def load_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in these files, and in all ``*.jsonl`` of these directories. Raises ``InputError``: unreadable, none."""
    found: list[Path] = []
    for path in paths:
        found += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not found:
        raise InputError(f"There is no run in {', '.join(map(str, paths))}; make one with tacid eval bfcl.")
    return [read_run(path) for path in found]


def page(runs: Sequence[Run]) -> str:
    """The page as HTML, all in one file. Raises ``InputError`` where the plotting library isn't installed."""
    models = sorted({run.settings.model for run in runs})
    sections = [_section(model, [run for run in runs if run.settings.model == model]) for model in models]
    template = Template((files("tacid.evaluation") / "report.html").read_text(encoding="utf-8"))
    title = "How tools are offered: " + ", ".join(models)
    return template.substitute(title=escape(title), about=escape(_ABOUT), sections="\n".join(sections))


def _section(model: str, runs: Sequence[Run]) -> str:
    runs = sorted(runs, key=lambda run: (run.settings.pool, _mode(run), str(run.path)))
    common = [
        category.name
        for category in in_order(set.intersection(*(set(run.settings.items) for run in runs)))
        if all(run.by_category[category.name] for run in runs)
    ]
    asked = in_order(name for run in runs for name in run.settings.items)
    drawn = _plots(runs, common) if common else []
    words = f"Averages over {', '.join(common)}, which every run was asked." if common else "No category is common."
    return "\n".join(
        [
            f"<h2>{escape(model)}</h2>",
            _table("Modes side by side", _COLUMNS, [_row(run) for run in runs]),
            _table(
                "Percent right by category",
                ("category", *(_named(run) for run in runs)),
                [_scores(category.name, runs) for category in asked],
            ),
            f'<p class="note">{escape(words)}</p>',
            f'<div class="plots">{"".join(drawn)}</div>',
        ]
    )


def _mode(run: Run) -> str:
    """The mode, with what else is special about the run."""
    return run.settings.tool_mode + (f", {run.settings.label}" if run.settings.label else "")


def _named(run: Run) -> str:
    return f"{_mode(run)}, pool {run.settings.pool}" if run.settings.pool else _mode(run)


def _row(run: Run) -> list[str]:
    told = figures(list(run.items.values()))
    planned = sum(run.settings.items.values())
    return [
        _mode(run),
        f"{run.settings.pool}{' + catalogue' if run.settings.tools else ''}",
        f"{told['n']}" if run.complete else f"{told['n']} of {planned}, unfinished",
        _number(average(list(run.by_category.values())), ".1f"),
        _number(told["validity"], ".1f"),
        str(told["errors"]),
        _number(told["tokens"]["prompt"], ",.0f"),
        _number(told["tokens"]["cached"], ",.0f"),
        _number(told["tokens"]["completion"], ",.0f"),
        _number(told["latency"]["p50"], ".2f"),
        _number(told["latency"]["p95"], ".2f"),
        _number(told["hops"], ".2f"),
    ]


def _scores(category: str, runs: Sequence[Run]) -> list[str]:
    cells = []
    for run in runs:
        items = run.by_category.get(category, [])
        cells.append(f"{_number(figures(items)['score'], '.1f')} of {len(items)}" if items else "–")
    return [category, *cells]


def _plots(runs: Sequence[Run], categories: Sequence[str]) -> list[str]:
    """The figures by size of pool, a line for each mode."""
    groups = [[run.by_category[name] for name in categories] for run in runs]
    everything: list[dict[str, Any]] = [figures([item for items in group for item in items]) for group in groups]
    measures: list[tuple[str, str, list[float | None]]] = [
        ("Accuracy", "percent right", [average(group) for group in groups]),
        ("Tokens read", "tokens a question", [told["tokens"]["prompt"] for told in everything]),
        ("Tokens read anew", "tokens a question", [_anew(group) for group in groups]),
        ("Time", "seconds, median", [told["latency"]["p50"] for told in everything]),
        ("Hops", "hops a question", [told["hops"] for told in everything]),
    ]
    drawn = []
    for title, unit, values in measures:
        lines: dict[str, list[tuple[float, float]]] = {}
        for run, value in zip(runs, values, strict=True):
            if value is not None:
                lines.setdefault(_mode(run), []).append((run.settings.pool, value))
        if lines:
            drawn.append(
                plot(title, "pooled tools", unit, [Line(name, sorted(points)) for name, points in lines.items()])
            )
    return drawn


def _anew(group: Iterable[Sequence[Item]]) -> float | None:
    items = [item for part in group for item in part]
    return sum(item.tokens.prompt - item.tokens.cached for item in items) / len(items) if items else None


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>\n<thead><tr>{cells}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


__all__ = ["load_runs", "page"]
