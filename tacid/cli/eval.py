"""`tacid eval`: how good a way of offering tools is."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tacid.cli.console import err, notice, say
from tacid.errors import InputError
from tacid.evaluation.categories import read_categories
from tacid.evaluation.package import INSTALL
from tacid.evaluation.parity import Outcome, Verdict, judge
from tacid.evaluation.rows import Item, ToolMode, read_run
from tacid.evaluation.session import Options
from tacid.evaluation.summary import figures, summaries

app = typer.Typer(
    no_args_is_help=True,
    help="Measure how well a model calls, and whether a mode that shows it less is as good as showing it all.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

CATEGORIES_HELP = "Categories of BFCL with commas between them; default: all ten."

Categories = Annotated[str | None, typer.Option(metavar="A,B", help=CATEGORIES_HELP)]
Model = Annotated[
    str | None, typer.Option(help="Start a server with this model: a pin by name, or the path of a GGUF file.")
]
Tools = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A catalogue of tools that every question sees beside its own.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="So many questions of each category, drawn by the seed; default: all.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Draws questions and pool, and seeds the sampling.")]
Pool = Annotated[
    int,
    typer.Option(
        min=0,
        max=4000,
        help="So many functions of other questions stand before each question's own, the same for all.",
    ),
]
MaxTokens = Annotated[int, typer.Option(min=1, max=32_768, help="The most tokens of a reply.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and start nothing.")]


@app.command("bfcl", epilog=f"BFCL's questions and its checker come from bfcl-eval: {INSTALL}")
def bfcl(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The rows of the run, JSON lines; goes on where it was.")],
    model: Model = None,
    engine: Annotated[
        str | None, typer.Option(metavar="URL", help="Start a server before this engine that runs, http://host:port.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask this OpenAI endpoint, http://host:port/v1; its key: OPENAI_API_KEY."),
    ] = None,
    model_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model to ask for; default: the first that is served.")
    ] = None,
    tool_mode: Annotated[ToolMode, typer.Option(help="How the server is to offer the tools.")] = "full",
    categories: Categories = None,
    limit: Limit = None,
    seed: Seed = 0,
    pool: Pool = 0,
    tools: Tools = None,
    max_tokens: MaxTokens = 1024,
    label: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What else is special about this run; for the page.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Ask BFCL's questions and check the calls with its own checker.

    Without --base-url it starts a server as tacid serve does, with --model or the configured one,
    for as long as the run lasts (its log goes beside FILE). Every reply is a row of FILE as soon
    as it is there; the same command goes on where it was, another one wants another FILE.

    The categories: simple_python, multiple, parallel, parallel_multiple, irrelevance, live_simple,
    live_multiple, live_parallel, live_parallel_multiple, live_relevance.

    Example: tacid eval bfcl --model qwen2.5-coder-1.5b-instruct --limit 50 --out full.jsonl
    """
    options = Options(
        read_categories(categories), out, tool_mode, limit, seed, pool, tools, max_tokens, label, base_url, model_name,
        os.environ.get("OPENAI_API_KEY"), model, engine,
    )  # fmt: skip
    if base_url is not None and (model is not None or engine is not None):
        raise InputError("--base-url names what is asked, and nothing is started; leave out --model and --engine.")
    package, chosen = options.prepare()
    for name in chosen.dropped:
        notice(f"tacid: {tools} has a tool {name}, which a question brings too; the catalogue's is left out.")
    if dry_run:
        for name, count in chosen.counts.items():
            say(f"{name}: {count} items")
        say(
            f"{len(chosen.questions)} items, {len(chosen.pooled)} pooled tools before each one's own, "
            f"mode {tool_mode}, asked of {options.target()}, rows to {out}; "
            f"bfcl-eval {package.version}. Nothing was started."
        )
        return
    with _progress() as shown:
        done = asyncio.run(options.perform(package, chosen, shown, shown.note))
    for row in summaries(done):
        say(_line(row))


def _line(row: dict[str, Any]) -> str:
    """A row of summary for a person."""
    if "score" not in row:
        return f"{row['name']}: {'not told' if row['value'] is None else format(row['value'], '.2f')}"
    validity = "" if row["validity"] is None else f", {row['validity']:.1f} % of the calls valid"
    hops = "" if row["hops"] is None else f", {row['hops']:.2f} hops"
    score = "-" if row["score"] is None else f"{row['score']:.1f} %"
    return (
        f"{row['name']}: {score} of {row['n']}{validity}, {row['errors']} errors, "
        f"{row['tokens']['prompt'] or 0:,.0f} tokens read ({row['tokens']['cached'] or 0:,.0f} cached), "
        f"{row['latency']['p50'] or 0:.1f} s (p95 {row['latency']['p95'] or 0:.1f}){hops}"
    )


class _Shown:
    """A bar with the running score; a line for each category that is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def note(self, text: str) -> None:
        notice(f"tacid: {text}", style="dim")

    def at(self, done: int, total: int, category: str, score: float | None) -> None:
        words = category if score is None else f"{category}, {score:.1f} % so far"
        self._progress.update(self._task, completed=done, total=total, description=words)

    def finished(self, category: str, items: list[Item]) -> None:
        told = figures(items)
        notice(f"tacid: {category}: {told['right']} of {told['n']} right ({told['score']:.1f} %)", style="dim")


@contextmanager
def _progress() -> Iterator[_Shown]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=err) as progress:
        yield _Shown(progress)


@app.command("parity")
def parity(
    full: Annotated[Path, typer.Option(metavar="FILE", help="The run in the mode full.")],
    deferred: Annotated[Path, typer.Option(metavar="FILE", help="The run in the mode that is judged.")],
    require_hop_stats: Annotated[
        bool, typer.Option("--require-hop-stats", help="Not measured, unless every reply says how many hops it took.")
    ] = False,
    categories: Categories = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the verdict there too, as JSON.")] = None,
) -> None:
    """Judge a mode by two runs of tacid eval bfcl: accept, better, reject, or not measured.

    accept: the average over the categories lies within 2 points of the full run's, no category
    lost more than 10 points (a small one may lose 3 items in any case), and a question took 2
    hops or fewer in the mean. better: as accept, and the average is higher by more than 2 points.
    reject: anything else that was measured.

    not measured: the runs were not asked the same (items, seed, pool, model, limits), items are
    missing, a category has fewer than 10 items, the full run has under 30 % right where arguments
    are checked or over 5 % of its replies can't be read, or hop counts are missing.

    The interval is a paired bootstrap, the same at every call; the rule looks at the figure itself.

    Exit codes: 0 accept or better, 1 reject, 2 not measured (an unreadable run too).

    Example: tacid eval parity --full full.jsonl --deferred deferred.jsonl --require-hop-stats
    """
    try:
        wanted = read_categories(categories)
        verdict = judge(read_run(full), read_run(deferred), wanted, require_hops=require_hop_stats)
    except InputError as error:
        # A gate that can't read its runs hasn't rejected anything.
        verdict = Verdict(Outcome.NOT_MEASURED, (str(error),))
    _show(verdict)
    if out is not None:
        try:
            out.write_text(json.dumps(verdict.document(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            notice(f"tacid: the verdict could not be written to {out}: {error.strerror}.", style="red")
            raise typer.Exit(Outcome.NOT_MEASURED.status) from None
    raise typer.Exit(verdict.outcome.status)


def _show(verdict: Verdict) -> None:
    if verdict.rows:
        width = max(len(row.category) for row in verdict.rows)
        say(f"{'category':{width}}  items   full  other  lost  allowed", style="bold")
        for row in verdict.rows:
            say(
                f"{row.category:{width}}  {row.n:5}  {100 * row.full / row.n if row.n else 0:5.1f}  "
                f"{100 * row.deferred / row.n if row.n else 0:5.1f}  {row.lost:4}  {row.may_lose:7}"
            )
    if verdict.difference is not None and verdict.interval is not None:
        low, high = verdict.interval
        say(
            f"average: {verdict.full:.1f} in full, {verdict.deferred:.1f} in the other: {verdict.difference:+.1f} "
            f"points (95 % interval {low:+.1f} to {high:+.1f})"
        )
        say("hops: not told" if verdict.hops is None else f"hops: {verdict.hops:.2f} in the mean")
    good = verdict.outcome.status == 0
    say(verdict.outcome.value, style="bold green" if good else "bold red")
    for reason in verdict.reasons:
        notice(f"tacid: {reason}", style="green" if good else "yellow")


__all__ = ["app"]
