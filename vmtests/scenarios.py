"""Which machines each script has: what its ``.nix`` says for NixOS guests, for Debian ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from vmtests.payload import AT, ROOT

KEY = "a-key-for-the-tests-0123456789"

#: Emulated processors load Python for a minute, which the units' own times are not made for.
_PATIENT = "[Service]\nTimeoutStartSec=900\nWatchdogSec=600\nEnvironment=TACID_ENGINE__START_TIMEOUT=600\n"


@dataclass(frozen=True, slots=True)
class Node:
    """A machine: its files by absolute path, and the units that are enabled, as ``wanted by: unit``."""

    name: str = "machine"
    suite: str = "sid"
    files: Mapping[str, str] = field(default_factory=dict)
    enabled: tuple[tuple[str, str], ...] = ()
    memory: int = 1024
    address: str = ""
    #: What its second disk holds: the wheel and the tests' programs, Debian packages, or nothing.
    payload: Literal["wheel", "packages", ""] = "wheel"

    def links(self) -> dict[str, str]:
        """The symbolic links that ``systemctl enable`` makes; an instance's leads to its template."""
        return {
            f"/etc/systemd/system/{by}.wants/{unit}": f"/usr/lib/systemd/system/{_file_of(unit)}"
            for by, unit in self.enabled
        }


@dataclass(frozen=True, slots=True)
class Scenario:
    """A script's machines, and the seconds that it may take.

    ``alone``: it needs machines that nobody used before it and leaves them as nobody wants them. The others share one.
    """

    nodes: tuple[Node, ...]
    alone: bool = True
    #: Whether the machines must boot for it; the others may go on from where one that booted was ready.
    cold: bool = False
    seconds: int = 1800


def _file_of(unit: str) -> str:
    name, at, _ = unit.partition("@")
    return f"{name}@.service" if at else unit


def _config(**sections: Mapping[str, object]) -> str:
    """TOML of tables; most values are written as in JSON."""
    return "".join(
        "\n".join([f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items()), ""])
        for name, values in sections.items()
    )  # fmt: skip


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def _services() -> str:
    return (ROOT / "examples/services.json").read_text(encoding="utf-8")


_GATEWAY = ("multi-user.target", "tacid.service")
_UNITS = ("tacid", "tacid-engine", "tacid-engine@")
_MODELS = {"small": "bytes", "large": "random"}


def _appliance(name: str = "machine", *, address: str = "", engines: tuple[str, ...] = (), keys: bool = False) -> Node:
    """The service as it is installed, with one engine, or with several that are named after their models."""
    sections: dict[str, Mapping[str, object]] = {
        "engine": {"url": "unix:///run/tacid-engine/engine.sock", "context": 8192, "threads": 1},
        "model": {"name": f"{AT}/models/bytes.gguf", "aliases": {"machine": "bytes"}},
        # The machine's own tools are long, so only who asks for this model gets them.
        "machine": {"offer": ["machine"]},
    }
    if engines:
        sections["engine"] = {key: value for key, value in sections["engine"].items() if key != "url"}
    tables = "".join(
        f'[[endpoints]]\nname = "{engine}"\nkind = "local"\nurl = "unix:///run/tacid-engine-{engine}/engine.sock"\n'
        f'model = "{AT}/models/{_MODELS[engine]}.gguf"\n'
        for engine in engines
    )
    files = {
        "/etc/tacid/config.toml": _config(**sections) + tables,
        "/etc/tacid-system/services.json": _services(),
        **{f"/etc/systemd/system/{unit}.service.d/emulated.conf": _PATIENT for unit in _UNITS},
    }
    if keys:
        files["/etc/tacid/keys"] = f"tests:{KEY}\n"
    units = [f"tacid-engine@{engine}.service" for engine in engines] or ["tacid-engine.service"]
    enabled = (_GATEWAY, *(("tacid.service", unit) for unit in units))
    return Node(name=name, address=address, enabled=enabled, files=files)


SCENARIOS: dict[str, Scenario] = {
    "boot": Scenario((_appliance(),), alone=False, cold=True),
    "grammars": Scenario((_appliance(),), alone=False),
    "unsampleable": Scenario((_appliance(),), alone=False, seconds=7200),
    "lists": Scenario((_appliance(),), alone=False),
    "doors": Scenario(
        (
            _appliance("server", address="192.168.1.2/24", keys=True),
            Node("client", address="192.168.1.1/24", memory=384, payload=""),
        ),
        cold=True,
    ),
    "hardening": Scenario((_appliance(keys=True),)),
    "faults": Scenario((_appliance(),), seconds=3600),
    "power": Scenario((_appliance(),), seconds=3600),
    "debian": Scenario((Node(suite="trixie", payload="packages"),), seconds=3600, cold=True),
    "engines": Scenario((_appliance(engines=("small", "large")),), cold=True),
}

__all__ = ["KEY", "SCENARIOS", "Node", "Scenario"]
