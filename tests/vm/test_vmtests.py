"""The scripts of `vmtests` in Debian guests, shortened: machines that boot, with a real llama-server in them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from vmtests.run import Outcome, run_all

pytestmark = [pytest.mark.vm, pytest.mark.engine, pytest.mark.model]

#: Those that fit into the time of all tests; the others by ``python -m vmtests`` (docs/vmtests.md).
SHORT = ("boot", "grammars", "unsampleable", "doors")
_TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "bwrap": "bubblewrap",
    "mke2fs": "e2fsprogs",
}


def missing() -> str | None:
    """Why no guests can be made here, in a clause; none where they can."""
    if os.geteuid() != 0:
        return "only root can make a tree of Debian"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacking = [package for tool, package in _TOOLS.items() if shutil.which(tool, path=path) is None]
    return f"{' and '.join(lacking)} is not installed" if lacking else None


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What became of each script; they run side by side, so all are run for the first that asks."""
    if why := missing():
        pytest.skip(f"no guests here: {why}")
    logs = Path(os.environ.get("TACID_VM_LOGS") or tmp_path_factory.mktemp("vm-logs"))
    return {outcome.name: outcome for outcome in run_all(list(SHORT), full=False, logs=logs)}


@pytest.mark.parametrize("name", SHORT)
def test_a_debian_guest_shows(outcomes: dict[str, Outcome], name: str) -> None:
    assert outcomes[name].problem == ""
