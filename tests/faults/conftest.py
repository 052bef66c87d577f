"""Engines that may be harmed: a model with random weights and a long context, which each server has to itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacid.config import Config, EngineConfig
from tests.engine.random_model import make_random_model


@pytest.fixture(scope="session")
def long_model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights that can read for seconds."""
    return make_random_model(tmp_path_factory.mktemp("models") / "random.gguf", smollm2, context=32_768)


@pytest.fixture(scope="session")
def own(long_model: Path, engine_config: EngineConfig) -> Callable[..., Config]:
    """A configuration of a server that starts its own engine: one slot, small batches; further settings by section."""

    def made(**sections: dict[str, Any]) -> Config:
        engine = {"threads": 1, "slots": 1, "context": 32_768, "batch": 64, "restart_window": 0.2}
        if engine_config.binary is not None:
            engine["binary"] = str(engine_config.binary)  # type: ignore[assignment]
        model = {"name": str(long_model)}
        return Config.model_validate(
            {
                **sections,
                "engine": {**engine, **sections.get("engine", {})},
                "model": {**model, **sections.get("model", {})},
            }
        )

    return made
