"""The installed bfcl-eval."""

from __future__ import annotations

import pytest

from tacid.evaluation.package import Package, load_package


@pytest.fixture(scope="session")
def package() -> Package:
    """bfcl-eval; not having it is a failure, since `scripts/test` installs it."""
    return load_package()
