"""A machine of its own for a test: where its list of services lies, and its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacid.config import MachineConfig


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "services.json"


@pytest.fixture
def config(path: Path, tmp_path: Path) -> MachineConfig:
    return MachineConfig(services=path, state_dir=tmp_path / "state")
