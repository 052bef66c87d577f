"""The module as a whole: what it sets of a machine, and the two files that the server reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacid.config import load
from tacid.config.show import toml
from tacid.machine.services import load_services, read_services
from tests.nixos.conftest import Module
from tests.nixos.nix import ROOT


def machine(module: Module, set_: str, what: str) -> Any:
    """What nixos/module.nix sets, before NixOS would merge it."""
    return module(
        f"""
        let
          config = import {ROOT}/nixos/module.nix {{
            inherit lib pkgs; options.services = {{ }}; config.services.tacid = cfg;
          }};
          sets = config.config.content;
        in {what}
        """,
        set_,
    )


def test_nothing_is_set_unless_it_is_enabled(module: Module) -> None:
    assert machine(module, "{ }", "config.config.condition") is False
    assert machine(module, "{ enable = true; }", "config.config.condition") is True


def test_the_shipped_units_and_the_command_are_the_packages(module: Module) -> None:
    (package,) = machine(module, "{ }", "sets.systemd.packages")
    assert package.endswith("-tacid")
    assert machine(module, "{ }", "sets.environment.systemPackages") == [package]


def test_the_firewall_is_closed_unless_told_otherwise(module: Module) -> None:
    assert machine(module, "{ }", "sets.networking.firewall.allowedTCPPorts") == []
    opened = "{ openFirewall = true; settings.server.port = 8018; }"
    assert machine(module, opened, "sets.networking.firewall.allowedTCPPorts") == [8018]


def test_reload_and_restart_are_triggered_by_the_files_that_are_written(module: Module) -> None:
    what = """{
      list = [ sets.environment.etc."tacid-system/services.json".source ] == sets.systemd.services.tacid.reloadTriggers;
      toml = [ sets.environment.etc."tacid/config.toml".source ] == sets.systemd.services.tacid.restartTriggers;
    }"""
    assert machine(module, "{ }", what) == {"list": True, "toml": True}


def written(document: dict[str, Any]) -> str:
    """The TOML of settings: sections, and tables of endpoints."""
    lines = []
    for section, values in document.items():
        for table in values if isinstance(values, list) else [values]:
            lines.append(f"[[{section}]]" if isinstance(values, list) else f"[{section}]")
            lines += [f"{key} = {toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "set_",
    [
        "{ }",
        '{ toolMode = "auto"; settings = { server.queue = 3; machine.offer = [ "*" ]; model.aliases.a = "b"; }; }',
        '{ engines = { small = { }; large.model = "/m/x.gguf"; }; }',
        '{ settings.endpoints = [ { name = "far"; kind = "remote"; url = "https://x.example"; } ]; }',
    ],
)
def test_what_is_written_is_a_configuration_that_tacid_takes(module: Module, tmp_path: Path, set_: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(written(module('at "settings.nix" given', set_)), encoding="utf-8")
    config = load(path).config
    assert config.engine.url is not None
    assert config.engine.url.startswith("unix:///run/tacid-engine")


def test_engines_are_local_endpoints_before_those_of_the_settings(module: Module) -> None:
    set_ = '{ engines = { a = { }; b.model = "/m/x.gguf"; }; settings.endpoints = [ { name = "far"; } ]; }'
    found = module('(at "settings.nix" given).endpoints', set_)
    assert [(one["name"], one.get("kind"), one.get("model")) for one in found] == [
        ("a", "local", "smollm2-135m-instruct"),
        ("b", "local", "/m/x.gguf"),
        ("far", None, None),
    ]
    assert found[0]["url"] == "unix:///run/tacid-engine-a/engine.sock"


def test_an_engine_alone_has_a_table_once_there_are_others(module: Module) -> None:
    assert "endpoints" not in module('at "settings.nix" given')
    found = module('(at "settings.nix" given).endpoints', '{ settings.endpoints = [ { name = "far"; } ]; }')
    assert [one["name"] for one in found] == ["engine", "far"]


def test_what_is_null_is_left_out(module: Module) -> None:
    found = module('at "settings.nix" given', "{ settings.server.audit = null; settings.engine.batch = null; }")
    assert "audit" not in found["server"]
    assert "batch" not in found["engine"]


def test_the_list_is_one_that_tacid_takes(module: Module, tmp_path: Path) -> None:
    set_ = '{ services = [ "nginx" { name = "jellyfin"; description = "Films."; } { name = "x"; } ]; }'
    path = tmp_path / "services.json"
    path.write_text(json.dumps(module('at "list.nix" given', set_)), encoding="utf-8")
    services = load_services(path)
    assert services.names == ("nginx", "jellyfin", "x")
    assert services.descriptions == {"jellyfin": "Films."}


KNOWN = """
  let
    gone = lib.mkEnableOption "x" // { visible = false; };
    options.services = {
      nginx.enable = lib.mkEnableOption "nginx, a web server";
      marked.enable = lib.mkOption { description = { _type = "mdDoc"; text = "Whether to enable *marked* text."; }; };
      odd.enable = lib.mkOption { description = "Turns odd on"; };
      silent.enable = lib.mkOption { };
      removed.enable = gone;
      broken = throw "this module throws";
      sour.enable = throw "this option throws";
      bitter.enable = lib.mkOption { description = throw "these words throw"; };
      unset.port = lib.mkOption { };
      plain.enable.deeper = lib.mkOption { };
      option = lib.mkOption { };
    };
  in at "known-services.nix" { inherit lib options; }
"""


def test_by_default_the_list_is_what_the_modules_can_enable(module: Module) -> None:
    known = {one["name"]: one["description"] for one in module(KNOWN)}
    assert known == {
        "nginx": "nginx, a web server",
        "marked": "*marked* text",
        "odd": "Turns odd on",
        "silent": "",
        "bitter": "",
    }
    read_services(module(KNOWN))
    assert module("cfg.services") == [{"name": "nginx", "description": "nginx, a web server"}]


def test_the_flakes_module_has_what_its_lock_pins_but_for_cards(module: Module) -> None:
    found = module(
        f"""
        let
          packages.x86_64-linux = import {ROOT}/nixos/packages {{ inherit pkgs; }};
          sets = card: (import {ROOT}/nixos/with-packages.nix {{ inherit packages; }} {{
            inherit lib pkgs; config.services.tacid.engine.acceleration = card;
          }}).config.services.tacid;
        in {{
          package = (sets "none").package.content == packages.x86_64-linux.tacid;
          none = (sets "none").engine.package.condition;
          pinned = (sets "none").engine.package.content.content == packages.x86_64-linux.llama-cpp;
          cuda = (sets "cuda").engine.package.condition;
        }}
        """
    )
    assert found == {"package": True, "none": True, "pinned": True, "cuda": False}
