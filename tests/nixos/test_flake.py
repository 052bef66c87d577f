"""The flake: its outputs, its lock, and that what it names is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tacid.engine.pins import PINS
from tests.nixos.conftest import Module
from tests.nixos.nix import ROOT, STANDIN, Nix, nix_files
from tests.nixos.test_options import fetched

SYSTEMS = ("x86_64-linux", "aarch64-linux", "aarch64-darwin")
PACKAGES = {"default", "llama-cpp", "llama-cpp-b10434", "model", "tacid", "tacid-appliance"}
#: Puts the stand-in in nixpkgs' place.
INSTEAD = ("--no-write-lock-file", "--override-input", "nixpkgs", f"path:{STANDIN}")


@pytest.fixture(scope="module")
def shown(nix: Nix, flake: Path) -> Any:
    return json.loads(nix("flake", "show", "--json", "--all-systems", f"path:{flake}", *INSTEAD))


@pytest.mark.parametrize("path", nix_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_parses(nix: Nix, path: Path) -> None:
    # Only a call would evaluate it.
    nix.evaluate(f"builtins.isFunction (import {path}) || true")


def test_every_output_evaluates(nix: Nix, flake: Path) -> None:
    nix("flake", "check", "--no-build", "--all-systems", f"path:{flake}", *INSTEAD)


def test_the_flake_gives_what_it_promises(shown: Any) -> None:
    assert set(shown) == {
        "apps", "checks", "devShells", "formatter", "nixosConfigurations", "nixosModules", "overlays", "packages",
    }  # fmt: skip
    for system in SYSTEMS:
        assert set(shown["packages"][system]) >= PACKAGES
        assert shown["apps"][system]["default"]["type"] == "app"
    for system in SYSTEMS[:2]:
        assert {"docs", "image"} <= set(shown["packages"][system])
        assert {"docs", "format", "tacid", "tacid-appliance"} <= set(shown["checks"][system])
    assert "aarch64-darwin" not in shown["checks"]


def test_there_is_a_package_for_each_pin_that_nix_can_fetch(shown: Any) -> None:
    models = {name.removeprefix("model-") for name in shown["packages"]["x86_64-linux"] if name.startswith("model-")}
    assert models == {pin.name.replace(".", "_") for pin in PINS if fetched(pin)} | {"from-wheel"}


def test_each_script_for_a_machine_is_a_check(shown: Any) -> None:
    scripts = {path.stem for path in (ROOT / "vmtests").glob("*.nix")}
    assert {name for name in shown["checks"]["x86_64-linux"] if name.startswith("vm-")} == {f"vm-{n}" for n in scripts}


def test_the_lock_is_one_that_nix_takes_and_pins_nixpkgs(nix: Nix, flake: Path) -> None:
    # Nix refuses a lock that it would have written otherwise.
    told = json.loads(nix("flake", "metadata", "--json", "--no-update-lock-file", f"path:{flake}"))
    locked = told["locks"]["nodes"]["nixpkgs"]["locked"]
    assert re.fullmatch("[0-9a-f]{40}", locked["rev"])
    assert re.fullmatch("sha256-[A-Za-z0-9+/]{43}=", locked["narHash"])
    assert told["locks"] == json.loads((ROOT / "flake.lock").read_text(encoding="utf-8"))


def test_the_pinned_engine_is_built_for_every_cpu_and_without_a_page(module: Module) -> None:
    built = module('(pkgs.callPackage (at "packages/llama-cpp-b10434.nix") { }).from')
    assert built["version"] == "10434"
    assert {"-DGGML_CPU_ALL_VARIANTS:BOOL=TRUE", "-DGGML_BACKEND_DL:BOOL=TRUE", "-DLLAMA_BUILD_UI:BOOL=FALSE"} <= set(
        built["cmakeFlags"]
    )
    assert [path.rpartition("-")[2] for path in built["nativeBuildInputs"]] == ["cmake"]
