"""`tacid eval`: how good a way of offering tools is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacid.cli.console import notice, say
from tacid.errors import InputError
from tacid.evaluation.categories import read_categories
from tacid.evaluation.parity import Outcome, Verdict, judge
from tacid.evaluation.rows import read_run

app = typer.Typer(
    no_args_is_help=True,
    help="Measure how well a model calls, and whether a mode that shows it less is as good as showing it all.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

CATEGORIES_HELP = "Categories of BFCL with commas between them; default: all ten."


@app.command("parity")
def parity(
    full: Annotated[Path, typer.Option(metavar="FILE", help="The run in the mode full.")],
    deferred: Annotated[Path, typer.Option(metavar="FILE", help="The run in the mode that is judged.")],
    require_hop_stats: Annotated[
        bool, typer.Option("--require-hop-stats", help="Not measured, unless every reply says how many hops it took.")
    ] = False,
    categories: Annotated[str | None, typer.Option(help=CATEGORIES_HELP)] = None,
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
