"""A connection as uvicorn has it, which doesn't wait for ever for a request to begin."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds that a connection may take until the head of its next request is there; one that is kept open has fewer.
HEAD = 10.0


class Connection(H11Protocol):
    """HTTP/1.1 by h11; what has no whole head in time is closed without a word, as it asked for nothing yet."""

    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        super().connection_lost(exc)
        self._rest()

    def _wait(self) -> None:
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._rest()
        elif self._waits is None:
            self._waits = self.loop.call_later(HEAD, self.timeout_keep_alive_handler)

    def _rest(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None


__all__ = ["HEAD", "Connection"]
