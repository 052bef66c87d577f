"""`tacid serve`: the server."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tacid.api.accounts import Accounts
from tacid.api.app import build
from tacid.api.keys import check_exposure
from tacid.api.logs import attach, open_lines
from tacid.api.server import Server, listen
from tacid.api.service import Service
from tacid.cli.console import notice
from tacid.cli.options import HopsFlag, IndexFlag, ModeFlag, tools_flags
from tacid.config import Config, load_config
from tacid.metrics import Metrics
from tacid.systemd import Notifier

#: Seconds between two looks at how the engine's start goes.
LOOK = 0.05


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on; any but loopback needs keys.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The TCP port; default 8017.")] = None,
    tools: Annotated[
        Path | None, typer.Option(help="A catalogue of the server's own, offered in every request.")
    ] = None,
    services: Annotated[
        Path | None, typer.Option(help="The services that this machine can build; no other name can be sampled.")
    ] = None,
    offer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help='Offer facts_get and propose_changes to this key or model alias; "*" is everybody. May be repeated.',
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A pinned model by name (see: tacid model list), or the path of a GGUF file.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help='An engine that already runs, http://host:port; "auto" starts one.')
    ] = None,
    keys: Annotated[Path | None, typer.Option(help="A file of keys, one a line: name:key.")] = None,
    strict_tools: Annotated[
        bool | None, typer.Option("--strict-tools", help="Refuse a request with a tool that can't be offered.")
    ] = None,
    tool_mode: ModeFlag = None,
    index: IndexFlag = None,
    max_hops: HopsFlag = None,
    tool_metrics_out: Annotated[
        Path | None, typer.Option(help="A file that gets a JSON line for each request: mode, hops, tokens, outcome.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The configuration file; default: see tacid config show.")] = None,
) -> None:
    """Serve OpenAI, Ollama and Anthropic clients, with tool calls that can't be wrong in shape.

    OpenAI's clients want http://127.0.0.1:8017/v1, those of Ollama and Anthropic
    http://127.0.0.1:8017. Any key will do, until a file of keys is named. To try it:

    curl http://127.0.0.1:8017/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hi"}]}'

    /docs lists the routes, /ready says whether the engine answers, /metrics has figures.
    Standard error gets one line of JSON a request, without what was written in it.

    Without a terminal SIGHUP has keys and lists read again; under systemd: systemctl reload tacid.
    Ctrl-C, or SIGTERM, gives open requests server.drain seconds; a second one doesn't wait.
    Exit codes: 0 after SIGTERM, 130 after Ctrl-C, 1 where it could not start.
    """
    notifier = Notifier.of_environment()
    flags: dict[str, dict[str, Any]] = {"server": {}, "machine": {}, "model": {}, "engine": {}}
    flags["tools"] = tools_flags(tool_mode, index, max_hops)
    for section, key, value in (
        ("server", "host", host),
        ("server", "port", port),
        ("server", "tools", tools),
        ("server", "keys", keys),
        ("server", "strict_tools", strict_tools),
        ("machine", "services", services),
        ("machine", "offer", tuple(offer) if offer else None),
        ("model", "name", model),
        ("tools", "metrics_out", tool_metrics_out),
    ):
        if value is not None:
            flags[section][key] = value
    if engine is not None:
        flags["engine"]["url"] = None if engine == "auto" else engine
    settings = load_config(config, {section: values for section, values in flags.items() if values})
    check_exposure(settings)
    if services is not None and not settings.machine.offer:
        notice(
            "tacid: the list of services says what propose_changes may name, but nobody is offered that; "
            'offer it to everybody with --offer "*", or to a key by its name (machine.offer).'
        )
    log = open_lines(None)
    audit = open_lines(settings.server.audit) if settings.server.audit is not None else None
    accounts = Accounts(settings.tools.metrics_out) if settings.tools.metrics_out is not None else None
    try:
        attach(log, contents=settings.server.log_contents)
        metrics = Metrics()
        service = Service(settings, metrics)
        app = build(settings, service, metrics, log=log, audit=audit, accounts=accounts)
        sockets = listen(settings.server.host, settings.server.port)
        server = _Server(app, service, settings, notifier)
        server.run(sockets)
    finally:
        log.close()
        for lines in (audit, accounts):
            if lines is not None:
                lines.close()
    if server.interrupted:
        raise KeyboardInterrupt


class _Server(Server):
    """Tells a person how its start and its end go."""

    def __init__(self, app: Any, service: Service, settings: Config, notifier: Notifier) -> None:
        super().__init__(app, service, drain=settings.server.drain, notifier=notifier)
        host = f"[{settings.server.host}]" if ":" in settings.server.host else settings.server.host
        self._url = f"http://{host}:{settings.server.port}"
        self._seconds = settings.server.drain
        self._telling: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        # What is there now stays; looking through all of it again and again would hold up requests, 40 ms each time.
        gc.collect()
        gc.freeze()
        self._telling = asyncio.create_task(self._tell())

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        if self._telling is not None:
            self._telling.cancel()
        if self.server_state.tasks:
            _say(
                f"tacid: ending; what is open has {self._seconds:g} seconds to finish. Once more ends it at once.",
                "yellow",
            )
        await super().shutdown(sockets)

    async def _tell(self) -> None:
        """What is waited for, until the engine is ready for the first time."""
        name, told = self._service.known_model or self._service.name, ""
        if not self._service.pool.backends:
            _say(f"tacid: ready at {self._url}: {name}. Ctrl-C ends it.", "green")
            return
        while True:
            supervisor = self._service.pool.backends[0].supervisor
            state = supervisor.state
            if state.name == "ready":
                served = await self._service.served()
                _say(
                    f"tacid: ready at {self._url}: {served.endpoint.model}, {served.context:,} tokens of context, "
                    f"{served.slots} at a time. Ctrl-C ends it.",
                    "green",
                )
                for words in served.notices:
                    _say(f"tacid: {words}", "yellow")
                return
            if state.name == "failed":
                words = f"tacid: the engine would not start, and the next request tries again: {state.reason}."
            elif supervisor.spec.kind == "url":
                words = f"tacid: waiting for {supervisor.spec.name}{f': {state.reason}' if state.reason else ''}."
            elif state.name == "restarting":
                words = f"tacid: the engine is started again: {state.reason}."
            else:
                words = f"tacid: loading {name} for {self._url} …"
            if words != told:
                told = words
                _say(words, "red" if state.name == "failed" else "yellow")
            await asyncio.sleep(LOOK)


def _say(text: str, style: str) -> None:
    """To standard error, which may lie on a full disk: no reason to end."""
    try:
        notice(text, style)
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123


__all__ = ["serve"]
