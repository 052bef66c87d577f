"""A minute of schemathesis over the server's description; ten by ``python -m tests.bench.described``."""

from __future__ import annotations

import asyncio

import pytest

from tacid.engine.process import Engine
from tests.bench.described import answered, settings, tried
from tests.serving import serving

pytestmark = [pytest.mark.described, pytest.mark.engine, pytest.mark.model]

#: Seconds. Every run has other requests; a failure prints the seed and the request.
BUDGET = 60
#: Routes that make something, each of which must have been reached with a request that it took.
REACHED = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate")


async def test_nothing_but_what_is_described_comes_back(random_engine: Engine) -> None:
    with serving(settings(random_engine)) as server:
        # This loop reads the engine's log, and an engine whose log nobody reads stands still once its pipe is full.
        done = await asyncio.to_thread(tried, server, BUDGET)
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
        counts = answered(server)
    for path in REACHED:
        assert counts[path, 200] > 0, f"no request of {path} was taken"
