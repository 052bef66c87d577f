"""What systemd is told, and what it gives: notifications (sd_notify(3)), directories and credentials (systemd.exec(5)).

A notification is one datagram of ``NAME=value`` lines to the socket in ``$NOTIFY_SOCKET``. Without that variable nobody
listens, and all of this does nothing.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

#: Characters of a status; systemctl shows one line.
MAX_STATUS = 400


class Notifier:
    """Tells systemd how the service is. What can't be told is no error: systemd notices by itself."""

    def __init__(self, address: str = "", watchdog: float | None = None) -> None:
        """``address`` is a path, or an abstract name after an ``@``; ``watchdog`` the seconds between signs of life."""
        self.watchdog = watchdog
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._status = ""

    @classmethod
    def of_environment(cls) -> Notifier:
        """The one that the environment names, taken out of it: a child has nothing to say.

        Half of ``$WATCHDOG_USEC`` is the time between two signs of life, as sd_watchdog_enabled(3) advises.
        """
        address = os.environ.pop("NOTIFY_SOCKET", "")
        microseconds, process = os.environ.pop("WATCHDOG_USEC", ""), os.environ.pop("WATCHDOG_PID", "")
        ours = process in ("", str(os.getpid())) and microseconds.isdigit() and int(microseconds) > 0
        return cls(address, int(microseconds) / 2_000_000 if ours else None)

    def ready(self) -> None:
        """The service has started, or has read its files again."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The service reads its files again; `ready` says when that is done."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """The service is ending."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """A sign of life for the watchdog."""
        self._send("WATCHDOG=1")

    def status(self, words: str) -> None:
        """One line for people; told when it changes."""
        words = " ".join(words.split())[:MAX_STATUS]
        if words != self._status:
            self._status = words
            self._send(f"STATUS={words}")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.setblocking(False)
            to.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


def directory(kind: str) -> Path | None:
    """The first directory that the unit gives (``RUNTIME``, ``STATE``, ``CREDENTIALS``), or none."""
    first = os.environ.get(f"{kind}_DIRECTORY", "").partition(":")[0]
    return Path(first) if first.startswith("/") else None


__all__ = ["Notifier", "directory"]
