"""A server of our own for as long as a run lasts: `tacid serve`'s, on a port of loopback that nobody else is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tacid.api.app import build
from tacid.api.logs import open_lines
from tacid.api.server import Server, listen
from tacid.api.service import Service
from tacid.config import Config
from tacid.errors import EngineStartError
from tacid.metrics import Metrics

#: Seconds between two looks at how the start goes.
LOOK = 0.05


@asynccontextmanager
async def serving(config: Config, log: Path | None) -> AsyncIterator[str]:
    """The URL of a server that is ready, ``http://127.0.0.1:…/v1``; its log goes to ``log``, or to standard error.

    It has a thread of its own, so that what is measured isn't held up by who measures. Raises what `Service` raises,
    and ``EngineStartError``.
    """
    metrics = Metrics()
    service = Service(config, metrics)
    lines = open_lines(log)
    try:
        (socket,) = listen("127.0.0.1", 0)
        with socket:
            server = Server(build(config, service, metrics, log=lines), service, drain=0)
            thread = threading.Thread(target=asyncio.run, args=(server.serve(sockets=[socket]),), daemon=True)
            thread.start()
            try:
                await _ready(server, service, thread)
                yield f"http://127.0.0.1:{socket.getsockname()[1]}/v1"
            finally:
                server.should_exit = True
                await asyncio.shield(asyncio.to_thread(thread.join))
    finally:
        lines.close()


async def _ready(server: Server, service: Service, thread: threading.Thread) -> None:
    while thread.is_alive():
        if server.started:
            if not service.pool.backends:
                return
            states = [backend.supervisor.state for backend in service.pool.backends]
            if any(backend.ready for backend in service.pool.backends):
                return
            if all(state.name == "failed" for state in states):
                raise EngineStartError(f"The engine would not start: {states[0].reason}.")
        await asyncio.sleep(LOOK)
    raise EngineStartError("The server ended at its start; try the same settings with tacid serve, which says why.")


__all__ = ["serving"]
