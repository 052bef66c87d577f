"""`tacid config`: what is set, whether it is right, and what can be set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacid.api.keys import check_exposure
from tacid.cli.console import say
from tacid.config import Config, load
from tacid.config.show import show

app = typer.Typer(no_args_is_help=True, help="The configuration: show it, check it, describe it.")


@app.command("show")
def show_config() -> None:
    """Show the settings that hold here as TOML, each with where it came from. Secrets are shown as ***."""
    for line in show(load()):
        say(line)


@app.command("check")
def check_config(
    file: Annotated[Path | None, typer.Argument(help="A configuration; default: the one that holds here.")] = None,
) -> None:
    """Check a configuration, with the environment over it. Ends with 1 and names the key where it is wrong."""
    loaded = load(file)
    check_exposure(loaded.config)
    say(f"The configuration {loaded.path} is in order." if loaded.path else "There is no file; the defaults hold.")


@app.command("schema")
def schema_config() -> None:
    """Print the JSON Schema (2020-12) of the configuration file, for editors that help to write it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    typer.echo(json.dumps(schema, indent=2))
