"""Flags that more than one command has."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacid.prompt.index import IndexStyle
from tacid.turn.request import ToolMode

ModeFlag = Annotated[
    ToolMode | None,
    typer.Option(
        "--tool-mode",
        help="What the prompt shows of the tools: every schema (full), an index and a schema when it is asked for "
        "(deferred) or when its tool is called (direct), or full while that fits (auto).",
    ),
]
IndexFlag = Annotated[IndexStyle | None, typer.Option("--index", help="What a line of the index says.")]
HopsFlag = Annotated[
    int | None,
    typer.Option(
        "--max-hops", min=0, max=16, help="Schemas and searches that one reply may ask for, unseen; default 3."
    ),
]


def tools_flags(mode: str | None, index: str | None, max_hops: int | None) -> dict[str, Any]:
    """The settings of ``[tools]`` that flags give."""
    given = {"mode": mode, "index": index, "max_hops": max_hops}
    return {key: value for key, value in given.items() if value is not None}


__all__ = ["HopsFlag", "IndexFlag", "ModeFlag", "tools_flags"]
