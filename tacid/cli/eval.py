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
from tacid.errors import InputError, TacidError
from tacid.evaluation.both import commands, sides, verdict_path
from tacid.evaluation.categories import read_categories
from tacid.evaluation.package import INSTALL
from tacid.evaluation.parity import Outcome, Verdict, judge
from tacid.evaluation.report import load_runs, page
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
Engine = Annotated[
    str | None, typer.Option(metavar="URL", help="Start a server before this engine that runs, http://host:port.")
]
BaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Ask this OpenAI endpoint, http://host:port/v1; its key: OPENAI_API_KEY."),
]
ModelName = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model to ask for; default: the first that is served.")
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
Streams = Annotated[
    int,
    typer.Option(
        min=1, max=64, help="Questions that are asked at a time: sooner done, each of them later; a setting of the run."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and start nothing.")]


@app.command("bfcl", epilog=f"BFCL's questions and its checker come from bfcl-eval: {INSTALL}")
def bfcl(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The rows of the run, JSON lines; goes on where it was.")],
    model: Model = None,
    engine: Engine = None,
    base_url: BaseUrl = None,
    model_name: ModelName = None,
    tool_mode: Annotated[ToolMode, typer.Option(help="How the server is to offer the tools.")] = "full",
    categories: Categories = None,
    limit: Limit = None,
    seed: Seed = 0,
    pool: Pool = 0,
    tools: Tools = None,
    max_tokens: MaxTokens = 1024,
    streams: Streams = 1,
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
        os.environ.get("OPENAI_API_KEY"), model, engine, None, streams,
    )  # fmt: skip
    _check(options)
    _ask(options, dry_run=dry_run)


def _check(options: Options) -> None:
    if options.base_url is not None and (options.model is not None or options.engine is not None):
        raise InputError("--base-url names what is asked, and nothing is started; leave out --model and --engine.")


def _ask(options: Options, *, dry_run: bool) -> None:
    """Do a run, or say what it would be."""
    package, chosen = options.prepare()
    for name in chosen.dropped:
        notice(f"tacid: {options.tools} has a tool {name}, which a question brings too; the catalogue's is left out.")
    if dry_run:
        for name, count in chosen.counts.items():
            say(f"{name}: {count} items")
        say(
            f"{len(chosen.questions)} items, {len(chosen.pooled)} pooled tools before each one's own, "
            f"mode {options.tool_mode}, asked of {options.target()}, rows to {options.out}; "
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
    raise typer.Exit(_judge(full, deferred, categories, require_hops=require_hop_stats, out=out))


def _judge(full: Path, deferred: Path, categories: str | None, *, require_hops: bool, out: Path | None) -> int:
    """Judge, show and write; the exit status."""
    try:
        wanted = read_categories(categories)
        verdict = judge(read_run(full), read_run(deferred), wanted, require_hops=require_hops)
    except InputError as error:
        # A gate that can't read its runs hasn't rejected anything.
        verdict = Verdict(Outcome.NOT_MEASURED, (str(error),))
    _show(verdict)
    if out is not None:
        try:
            out.write_text(json.dumps(verdict.document(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            notice(f"tacid: the verdict could not be written to {out}: {error.strerror}.", style="red")
            return Outcome.NOT_MEASURED.status
    return verdict.outcome.status


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


@app.command("run")
def run(
    out_dir: Annotated[Path, typer.Option(metavar="DIR", help="Where the rows of both runs and the verdict go.")],
    model: Model = None,
    engine: Engine = None,
    base_url: BaseUrl = None,
    model_name: ModelName = None,
    tool_mode: Annotated[ToolMode, typer.Option(help="The mode that is judged beside full.")] = "deferred",
    categories: Categories = None,
    limit: Limit = None,
    seed: Seed = 0,
    pool: Pool = 0,
    tools: Tools = None,
    max_tokens: MaxTokens = 1024,
    streams: Streams = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, and start nothing.")] = False,
    confirm_heavy_run: Annotated[
        bool, typer.Option("--confirm-heavy-run", help="Really do it: hours, on a small machine.")
    ] = False,
) -> None:
    """Do both sides and the gate: full, the mode that is judged, and the verdict on it.

    It does what the three commands do that --dry-run prints, one after the other, and goes on
    where it was when it is started again. Without --confirm-heavy-run nothing is started.

    Exit codes: those of tacid eval parity; 2 where it was not confirmed, or could not be done.

    Example: tacid eval run --model qwen2.5-coder-1.5b-instruct --limit 50 --out-dir runs --dry-run
    """
    try:
        options = Options(
            read_categories(categories), out_dir, tool_mode, limit, seed, pool, tools, max_tokens, None, base_url,
            model_name, os.environ.get("OPENAI_API_KEY"), model, engine, None, streams,
        )  # fmt: skip
        _check(options)
        status = _both(options, dry_run=dry_run, confirmed=confirm_heavy_run)
    except TacidError as error:
        # 1 would say that the mode was rejected.
        notice(f"tacid: {error}", style="red")
        status = Outcome.NOT_MEASURED.status
    raise typer.Exit(status)


def _both(options: Options, *, dry_run: bool, confirmed: bool) -> int:
    """Both sides and the gate; ``out`` of the options is the directory. The exit status."""
    mode, directory = options.tool_mode, options.out
    if mode == "full":
        raise InputError("--tool-mode full is the other side already; name the mode that is to be judged beside it.")
    if dry_run:
        for line in commands(options, mode, directory):
            say(line)
        return 0
    if not confirmed:
        raise InputError(
            "nothing was started: two runs of BFCL take hours on a small machine; look at them with --dry-run, and "
            "start them with --confirm-heavy-run."
        )
    full, other = sides(options, mode, directory)
    for side in (full, other):
        _ask(side, dry_run=False)
    names = ",".join(category.name for category in options.categories)
    return _judge(full.out, other.out, names, require_hops=mode == "deferred", out=verdict_path(mode, directory))


@app.command("report")
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR|FILE…", help="Files of runs, or directories of them.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")],
) -> None:
    """Write a page with the modes side by side: accuracy, tokens, seconds and hops, by size of pool.

    The page is one HTML file that fetches nothing. Its plots need the extra: pip install "tacid\\[eval]".

    Example: tacid eval report runs --out page.html
    """
    text = page(load_runs(runs))
    out.write_text(text, encoding="utf-8")
    say(str(out))


__all__ = ["app"]
