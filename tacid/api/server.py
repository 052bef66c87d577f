"""uvicorn as tacid runs it: told at once where it can't listen, and ended so that whoever is cut off is told.

systemd hears when requests are taken, how the engines are, and that the event loop goes round.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import signal
import socket
import threading
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from tacid.api.doors import UVICORN
from tacid.api.service import Service
from tacid.errors import InputError
from tacid.systemd import Notifier

#: Connections that may wait to be taken.
BACKLOG = 2048
#: Seconds that a client gets to read why its reply was cut off.
LAST_WORDS = 1
#: Seconds between two looks at the engines, where the watchdog doesn't want more.
LOOK = 1.0


_LOG = logging.getLogger("tacid")


class Server(uvicorn.Server):
    """Serves until a signal comes; open requests may then go on for ``drain`` seconds.

    Those that are still open are ended with an error that says why, at a second signal at once. ``interrupted`` says
    afterwards whether a signal was Ctrl-C. SIGHUP has keys and lists read again, unless a terminal is attached, whose
    end it tells of.
    """

    def __init__(self, app: ASGIApp, service: Service, *, drain: float, notifier: Notifier | None = None) -> None:
        patience = math.ceil(drain) + LAST_WORDS
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=patience, backlog=BACKLOG, **UVICORN))
        self.interrupted = False
        self._service = service
        self._drain = drain
        self._loop: asyncio.AbstractEventLoop | None = None
        self._notifier = notifier or Notifier()
        self._hung_up = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.should_exit:
            return
        # Only the main thread hears signals; a server in another is somebody's part.
        if threading.current_thread() is threading.main_thread() and not _has_terminal():
            self._loop.add_signal_handler(signal.SIGHUP, self._hung_up.set)
        self._tasks = [asyncio.create_task(work()) for work in (self._reload, self._live)]
        self._notifier.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called by a signal. uvicorn's own would raise it again at the end, and so never end with 0."""
        self.interrupted = self.interrupted or sig == signal.SIGINT
        if self.should_exit and self._loop is not None:
            self._loop.call_soon_threadsafe(self._hurry, self._loop)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open requests finish, then end them, then what stands behind the application."""
        self._notifier.stopping()
        self._notifier.status("Ending")
        for task in self._tasks:
            task.cancel()
        timer = asyncio.get_running_loop().call_later(self._drain, self._service.end_open)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()
        if self.force_exit:  # uvicorn would leave it to the end of the event loop
            await self.lifespan.shutdown()

    async def _reload(self) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            self._notifier.reloading()
            try:
                await self._service.look_again()
            except Exception:  # whatever it was: what held before holds on
                _LOG.exception("Keys and lists could not be read again")
            finally:
                self._notifier.ready()

    async def _live(self) -> None:
        """Tell how the engines are, and be alive."""
        while True:
            self._notifier.status(self._service.status)
            self._notifier.alive()
            await asyncio.sleep(min(LOOK, self._notifier.watchdog or LOOK))

    def _hurry(self, loop: asyncio.AbstractEventLoop) -> None:
        self._service.end_open()
        loop.call_later(LAST_WORDS, self._cut)

    def _cut(self) -> None:
        """Whoever doesn't read, or hasn't sent a whole request, isn't waited for."""
        self.force_exit = True
        for task in tuple(self.server_state.tasks):
            task.cancel()
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at each address of ``host``. Raises ``InputError`` that says why that can't be.

    They name their protocol, without which asyncio lets small writes wait for the client's acknowledgement: 40 ms.
    """
    opened: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            opened.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
            one.listen(BACKLOG)
    except OSError as error:
        for one in opened:
            one.close()
        raise InputError(_refused(host, port, error)) from None
    return opened


def _refused(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return f"server.host is {host}, which is no address or name of this machine; 127.0.0.1 always is one."
    if error.errno == errno.EADDRINUSE:
        return f"The port {port} of {host} is taken; end what listens there, or give another port with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"server.host is {host}, which is no address of this machine; 127.0.0.1 always is one."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This user may not listen on the port {port}; give one above 1023 with --port."
    return f"The server can't listen on {host}, port {port}: {error.strerror}."


__all__ = ["Server", "listen"]
