"""The command line: `tacid ask`, `serve`, `grammar`, `model`, `config`, `doctor`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tacid import __version__
from tacid.cli import ask, config, doctor, grammar, model, serve
from tacid.cli.console import notice
from tacid.errors import TacidError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

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


def main() -> None:
    """Entry point of the script; turns our errors into one sentence and an exit code."""
    try:
        app()
    except TacidError as error:
        notice(f"tacid: {error}", style="red")
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        notice("tacid: interrupted.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read us has gone; leave without Python's own complaint at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except OSError as error:
        notice(f"tacid: the system refused: {error}; look at the file or the disk that it names.", style="red")
        sys.exit(EXIT_FAILED)
    except SystemExit as end:
        # typer turns Ctrl-C into this code without a word.
        if end.code == EXIT_INTERRUPTED:
            notice("tacid: interrupted.")
        raise


if __name__ == "__main__":
    main()
