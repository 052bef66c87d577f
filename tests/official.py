"""The official JSON-Schema-Test-Suite, as the source package ``jsonschema`` on PyPI carries it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

VERSION = "4.26.0"
#: Of all grammars of a kind, a day's share for a real engine: those whose number ends in the day's.
ROTATION = 10


def official_suite(kept: Path) -> Path:
    """The suite's folder with ``draft4`` to ``draft2020-12``, fetched once into a cache. Skips where no index is reached."""
    folder = kept / f"suite-{VERSION}"
    inside = f"jsonschema-{VERSION}/json/tests"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = ("--no-deps", "--no-binary", "jsonschema", f"jsonschema=={VERSION}", "-d", str(folder))
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", *wanted], capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [""]
            pytest.skip(f"jsonschema {VERSION}, which carries the suite, can't be fetched: {lines[-1]}")
        with tarfile.open(folder / f"jsonschema-{VERSION}.tar.gz") as archive:
            archive.extractall(folder, [one for one in archive if one.name.startswith(inside)], filter="data")
        (folder / "complete").touch()
    return folder / inside


def of_today(number: int) -> bool:
    """Whether the grammar of this number is in the tenth of this day of the year."""
    return number % ROTATION == time.gmtime().tm_yday % ROTATION
