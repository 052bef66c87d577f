"""`tacid grammar`: the grammar of a catalogue, its report, and the engine's word on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tacid.catalogue import load_catalogue
from tacid.cli.console import clean, notice, out, say, waiting
from tacid.config import Config, load_config
from tacid.endpoints.opening import open_endpoint
from tacid.grammar import Grammar, compile_catalogue
from tacid.machine.offer import beside, narrowed
from tacid.machine.services import load_services


def grammar(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A catalogue: OpenAI tools, an MCP tools/list result, or a list.")
    ],
    report: Annotated[bool, typer.Option("--report", help="List every widening, and the sizes, instead.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Ask a real engine to take the grammar.")] = False,
    services: Annotated[
        Path | None, typer.Option(help="Add the machine's own tools, narrowed to these services.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model that --check starts the engine with.")] = None,
) -> None:
    """Print the grammar (GBNF) that a catalogue compiles to.

    Example: tacid grammar tools.json --report
    """
    catalogue = load_catalogue(file)
    if services is not None:
        catalogue = beside(narrowed(load_services(services)), catalogue, file)
    config = load_config()
    compiled = compile_catalogue(catalogue, max_seconds=config.grammar.max_seconds, max_bytes=config.grammar.max_bytes)
    if report:
        _report(compiled, len(catalogue))
    elif not check:
        typer.echo(compiled.text, nl=False)
        if compiled.gates:
            notice(f"tacid: {len(compiled.gates)} long lists or large tools have grammars of their own, not shown.")
    for tool in compiled.report.left_out:
        notice(f"tacid: {tool.tool} is left out: {tool.reason} at {tool.pointer or '/'}.")
    if check:
        if model is not None:
            config = config.model_copy(update={"model": config.model.model_copy(update={"name": model})})
        build = asyncio.run(_check(config, compiled))
        say(f"taken by the engine ({build})")


def _report(compiled: Grammar, tools: int) -> None:
    widenings = compiled.report.widenings
    if widenings:
        table = Table(box=None, pad_edge=False)
        for heading in ("tool", "pointer", "keyword", "reason"):
            table.add_column(heading, overflow="fold")
        for widening in widenings:
            cells = (widening.tool or "", widening.pointer or "/", widening.keyword, widening.reason)
            table.add_row(*(Text(clean(cell)) for cell in cells))
        out.print(table)
    sizes = compiled.report.sizes
    table = Table(box=None, pad_edge=False)
    table.add_column("tool", overflow="fold")
    table.add_column("bytes", justify="right")
    for name, size in sizes.items():
        table.add_row(Text(clean(name) or "(shared by all)"), f"{size:,}")
    out.print(table)
    total = len(compiled.text.encode())
    say(f"{tools} tools, {len(widenings)} widenings, {len(compiled.rules):,} rules, {total:,} bytes")


async def _check(config: Config, compiled: Grammar) -> str:
    with waiting("looking for the engine") as status:
        async with open_endpoint(config, status.update) as opened:
            for text in compiled.texts():
                await opened.endpoint.client.check_grammar(text)
            return opened.endpoint.build
