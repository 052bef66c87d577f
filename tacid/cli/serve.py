"""`tacid serve`: the server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn

from tacid.api.app import build
from tacid.api.doors import UVICORN
from tacid.api.keys import check_exposure
from tacid.api.logs import attach, open_lines
from tacid.api.service import Service
from tacid.cli.console import notice
from tacid.config import load_config
from tacid.errors import InputError
from tacid.metrics import Metrics


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on; any but loopback needs keys.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The TCP port; default 8017.")] = None,
    tools: Annotated[
        Path | None, typer.Option(help="A catalogue of the server's own, offered in every request.")
    ] = None,
    services: Annotated[
        Path | None, typer.Option(help="The services that this machine can build; no other name can be sampled.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A pinned model by name (see: tacid model list), or the path of a GGUF file.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help='An engine that already runs, http://host:port; "auto" starts one.')
    ] = None,
    keys: Annotated[Path | None, typer.Option(help="A file of keys, one a line: name:key.")] = None,
    config: Annotated[Path | None, typer.Option(help="The configuration file; default: see tacid config show.")] = None,
) -> None:
    """Serve OpenAI, Ollama and Anthropic clients, with tool calls that can't be wrong in shape.

    Point a client at http://127.0.0.1:8017/v1 (OpenAI) or http://127.0.0.1:8017 (Ollama, Anthropic). Ctrl-C ends it.
    """
    flags: dict[str, dict[str, Any]] = {"server": {}, "machine": {}, "model": {}, "engine": {}}
    for section, key, value in (
        ("server", "host", host),
        ("server", "port", port),
        ("server", "tools", tools),
        ("server", "keys", keys),
        ("machine", "services", services),
        ("model", "name", model),
    ):
        if value is not None:
            flags[section][key] = value
    if engine is not None:
        flags["engine"]["url"] = None if engine == "auto" else engine
    settings = load_config(config, {section: values for section, values in flags.items() if values})
    check_exposure(settings)
    log = open_lines(None)
    audit = open_lines(settings.server.audit) if settings.server.audit is not None else None
    try:
        attach(log, contents=settings.server.log_contents)
        metrics = Metrics()
        service = Service(settings, metrics)
        app = build(settings, service, metrics, log=log, audit=audit)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                host=settings.server.host,
                port=settings.server.port,
                timeout_graceful_shutdown=round(settings.server.drain) or 1,
                **UVICORN,
            )
        )
        notice(
            f"tacid: serving {service.name} at http://{settings.server.host}:{settings.server.port}; Ctrl-C ends it."
        )
        server.run()
        if not server.started:
            raise InputError(
                f"The server could not listen on {settings.server.host}:{settings.server.port}; is the port taken? "
                "Give another with --port."
            )
    finally:
        log.close()
        if audit is not None:
            audit.close()


__all__ = ["serve"]
