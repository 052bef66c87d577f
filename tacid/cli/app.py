"""The command line: `tacid ask`, `serve`, `engine`, `grammar`, `eval`, `model`, `config`, `doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from tacid import __version__
from tacid.cli import ask, config, doctor, engine, eval, grammar, model, serve  # noqa: A004

app = typer.Typer(
    name="tacid",
    help="Lets a small local model call tools on your own machine, held by a grammar that it cannot leave.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask")(ask.ask)
app.command("serve")(serve.serve)
app.command("grammar")(grammar.grammar)
app.command("doctor")(doctor.doctor)
app.add_typer(engine.app, name="engine")
app.add_typer(eval.app, name="eval")
app.add_typer(model.app, name="model")
app.add_typer(config.app, name="config")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tacid {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


__all__ = ["app"]
