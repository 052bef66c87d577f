"""A stand-in for systemd: the socket to which a service's notifications go."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Manager:
    """What was told so far, a list of (name, value), in the order in which it came."""

    def __init__(self, listening: socket.socket, address: str) -> None:
        self.address = address
        self._socket = listening
        self._told: list[tuple[str, str]] = []

    @property
    def told(self) -> list[tuple[str, str]]:
        """All that has come in."""
        while True:
            try:
                message = self._socket.recv(65536).decode()
            except BlockingIOError:
                return self._told
            for line in message.split("\n"):
                name, _, value = line.partition("=")
                self._told.append((name, value))

    def values(self, name: str) -> list[str]:
        """The values of one name."""
        return [value for told, value in self.told if told == name]

    def until(self, true: Callable[[], object], within: float = 60.0, why: Callable[[], str] = str) -> None:
        """Wait for something."""
        end = time.monotonic() + within
        while not true():
            assert time.monotonic() < end, (self.told, why())
            time.sleep(0.02)


@contextmanager
def notified(folder: Path) -> Iterator[Manager]:
    """A socket for ``$NOTIFY_SOCKET`` in this folder."""
    path = str(folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path)
        listening.setblocking(False)
        yield Manager(listening, path)


__all__ = ["Manager", "notified"]
