"""What is desired of a machine, as a NixOS module: the same text for the same wishes, sorted, as nixfmt formats it."""

from __future__ import annotations

import shlex

from tacid.machine.desired import GROUPS, PACKAGES, PORTS, SERVICES, USERS, Desired
from tacid.machine.nix_text import nix_list, nix_path, nix_value

_HEAD = (
    "# Written by tacid. The next export replaces it; what else this machine wants belongs into a file of its own.\n"
)


def render(desired: Desired) -> str:
    """The module. Raises ``ProposalInvalid`` for a text that Nix can't hold.

    Turning a service off is ``mkForce``, since it may be on in somebody else's module. A restart is no wish that a
    configuration can hold; `restarts` has its commands.
    """
    bindings: dict[tuple[str, ...], str] = {}
    for name, on in desired.services.items():
        bindings[*SERVICES, name, "enable"] = "true" if on else "lib.mkForce false"
    for path, value in desired.options.items():
        bindings[path] = nix_value(value, "  ")
    for name in desired.users:
        bindings[*USERS, name, "isNormalUser"] = "true"
    for name in desired.groups:
        bindings[*GROUPS, name] = "{ }"
    if desired.packages:
        names = [nix_path(("pkgs", *name.split("."))) for name in sorted(desired.packages)]
        bindings[PACKAGES] = nix_list(names, "  ")
    for protocol, place in PORTS.items():
        if numbers := sorted(number for kind, number in desired.ports if kind == protocol):
            bindings[place] = nix_list([str(number) for number in numbers], "  ")
    needs = [
        name for name, needed in (("lib", False in desired.services.values()), ("pkgs", desired.packages)) if needed
    ]
    lines = [f"  {nix_path(path)} = {bindings[path]};" for path in sorted(bindings)]
    body = "\n".join(["{", *lines, "}"]) if lines else "{ }"
    return f"{_HEAD}{{ {', '.join([*needs, '...'])} }}:\n{body}\n"


def restarts(desired: Desired) -> tuple[str, ...]:
    """Commands that restart what is to be restarted, for a person to type. Units are named as the list names them."""
    return tuple(f"systemctl restart -- {shlex.quote(name)}" for name in desired.restarts)


__all__ = ["render", "restarts"]
