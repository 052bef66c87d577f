"""The module under nixpkgs' own module system, where somebody has it: ``TACID_NIXPKGS_LIB=/path/of/nixpkgs/lib``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.nixos.nix import ROOT, Nix

LIB = os.environ.get("TACID_NIXPKGS_LIB")

pytestmark = pytest.mark.skipif(LIB is None, reason="nixpkgs' lib is on no registry; TACID_NIXPKGS_LIB names a copy")


@pytest.fixture(scope="module")
def lib(nix: Nix) -> Path:
    """The copy, where nix sees it."""
    return Path(shutil.copytree(str(LIB), nix.folder / "lib"))


def test_every_claim_holds(nix: Nix, lib: Path) -> None:
    claims = nix.evaluate(f"import {ROOT}/tests/nixos/least.nix {{ lib = import {lib}; root = {ROOT}; }}")
    assert [claim for claim, holds in claims.items() if not holds] == []


def test_every_option_can_be_documented(nix: Nix, lib: Path) -> None:
    documented = nix.evaluate(
        f"""
        let
          lib = import {lib};
          pkgs = import {ROOT}/tests/nixos/standin/pkgs.nix {{ inherit lib; system = "x86_64-linux"; }};
          module = lib.evalModules {{
            modules = [ {ROOT}/nixos/module.nix {{ _module.check = false; }} ]; specialArgs = {{ inherit pkgs; }};
          }};
        in map (one: one.name) (
          builtins.filter (one: one ? description) (lib.optionAttrSetToDocList {{ inherit (module.options.services) tacid; }})
        )
        """
    )
    assert {
        "services.tacid.services",
        "services.tacid.engines.<name>.model",
        "services.tacid.settings.server.port",
    } <= {name if name.startswith("services.") else f"services.{name}" for name in documented}
