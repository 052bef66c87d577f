"""docs/nixos.md: its Nix parses, its options are those that there are, and what it builds is an output."""

from __future__ import annotations

import re

import pytest

from tacid.engine.pins import find_pin
from tests.nixos.conftest import Module
from tests.nixos.nix import ROOT, Nix, NixError

TEXT = (ROOT / "docs" / "nixos.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```nix\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_its_examples_are_nix(nix: Nix) -> None:
    assert len(BLOCKS) >= 2
    for block in BLOCKS:
        nix.evaluate(f"builtins.isAttrs ({block})")
    with pytest.raises(NixError):
        nix.evaluate("builtins.isAttrs ({ a = 1 })")


def test_the_machine_is_ten_lines() -> None:
    assert len(BLOCKS[0].splitlines()) <= 10


def test_its_engines_are_ones_that_the_module_takes(module: Module) -> None:
    (block,) = (block for block in BLOCKS if "services.tacid.engines" in block)
    cards = module("builtins.mapAttrs (_: one: one.acceleration) cfg.engines", f"({block}).services.tacid")
    assert cards == {"large": "cuda", "small": "none"}


def test_every_option_is_in_it(module: Module) -> None:
    for name in module("builtins.attrNames tree"):
        assert re.search(rf"^\| .*`{name}[.`]", TEXT, re.MULTILINE) or name == "package", name
    for name in module("builtins.attrNames tree.engine"):
        assert re.search(rf"`(engine)?\.{name}`", TEXT), name


def test_what_it_says_of_the_model_is_the_pins(module: Module) -> None:
    assert f"{find_pin(module('cfg.model')).size:,} bytes" in TEXT


def test_what_it_builds_is_there() -> None:
    text = (ROOT / "nixos" / "outputs.nix").read_text(encoding="utf-8") + (
        ROOT / "nixos" / "packages" / "default.nix"
    ).read_text(encoding="utf-8")
    for name in set(re.findall(r"nix build (?:-L )?\.#([a-z0-9-]+)\b(?!\.)", TEXT)):
        assert f"{name} =" in text, name
