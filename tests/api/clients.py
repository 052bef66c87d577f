"""Ollama's client, which no context closes."""

from __future__ import annotations

import httpx
import ollama

from tests.serving import Served


def asking(server: Served) -> ollama.Client:
    """A client that keeps no connection open, so that none is left behind."""
    return ollama.Client(host=server.url, timeout=60, limits=httpx.Limits(max_keepalive_connections=0))


__all__ = ["asking"]
