"""What can't be built is refused with a sentence that names the options and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.nixos.conftest import Module

Failing = Callable[[str], list[str]]

#: What is set, and the names that the one message has.
WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "open to others without keys": (
        '{ settings.server.host = "0.0.0.0"; }',
        ("settings.server.host is 0.0.0.0", "apiKeysFile"),
    ),
    "a port that nobody listens on": (
        "{ openFirewall = true; }",
        ("services.tacid.openFirewall", "services.tacid.settings.server.host"),
    ),
    "keys in the store": (
        '{ apiKeysFile = builtins.toFile "keys" "me:secret"; }',
        ("services.tacid.apiKeysFile", "store", "in quotes"),
    ),
    "keys that Nix would copy into the store": ("{ apiKeysFile = ./keys; }", ("apiKeysFile", "store", "in quotes")),
    "state in the store": ('{ stateDir = builtins.storeDir + "/x"; }', ("stateDir", "store")),
    "a key as text for the engine": (
        '{ settings.engine.key = "s3cret"; }',
        ("services.tacid.settings.engine has a key", "TACID_ENGINE__KEY"),
    ),
    "a key as text for an endpoint": (
        '{ settings.endpoints = [ { name = "x"; kind = "remote"; url = "https://x"; key = "s3cret"; } ]; }',
        ("services.tacid.settings.endpoints has a key", "TACID_ENDPOINTS"),
    ),
    "a model in a home": ('{ model = "/home/me/x.gguf"; }', ("services.tacid.model is /home/me/x.gguf", "home")),
    "a model of one of several in a home": (
        '{ engines.small.model = "/root/x.gguf"; }',
        ("services.tacid.engines.small.model is /root/x.gguf", "home"),
    ),
    "an engine's name that no unit has": ('{ engines."a b" = { }; }', ('services.tacid.engines."a b"',)),
    "an engine called as an endpoint": (
        '{ engines.x = { }; settings.endpoints = [ { name = "x"; kind = "remote"; url = "https://x"; } ]; }',
        ("services.tacid.engines.x", "services.tacid.settings.endpoints"),
    ),
}
#: Settings that have an option of their own.
OWNED = {
    "engine.binary": ('"/bin/x"', "engine.package"),
    "engine.extra_args": ("[ ]", "engine.extraArgs"),
    "engine.threads": ("4", "engine.threads"),
    "engine.url": ('"http://127.0.0.1:1"', "engines"),
    "machine.services": ('"/x"', "services"),
    "machine.state_dir": ('"/x"', "stateDir"),
    "model.dir": ('"/x"', "model"),
    "model.name": ('"x"', "model"),
    "server.keys": ('"/x"', "apiKeysFile"),
    "tools.mode": ('"auto"', "toolMode"),
}


def test_a_plain_machine_fails_none(failing: Failing) -> None:
    assert failing("{ enable = true; }") == []


def test_a_machine_with_everything_fails_none(failing: Failing) -> None:
    everything = """{
      enable = true; apiKeysFile = "/run/keys"; openFirewall = true; stateDir = "/data/tacid"; toolMode = "auto";
      settings = { server = { host = "0.0.0.0"; hosts = [ "box.lan" ]; queue = 8; }; endpoints = [
        { name = "far"; kind = "remote"; url = "https://x"; } ]; };
      engines = { small = { }; large = { model = "/models/x.gguf"; acceleration = "cuda"; memoryMax = "60G"; }; };
    }"""
    assert failing(everything) == []


@pytest.mark.parametrize("what", WRONG)
def test_an_assertion_fails_alone_and_names_what_to_do(failing: Failing, what: str) -> None:
    set_, named = WRONG[what]
    (message,) = failing(set_)
    assert [word for word in named if word not in message] == []
    assert message.endswith(".")
    assert "s3cret" not in message


@pytest.mark.parametrize("setting", OWNED)
def test_a_setting_with_an_option_of_its_own_names_both(failing: Failing, setting: str) -> None:
    value, option = OWNED[setting]
    (message,) = failing(f"{{ settings.{setting} = {value}; }}")
    assert f"services.tacid.settings.{setting} is" in message
    assert f"services.tacid.{option};" in message


def test_every_assertion_is_tried_here(module: Module) -> None:
    every = 'builtins.length (at "assertions.nix" given)'
    # Of those above, keys are tried twice, and three are of several engines.
    assert module(every) == len(WRONG) - 1 - 3 + len(OWNED)
    assert module(every, "{ engines.small = { }; }") == module(every) + 3


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_loopback_needs_no_keys(failing: Failing, host: str) -> None:
    assert failing(f'{{ settings.server.host = "{host}"; }}') == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "box.lan", "127.example.org"])
def test_what_others_reach_needs_keys(failing: Failing, host: str) -> None:
    assert len(failing(f'{{ settings.server.host = "{host}"; }}')) == 1
    assert failing(f'{{ settings.server.host = "{host}"; apiKeysFile = "/run/keys"; }}') == []


def test_an_empty_list_of_services_is_told(module: Module) -> None:
    assert module('at "warnings.nix" given') == []
    (warning,) = module('at "warnings.nix" given', "{ services = [ ]; }")
    assert "services.tacid.services is an empty list" in warning
