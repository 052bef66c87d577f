"""Flags that more than one command has."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import click
import typer

from tacid.config import ToolsConfig


def _choices(setting: str) -> click.Choice[str]:
    return click.Choice(get_args(ToolsConfig.model_fields[setting].annotation))


ToolMode = Annotated[
    str | None,
    typer.Option(
        click_type=_choices("mode"),
        help="What the prompt shows of the tools: every schema (full), an index and a schema when it is asked for "
        "(deferred) or when its tool is called (direct), or full while that fits (auto).",
    ),
]
IndexStyle = Annotated[
    str | None, typer.Option("--index", click_type=_choices("index"), help="What a line of the index says.")
]
MaxHops = Annotated[
    int | None, typer.Option(min=0, max=16, help="Schemas and searches that one reply may ask for, unseen; default 3.")
]


def tools_flags(mode: str | None, index: str | None, max_hops: int | None) -> dict[str, Any]:
    """The settings of ``[tools]`` that flags give."""
    given = {"mode": mode, "index": index, "max_hops": max_hops}
    return {key: value for key, value in given.items() if value is not None}


__all__ = ["IndexStyle", "MaxHops", "ToolMode", "tools_flags"]
