"""Where what the tests fetch is kept from one run to the next."""

from __future__ import annotations

import os
from pathlib import Path


def models_kept() -> Path:
    """``$TACID_TEST_MODELS``, or a cache of the person's."""
    return Path(os.environ.get("TACID_TEST_MODELS") or Path.home() / ".cache" / "tacid-tests")
