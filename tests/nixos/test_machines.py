"""The machines that the repository describes: examples, and the guests of the VM tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.nixos.conftest import Module
from tests.nixos.nix import ROOT
from tests.nixos.test_docs import BLOCKS

EXAMPLES = ROOT / "examples" / "nixos"
SCRIPTS = sorted(path.stem for path in (ROOT / "vmtests").glob("*.nix"))

#: What each machine sets of services.tacid.
MACHINES = {
    "configuration": f"(import {EXAMPLES}/configuration.nix).services.tacid",
    "reverse-proxy": f"""
        (import {EXAMPLES}/reverse-proxy.nix {{ config.services.tacid = (of {{ }}).cfg; }}).services.tacid
    """,
}


@pytest.fixture(scope="module")
def guest(module: Module) -> Any:
    """What a guest of the VM tests sets, as the module's options take it."""
    return module(
        f"""
        let
          flake.nixosModules.default = {{ }};
          flake.packages.x86_64-linux = import {ROOT}/nixos/packages {{ inherit pkgs; }};
          machine = import {ROOT}/vmtests/guest {{ self = flake; }} {{ inherit lib pkgs; }};
          plain = builtins.mapAttrs (_: value: value.content or value) machine.services.tacid;
        in {{
          inherit (machine) environment systemd;
          services = (of plain).cfg.services;
          wrong = builtins.filter (one: !one.assertion) (at "assertions.nix" (of plain).given);
          settings = at "settings.nix" (of plain).given;
        }}
        """
    )


@pytest.mark.parametrize("name", MACHINES)
def test_an_example_is_one_that_can_be_built(module: Module, name: str) -> None:
    found = module(
        f"""
        let set = {MACHINES[name]}; in {{
          inherit (set) enable;
          wrong = builtins.filter (one: !one.assertion) (at "assertions.nix" (of set).given);
        }}
        """
    )
    assert found == {"enable": True, "wrong": []}


def test_the_proxy_hands_on_to_where_the_server_listens_and_by_its_name(module: Module) -> None:
    found = module(
        f"""
        let proxy = import {EXAMPLES}/reverse-proxy.nix {{ config.services.tacid = (of {{ }}).cfg; }}; in {{
          to = (builtins.head (builtins.attrValues proxy.services.nginx.virtualHosts)).locations."/".proxyPass;
          hosts = builtins.attrNames proxy.services.nginx.virtualHosts == proxy.services.tacid.settings.server.hosts;
          keys = proxy.services.tacid.apiKeysFile != null;
        }}
        """
    )
    assert found == {"to": "http://127.0.0.1:8017", "hosts": True, "keys": True}


@pytest.mark.parametrize("flake", [f"import {EXAMPLES}/flake.nix", f"({BLOCKS[0]})"], ids=["example", "document"])
def test_a_flake_of_ones_own_is_a_machine_with_the_module(module: Module, flake: str) -> None:
    found = module(
        f"""
        let
          theirs = {flake};
          nixpkgs.lib.nixosSystem = machine: machine;
          made = theirs.outputs {{ inherit nixpkgs; self = {{ }}; tacid.nixosModules.default = "the module"; }};
        in {{
          inputs = builtins.attrNames theirs.inputs;
          first = builtins.head made.nixosConfigurations.box.modules;
        }}
        """
    )
    assert found == {"inputs": ["nixpkgs", "tacid"], "first": "the module"}


def test_a_guest_has_what_a_debian_one_has(guest: Any) -> None:
    names = [
        one["name"] for one in json.loads((ROOT / "examples/services.json").read_text(encoding="utf-8"))["services"]
    ]
    assert [one["name"] for one in guest["services"]] == names
    assert guest["wrong"] == []
    assert guest["settings"]["model"]["name"] == "/opt/payload/models/bytes.gguf"
    assert guest["systemd"]["tmpfiles"]["rules"][0].startswith("L+ /opt/payload ")


def test_what_a_guest_carries_is_there() -> None:
    text = (ROOT / "vmtests" / "guest" / "payload.nix").read_text(encoding="utf-8")
    for word in text.split():
        if word.startswith("${.."):
            assert (ROOT / "vmtests" / "guest" / word.strip("${}")).resolve().exists(), word


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_one_text_with_what_all_share(module: Module, name: str) -> None:
    test = module(
        f"""
        let test = import {ROOT}/vmtests/{name}.nix {{ self = {{ }}; inherit pkgs; }}; in {{
          inherit (test) name testScript; nodes = builtins.attrNames test.nodes;
        }}
        """
    )
    assert test["name"] == f"tacid-{name}"
    compile(test["testScript"], name, "exec")
    assert set(test["nodes"]) == {node.name for node in scenarios()[name].nodes}


def scenarios() -> Any:
    from vmtests.scenarios import SCENARIOS

    return SCENARIOS


def test_every_script_boots_on_nixos_too() -> None:
    assert set(SCRIPTS) == set(scenarios()) - {"debian"}, "that one tries Debian's package"
