"""`tacid doctor`: what this machine has and lacks."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tacid.cli.console import emit, notice, say, waiting
from tacid.config import Config, load_config
from tacid.engine.doctor import Check, examine
from tacid.machine.services import services_for

_REMEDY = "Write the names of the services that may be proposed into it, as a JSON list."
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    services: Annotated[Path | None, typer.Option(help="The list of services to look at.")] = None,
    start: Annotated[bool, typer.Option(help="Start the engine with the model as well.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Look this machine over: CPU, engine, model, memory, port, services file. Ends with 1 if something fails."""
    config = load_config()
    with waiting("looking"):
        checks = asyncio.run(examine(config, (lambda: services_check(config, services),), start=start))
    if as_json:
        emit([asdict(check) for check in checks])
    else:
        for check in checks:
            say(f"{check.status:4}  {check.name:8}  {check.text}", style=_STYLES[check.status])
            if check.remedy:
                say(f"      {'':8}  {check.remedy}")
    if failed := [check.name for check in checks if check.status == "fail"]:
        notice(f"tacid: not in order: {', '.join(failed)}.", style="red")
        raise typer.Exit(1)


def services_check(config: Config, named: Path | None) -> Check:
    """The finding about the services file."""
    state = services_for(config.machine, named)
    if state.notices:
        return Check("services", "warn" if state.offered else "fail", " ".join(state.notices), _REMEDY)
    names = state.list.names if state.list else ()
    return Check("services", "ok", f"{len(names):,} services; no other name can be sampled.")
