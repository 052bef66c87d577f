"""The flake: what its outputs are, what the lock says, and that each file is Nix."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.nixos.nix import ROOT, STANDIN, Nix

LINUX = ("x86_64-linux", "aarch64-linux")
PACKAGES = {"default", "docs", "image", "llama-cpp", "llama-cpp-b10434", "model", "tacid", "tacid-appliance"}


def nix_files() -> list[Path]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.nix"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def instead() -> tuple[str, ...]:
    """Arguments that put the stand-in in nixpkgs' place."""
    return ("--no-write-lock-file", "--override-input", "nixpkgs", f"path:{STANDIN}")


@pytest.fixture(scope="module")
def shown(nix: Nix, flake: Path, instead: tuple[str, ...]) -> Any:
    return json.loads(nix("flake", "show", "--json", "--all-systems", f"path:{flake}", *instead))


def test_every_file_parses(nix: Nix) -> None:
    for path in nix_files():
        nix("eval", "--impure", "--expr", f"builtins.isFunction (_: import {path})")
