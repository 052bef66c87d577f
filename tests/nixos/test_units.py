"""The units of a machine: what the package ships, and what the module lays over it for each option."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.nixos.conftest import Module
from tests.nixos.nix import ROOT

SHIPPED = ROOT / "packaging" / "systemd"
TRIGGERS = '{ restart = [ "toml" ]; reload = [ "list" ]; }'
CARDS = ("none", "cuda", "rocm", "vulkan")


def units(module: Module, set_: str) -> dict[str, Any]:
    found: dict[str, Any] = module(f'(at "units.nix" given).services {TRIGGERS}', set_)
    return found


def shipped(name: str) -> dict[str, list[str]]:
    """The settings of a shipped unit's [Service], each with its values in order."""
    found: dict[str, list[str]] = {}
    for line in (
        (SHIPPED / name).read_text(encoding="utf-8").partition("[Service]")[2].partition("[Install]")[0].splitlines()
    ):
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_a_plain_machine_has_the_server_and_one_engine(module: Module) -> None:
    found = units(module, "{ }")
    assert set(found) == {"tacid", "tacid-engine"}
    assert found["tacid"]["wantedBy"] == ["multi-user.target"]
    assert found["tacid-engine"]["wantedBy"] == ["tacid.service"]


def test_each_unit_is_laid_over_one_that_the_package_ships(module: Module) -> None:
    for name in units(module, "{ }"):
        assert (SHIPPED / f"{name}.service").is_file()
    for name, unit in units(module, "{ engines = { small = { }; large = { }; }; }").items():
        template = name.partition("@")[0] + "@" if "@" in name else name
        assert (SHIPPED / f"{template}.service").is_file()
        # NixOS would take an instance for a unit of its own.
        assert name == "tacid" or unit["overrideStrategy"] == "asDropin"


def test_the_package_replaces_nothing_in_the_units_but_the_path() -> None:
    for path in sorted(SHIPPED.iterdir()):
        text = path.read_text(encoding="utf-8")
        assert text.count("/usr/bin/tacid ") == 1
        assert text.replace("/usr/bin/tacid ", "").count("/usr/") == 0


def test_a_changed_list_reloads_and_a_changed_configuration_restarts_the_server_alone(module: Module) -> None:
    found = units(module, "{ }")
    assert found["tacid"]["reloadTriggers"] == ["list"]
    assert found["tacid"]["restartTriggers"] == ["toml"]
    assert "reloadTriggers" not in found["tacid-engine"]
    same = units(module, '{ toolMode = "auto"; services = [ ]; settings.server.port = 9; }')
    assert same["tacid-engine"] == found["tacid-engine"]
    assert units(module, "{ settings.engine.context = 4096; }")["tacid-engine"] != found["tacid-engine"]


def test_keys_come_as_a_credential_and_stand_nowhere_else(module: Module) -> None:
    plain = units(module, "{ }")["tacid"]
    assert "serviceConfig" not in plain
    keyed = units(module, '{ apiKeysFile = "/run/secrets/keys"; }')
    assert keyed["tacid"]["serviceConfig"]["LoadCredential"] == ["keys:/run/secrets/keys"]
    assert keyed["tacid"]["environment"] == {"KEYS": "/run/secrets/keys"}
    assert shipped("tacid.service")["LoadCredential"][0].startswith("keys:")
    # A credential that lacks keys is refused, since the configuration names it.
    assert (
        module('(at "settings.nix" given).server.keys', '{ apiKeysFile = "/k"; }')
        == "/run/credentials/tacid.service/keys"
    )


def test_an_engine_gets_its_server_its_threads_and_its_model(module: Module) -> None:
    environment = units(module, '{ engine.threads = 3; engine.extraArgs = [ "--mlock" ]; engine.memoryMax = "6G"; }')
    engine = environment["tacid-engine"]
    assert engine["environment"]["TACID_ENGINE__THREADS"] == "3"
    assert json.loads(engine["environment"]["TACID_ENGINE__EXTRA_ARGS"]) == ["--mlock"]
    assert engine["environment"]["TACID_ENGINE__BINARY"].endswith("-llama-cpp/bin/llama-server")
    assert engine["environment"]["TACID_MODEL__DIR"].endswith("-tacid-model-smollm2-135m-instruct")
    assert engine["serviceConfig"] == {"MemoryMax": "6G"}


def test_a_file_as_a_model_needs_no_folder(module: Module) -> None:
    assert "TACID_MODEL__DIR" not in units(module, '{ model = "/m/x.gguf"; }')["tacid-engine"]["environment"]
    assert module('(at "settings.nix" given).model.name', '{ model = "/m/x.gguf"; }') == "/m/x.gguf"


def test_several_engines_differ_in_what_is_said_of_each(module: Module) -> None:
    found = units(
        module, '{ engine.threads = 2; engines = { small = { }; large = { threads = 8; model = "qwen3-0.6b"; }; }; }'
    )
    assert set(found) == {"tacid", "tacid-engine@small", "tacid-engine@large"}
    small, large = (found[f"tacid-engine@{name}"]["environment"] for name in ("small", "large"))
    assert (small["TACID_ENGINE__THREADS"], large["TACID_ENGINE__THREADS"]) == ("2", "8")
    assert small["TACID_MODEL__DIR"].endswith("smollm2-135m-instruct")
    assert large["TACID_MODEL__DIR"].endswith("qwen3-0.6b")


@pytest.mark.parametrize("card", CARDS[1:])
def test_a_card_opens_its_own_devices_and_changes_nothing_else(module: Module, card: str) -> None:
    plain = units(module, "{ }")["tacid-engine"]
    unit = units(module, f'{{ engine.acceleration = "{card}"; }}')["tacid-engine"]
    assert set(unit["serviceConfig"]) == {
        "PrivateDevices", "DevicePolicy", "DeviceAllow", "SupplementaryGroups", "ExecStartPre",
    }  # fmt: skip
    assert all(device.startswith("char-") and device.endswith(" rw") for device in unit["serviceConfig"]["DeviceAllow"])
    assert {**unit, "serviceConfig": {}, "environment": {}} == {**plain, "serviceConfig": {}, "environment": {}}
    assert unit["environment"]["TACID_ENGINE__BINARY"] != plain["environment"]["TACID_ENGINE__BINARY"]


def test_a_build_for_a_card_is_made_by_nixpkgs_own_switch(module: Module) -> None:
    for card in CARDS[1:]:
        assert module("cfg.engine.package.from", f'{{ engine.acceleration = "{card}"; }}') == {f"{card}Support": True}
    assert module("cfg.engine.package.from") == {}


def llama(tmp_path: Path, says: str) -> Path:
    """A llama-server that sees these cards."""
    path = tmp_path / "bin" / "llama-server"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\ncat <<'E'\n{says}\nE\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("Available devices:\n  CUDA0: NVIDIA H200 (143771 MiB, 143000 MiB free)", 0),
        ("Available devices:", 1),
        ("ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device\nAvailable devices:", 1),
        ("Available devices:\n  Vulkan0: llvmpipe", 1),
    ],
)
def test_the_unit_fails_with_a_sentence_where_the_card_is_not_seen(
    module: Module, tmp_path: Path, says: str, code: int
) -> None:
    server = llama(tmp_path, says)
    script = module(
        f'(at "card-check.nix" {{ inherit pkgs; server = "{server}"; card = (at "cards.nix").cuda; '
        'engine = { acceleration = "cuda"; option = "services.tacid"; }; }).text'
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == code
    assert (done.stderr == "") == (code == 0)
    assert (
        code == 0 or "services.tacid asks for acceleration by cuda, and llama-server sees no such card" in done.stderr
    )


def test_state_elsewhere_is_mounted_where_the_unit_has_its_own(module: Module) -> None:
    assert module('(at "units.nix" given).mounts') == []
    (mount,) = module('(at "units.nix" given).mounts', '{ stateDir = "/data/tacid"; }')
    assert (mount["what"], mount["where"], mount["options"]) == ("/data/tacid", "/var/lib/private/tacid", "bind")
    unit = units(module, '{ stateDir = "/data/tacid"; }')["tacid"]
    assert unit["unitConfig"]["RequiresMountsFor"] == ["/var/lib/private/tacid"]
    assert "serviceConfig" not in unit, "hardening stays as it is"
    assert shipped("tacid.service")["StateDirectory"] == ["tacid"]
