"""The two local endpoints that turns are taken on."""

from __future__ import annotations

import pytest_asyncio

from tacid.endpoints.local import LocalEndpoint
from tacid.engine.process import Engine
from tacid.prompt.families import CHATML


@pytest_asyncio.fixture
async def small(engine: Engine) -> LocalEndpoint:
    return LocalEndpoint(engine.client, CHATML, "smollm2")


@pytest_asyncio.fixture
async def random(random_engine: Engine) -> LocalEndpoint:
    return LocalEndpoint(random_engine.client, CHATML, "random")
