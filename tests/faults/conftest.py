"""Servers whose engine may be harmed, because each has one to itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacid.config import Config, EngineConfig


@pytest.fixture(scope="session")
def own(random_model: Path, engine_config: EngineConfig) -> Callable[..., Config]:
    """A configuration of a server that starts its own engine; further settings by section.

    It has one slot, and reads in small batches: seven thousand words take it seconds.
    """

    def made(**sections: dict[str, Any]) -> Config:
        engine: dict[str, Any] = {"threads": 1, "slots": 1, "context": 8192, "batch": 16, "restart_window": 0.2}
        if engine_config.binary is not None:
            engine["binary"] = str(engine_config.binary)
        defaults: dict[str, dict[str, Any]] = {"engine": engine, "model": {"name": str(random_model)}}
        return Config.model_validate(
            {**sections, **{name: {**defaults[name], **sections.get(name, {})} for name in defaults}}
        )

    return made
