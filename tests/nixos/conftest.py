"""A nix for all tests of this folder, and the module's functions with options as a person would set them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nixos.nix import ROOT, STANDIN, Nix, missing

#: What the flake reads. The rest of the repository is left out, so that nothing else is copied into the store.
FLAKE = (
    "flake.nix",
    "flake.lock",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "nixos",
    "packaging",
    "examples",
    "vmtests",
)


@pytest.fixture(scope="session")
def nix(tmp_path_factory: pytest.TempPathFactory) -> Nix:
    if why := missing():
        pytest.skip(f"no nix here: {why}")
    return Nix(tmp_path_factory.mktemp("nix"))


@pytest.fixture(scope="session")
def flake(nix: Nix) -> Path:
    """The flake's files as git knows them, and those that aren't committed yet."""
    folder = nix.folder / "flake"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FLAKE, "tacid"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


class Module:
    """The module's parts, evaluated with services.tacid set as Nix text says."""

    def __init__(self, nix: Nix) -> None:
        self._nix = nix

    def __call__(self, what: str, set_: str = "{ }") -> Any:
        """An expression over ``lib``, ``pkgs``, ``at`` (a file of nixos/), ``of`` (what comes of settings): ``cfg``,
        ``tree`` (the options), ``given`` (what the module's functions are given)."""
        return self._nix.evaluate(
            f"""
            let
              lib = import {STANDIN}/lib.nix;
              pkgs = import {STANDIN}/pkgs.nix {{ inherit lib; system = "x86_64-linux"; }};
              services.nginx.enable = lib.mkEnableOption "nginx, a web server";
              at = name: import ({ROOT}/nixos + "/${{name}}");
              of = set: rec {{
                tree = at "options" {{ inherit lib cfg pkgs; options.services = services; }};
                cfg = lib.tree tree set;
                given = {{ inherit lib pkgs cfg; }};
              }};
            in with of ({set_}); {what}
            """
        )


@pytest.fixture(scope="session")
def module(nix: Nix) -> Module:
    return Module(nix)


@pytest.fixture(scope="session")
def failing(module: Module) -> Callable[[str], list[str]]:
    """The messages of the assertions that don't hold for what is set."""

    def messages(set_: str) -> list[str]:
        wrong = 'builtins.filter (one: !one.assertion) (at "assertions.nix" given)'
        found: list[str] = module(f"map (one: one.message) ({wrong})", set_)
        return found

    return messages
