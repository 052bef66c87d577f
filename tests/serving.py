"""The whole server on a loopback port, in a thread of its own, so that clients of any kind can be tried against it."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tacid.api.accounts import Accounts
from tacid.api.app import build
from tacid.api.doors import UVICORN
from tacid.api.logs import Lines
from tacid.api.server import listen
from tacid.api.service import Service
from tacid.config import Config
from tacid.engine.process import Engine
from tacid.metrics import Metrics


class Served:
    """A running server: its address, its service and figures, and the lines of its log; ``wrap`` goes around it."""

    def __init__(self, config: Config, *, wrap: Callable[[ASGIApp], ASGIApp] | None = None) -> None:
        self.metrics = Metrics()
        self.service = Service(config, self.metrics)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._lines = Lines(self._log.fileno())
        self._marks = 0
        self._accounts = Accounts(config.tools.metrics_out) if config.tools.metrics_out is not None else None
        app = build(config, self.service, self.metrics, log=self._lines, accounts=self._accounts)
        app = wrap(app) if wrap is not None else app
        (self._socket,) = listen("127.0.0.1", 0)
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        settings: dict[str, Any] = {**UVICORN, "timeout_graceful_shutdown": 2}
        self._server = uvicorn.Server(uvicorn.Config(app, **settings))
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def start(self) -> None:
        """Begin to serve; returns when requests are taken."""
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server ended at its start")
            threading.Event().wait(0.01)
        # As ``tacid serve`` does. A process of thousands of tests has a heap whose full collection stalls for seconds.
        gc.collect()
        gc.freeze()

    def stop(self) -> None:
        """End it and wait for that."""
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()
        self._lines.close()
        if self._accounts is not None:
            self._accounts.close()
        self._log.close()
        self._socket.close()

    def cpu(self) -> float:
        """Seconds of processor time that the server's thread took so far."""
        assert self._thread.ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))

    def log(self) -> list[dict[str, Any]]:
        """What was logged so far: all of the requests that have ended, for which it waits two seconds at most.

        A client hears of the end of a request before its line is there, which a thread of its own writes.
        """
        until = time.monotonic() + 2
        while self._server.server_state.tasks and time.monotonic() < until:
            time.sleep(0.002)
        self._marks += 1
        mark = {"event": "mark", "number": self._marks}
        self._lines.write(mark)
        while True:
            lines = [json.loads(line) for line in os.pread(self._log.fileno(), 1 << 24, 0).splitlines()]
            if mark in lines:
                return [line for line in lines if line["event"] != "mark"]
            assert time.monotonic() < until + 10, "nothing is logged any more"
            time.sleep(0.002)


@contextmanager
def serving(config: Config) -> Iterator[Served]:
    """A server for as long as the context lasts."""
    server = Served(config)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def joined(engine: Engine, **sections: dict[str, Any]) -> Config:
    """A configuration whose engine is one that runs already; further settings by section."""
    own = {"url": engine.client.url, "key": engine.client.key, **sections.pop("engine", {})}
    return Config.model_validate({"engine": own, **sections})


__all__ = ["Served", "joined", "serving"]
