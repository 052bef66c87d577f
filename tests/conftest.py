"""What many tests share: real models, and real engines that run as long as the tests do."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio

from tacid.config import EngineConfig
from tacid.engine.download import fetch
from tacid.engine.find import EngineSpec, find_engine
from tacid.engine.pins import find_pin
from tacid.engine.process import Engine, start_engine
from tests import emitted
from tests.engine.random_model import make_random_model
from tests.kept import models_kept

emitted.record()
# How fast something is drawn and done says more of what else runs on the machine than of us.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("tests")
# Started in the background by a shell, we and all that we start would never hear Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What judges everything that the other tests emitted comes last."""
    items.sort(key=lambda item: item.path.name == emitted.LAST)


@pytest.fixture(scope="module", autouse=True)
def light_heap() -> None:
    """What earlier tests left isn't gone through again: collections of thousands of tests' heap stall what is timed."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Where the models of the tests are kept from one run to the next: ``$TACID_TEST_MODELS``, or a cache of the person's."""
    return models_kept()


@pytest.fixture(scope="session")
def smollm2(models_dir: Path) -> Path:
    """SmolLM2-135M-Instruct, fetched by tacid's own code and verified."""
    return fetch(find_pin("smollm2"), models_dir)


@pytest.fixture(scope="session")
def random_model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights and SmolLM2's words."""
    return make_random_model(tmp_path_factory.mktemp("models") / "random.gguf", smollm2)


@pytest.fixture(scope="session")
def engine_config() -> EngineConfig:
    """The settings of the engines of the tests; ``$TACID_TEST_LLAMA_SERVER`` names a llama-server to use instead of the package."""
    binary = os.environ.get("TACID_TEST_LLAMA_SERVER")
    return EngineConfig(binary=Path(binary) if binary else None, slots=2, context=8192)


@pytest.fixture(scope="session")
def engine_spec(engine_config: EngineConfig) -> EngineSpec:
    """The engine that the tests use."""
    return find_engine(engine_config)


@pytest_asyncio.fixture(scope="session")
async def engine(smollm2: Path, engine_spec: EngineSpec, engine_config: EngineConfig) -> AsyncIterator[Engine]:
    """A running engine with SmolLM2, for all tests; a test that harms its engine starts one of its own."""
    async with start_engine(engine_spec, smollm2, engine_config, flash_attention=False) as running:
        yield running


@pytest_asyncio.fixture(scope="session")
async def random_engine(
    random_model: Path, engine_spec: EngineSpec, engine_config: EngineConfig
) -> AsyncIterator[Engine]:
    """A running engine with the random model, which is too small for more than one thread."""
    config = engine_config.model_copy(update={"threads": 1})
    async with start_engine(engine_spec, random_model, config) as running:
        yield running
