"""`tacid engine`: the engine by itself, without the server before it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from tacid.cli.console import notice
from tacid.config import Config, EndpointConfig, load_config, socket_of
from tacid.engine.find import find_engine
from tacid.engine.service import serve_engine
from tacid.engine.store import locate
from tacid.errors import InputError
from tacid.jsontext import quote
from tacid.systemd import Notifier, directory

#: What the socket is called in the directory that the unit gives.
SOCKET = "engine.sock"

app = typer.Typer(no_args_is_help=True, help="The engine by itself: started, watched, and asked at a Unix socket.")


@app.callback()
def _engine() -> None:
    pass


@app.command("run")
def run(
    name: Annotated[
        str | None,
        typer.Option(help='The engine of a table of endpoints of kind "local", by that name; default: the only one.'),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Where it listens: an absolute path that ends in .sock. Default: engine.sock in the directory that "
            "systemd gives the unit ($RUNTIME_DIRECTORY), else the path in the configured unix:// URL.",
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The configuration file; default: see tacid config show.")] = None,
) -> None:
    """Start llama-server, or the packaged engine, and keep it running at a Unix socket.

    Its settings are those of the server (engine.*, model.name), but the model of a named
    endpoint is that table's own. No key is needed: whoever may open the socket may ask, so
    its directory decides who that is. To try it:

    tacid engine run --socket /tmp/engine.sock

    tacid serve --engine unix:///tmp/engine.sock

    An engine that ends, or gets nothing done, is started again (engine.restarts). systemd is
    told when it is ready, how it is, and that it is alive; the unit is tacid-engine.service.

    Exit codes: 0 after SIGTERM, 130 after Ctrl-C, 1 where the engine would not start or stay up.
    """
    notifier = Notifier.of_environment()
    settings = load_config(config)
    table = _table(settings, name) if name is not None else None
    url = table.url if table is not None else settings.engine.url
    # What the server joins by its URL is what is started here.
    engine = settings.engine.model_copy(update={"url": None, "key": None})
    named = {"name": table.model} if table is not None and table.model is not None else {}
    model, pin = locate(settings.model.model_copy(update=named))
    ended = asyncio.run(
        serve_engine(
            find_engine(engine),
            model,
            engine,
            _socket(socket, url),
            notifier=notifier,
            flash_attention=pin.flash_attention if pin is not None else None,
            tell=lambda words: notice(f"tacid: {words}"),
        )
    )
    if ended == signal.SIGINT:
        raise KeyboardInterrupt


def _table(settings: Config, name: str) -> EndpointConfig:
    local = {table.name: table for table in settings.endpoints if table.kind == "local"}
    if name not in local:
        there = ", ".join(local) or "none"
        raise InputError(
            f'The configuration has no [[endpoints]] table of kind "local" called {quote(name, shown=True)} '
            f"(there: {there}); add it, or correct --name."
        )
    return local[name]


def _socket(given: Path | None, url: str | None) -> Path:
    if given is not None:
        return given
    if (runtime := directory("RUNTIME")) is not None:
        return runtime / SOCKET
    if (configured := socket_of(url or "")) is not None:
        return configured
    raise InputError(
        "Nothing says where the engine shall listen; give --socket /run/tacid-engine/engine.sock, or such a URL "
        "(unix:///run/tacid-engine/engine.sock) in the configuration."
    )


__all__ = ["app"]
