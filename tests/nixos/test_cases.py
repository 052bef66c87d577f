"""The statements of the cases of kind nixos., and what security cases say of NixOS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.case_files import case, cases
from tests.nixos.conftest import Module
from tests.nixos.nix import NixError
from tests.nixos.test_units import shipped, units

Failing = Callable[[str], list[str]]


def text(value: Any) -> list[str]:
    """What a case expects of a setting, as a unit file writes it."""
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [" ".join(value) if isinstance(value, list) else value]


class TestNixosGpuAndHardening:
    case = case("nixos-gpu-and-hardening")
    cards = case.input["nixos"]["services.tacid"]["engine"]["acceleration"]

    @pytest.mark.parametrize("name", ["tacid", "tacid-engine", "tacid-engine@"])
    def test_the_units_are_as_closed_as_the_case_says(self, name: str) -> None:
        unit = shipped(f"{name}.service")
        for setting, value in self.case.expect["unit"].items():
            if setting == "RestrictAddressFamilies" and name != "tacid":
                assert set(unit[setting][0].split()) < set(value), "an engine is asked at a socket alone"
            else:
                assert unit[setting] == text(value), setting

    def test_without_a_card_the_engine_has_private_devices(self, module: Module) -> None:
        assert shipped("tacid-engine.service")["PrivateDevices"] == ["yes"]
        assert units(module, '{ engine.acceleration = "none"; }')["tacid-engine"]["serviceConfig"] == {}

    def test_a_card_opens_only_its_nodes_and_groups(self, module: Module) -> None:
        opened = {
            card: units(module, f'{{ engine.acceleration = "{card}"; }}')["tacid-engine"]["serviceConfig"]
            for card in self.cards
            if card != "none"
        }
        assert {card: (one["DeviceAllow"], one["SupplementaryGroups"]) for card, one in opened.items()} == {
            "cuda": (["char-nvidia* rw"], []),
            "rocm": (["char-drm rw", "char-kfd rw"], ["render", "video"]),
            "vulkan": (["char-drm rw"], ["render", "video"]),
        }
        for one in opened.values():
            assert one["DevicePolicy"]["content"] == "closed"
            assert not set(one) & set(self.case.expect["unit"]), "everything else is as without a card"

    def test_each_hardening_line_is_turned_off_by_a_plain_override(self, module: Module) -> None:
        # What is shipped lies under NixOS's drop-in; what the module adds has a default's priority.
        hardening = set(shipped("tacid-engine.service"))
        for card in self.cards:
            for name, unit in units(module, f'{{ engine.acceleration = "{card}"; apiKeysFile = "/k"; }}').items():
                for setting, value in unit.get("serviceConfig", {}).items():
                    if setting in hardening - {"LoadCredential"}:
                        assert value["priority"] == 1000, (name, setting)

    def test_the_unit_fails_where_no_card_is_seen(self, module: Module) -> None:
        # What the check does is tried in test_units.
        for card in self.cards:
            unit = units(module, f'{{ engine.acceleration = "{card}"; }}')["tacid-engine"]
            assert ("ExecStartPre" in unit["serviceConfig"]) == (card != "none")


class TestNixosMoreThanOne:
    case = case("nixos-more-than-one")
    engines = case.input["nixos"]["services.tacid.engines"]
    set_ = '{ engines = { small.model = "/m/a.gguf"; large.model = "/m/b.gguf"; }; }'

    def test_one_server_stands_before_several_engines(self, module: Module) -> None:
        assert set(units(module, self.set_)) == {"tacid"} | {f"tacid-engine@{name}" for name in self.engines}

    def test_they_are_tables_with_a_model_each(self, module: Module) -> None:
        found = module('(at "settings.nix" given).endpoints', self.set_)
        assert {(one["name"], one["kind"], one["model"]) for one in found} == {
            ("small", "local", "/m/a.gguf"),
            ("large", "local", "/m/b.gguf"),
        }

    def test_no_two_listen_at_one_place(self, module: Module) -> None:
        # An engine has a socket by its own name, so the case's ports are refused: such an option would open a door.
        found = module('(at "settings.nix" given).endpoints', self.set_)
        assert len({one["url"] for one in found}) == len(found)
        assert all(one["url"].startswith("unix:///run/tacid-engine-") for one in found)
        for name, engine in self.engines.items():
            with pytest.raises(NixError, match="port' does not exist"):
                module("builtins.deepSeq cfg true", f"{{ engines.{name}.port = {engine['port']}; }}")

    def test_an_engine_that_is_down_does_not_stop_the_server(self, module: Module) -> None:
        server = units(module, self.set_)["tacid"]
        # What its model answers is tried in tests/endpoints.
        assert not {"requires", "bindsTo", "after", "requisite"} & set(server)
        assert not {"Requires", "BindsTo", "After", "Requisite"} & set(shipped("tacid.service"))


class TestNixosSecrets:
    case = case("nixos-secrets")
    file = case.input["nixos"]["services.tacid.apiKeysFile"]

    def test_no_option_takes_a_key_as_text(self, module: Module, failing: Failing) -> None:
        for name in module("builtins.attrNames tree"):
            assert "key" not in name.lower() or name == "apiKeysFile"
        for secret in ('engine.key = "s"', 'endpoints = [ { key = "s"; } ]'):
            assert len(failing(f"{{ settings.{secret}; }}")) == 1

    def test_a_path_in_the_store_is_an_error(self, failing: Failing) -> None:
        (message,) = failing('{ apiKeysFile = "/nix/store/00000000000000000000000000000000-keys"; }')
        assert "apiKeysFile" in message

    def test_it_is_handed_over_as_a_credential_and_by_nothing_else(self, module: Module) -> None:
        found = units(module, f'{{ apiKeysFile = "{self.file}"; }}')
        assert found["tacid"]["serviceConfig"] == {"LoadCredential": [f"keys:{self.file}"]}
        # The path, which is no secret, is all that the environment has.
        assert list(found["tacid"]["environment"].values()) == [self.file]
        assert self.file not in str(module('at "settings.nix" given', f'{{ apiKeysFile = "{self.file}"; }}'))
        assert self.file not in str(found["tacid-engine"])
        assert shipped("tacid.service")["ExecStart"] == ["/usr/bin/tacid serve"]

    def test_a_reload_takes_the_keys_of_that_file(self, module: Module) -> None:
        # That no request is dropped is tried with the server itself, in tests/api.
        assert units(module, f'{{ apiKeysFile = "{self.file}"; }}')["tacid"]["environment"]["KEYS"] == self.file
        (reload,) = shipped("tacid.service")["ExecReload"]
        assert "KEYS" in reload
        assert "kill -HUP $$MAINPID" in reload or "kill -HUP $MAINPID" in reload


def test_engine_not_reachable_past_us(module: Module) -> None:
    assert case("engine-not-reachable-past-us").input["nixos"] == {"services.tacid": {"enable": True}}
    assert module('(at "settings.nix" given).engine.url', "{ enable = true; }").startswith("unix://")
    engine = shipped("tacid-engine.service")
    assert engine["RestrictAddressFamilies"] == ["AF_UNIX"]
    assert engine["PrivateNetwork"] == ["yes"]
    assert engine["RuntimeDirectoryMode"] == ["0710"]
    assert engine["Group"] == shipped("tacid.service")["Group"]


def test_every_case_of_nixos_is_here() -> None:
    here = {one.case.id for one in (TestNixosGpuAndHardening, TestNixosMoreThanOne, TestNixosSecrets)}
    assert here == {one.id for one in cases() if one.kind.startswith("nixos.")}
