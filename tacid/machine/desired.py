"""The sum of changes: what they want of a machine, folded in their order, and the contradictions that they can't hold.

Within one proposal nothing may be said twice or both ways. From one proposal to the next, a later word counts: what was
turned on can be turned off. What no exported change added can't be removed here: its place is in somebody's own
configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

from tacid.errors import ProposalInvalid
from tacid.jsontext import quote
from tacid.machine.protocol import (
    ChangeItem,
    FirewallPortClose,
    FirewallPortOpen,
    GroupAdd,
    GroupRemove,
    OptionSet,
    PackageAdd,
    PackageRemove,
    ServiceDisable,
    ServiceEnable,
    ServiceRestart,
    UserAdd,
    UserRemove,
)

_PART = re.compile(r'"([^"]*)"|[^."]+')

Port = tuple[str, int]
Path = tuple[str, ...]
_T = TypeVar("_T")

#: Where a module has what the changes are about.
SERVICES: Path = ("services",)
USERS: Path = ("users", "users")
GROUPS: Path = ("users", "groups")
PACKAGES: Path = ("environment", "systemPackages")
PORTS: Mapping[str, Path] = {
    protocol: ("networking", "firewall", f"allowed{protocol.upper()}Ports") for protocol in ("tcp", "udp")
}


_Step: TypeAlias = Callable[["Desired", Any], "Desired"]


@dataclass(frozen=True, slots=True)
class Desired:
    """What all changes together want.

    ``services`` says of each whether it is on; ``ports`` are those that are open, as protocol and number; ``restarts``
    are services that are to be restarted once, which no configuration can say.
    """

    services: Mapping[str, bool] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    options: Mapping[Path, Any] = field(default_factory=dict)
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    ports: frozenset[Port] = frozenset()
    restarts: tuple[str, ...] = ()

    def after(self, changes: Iterable[ChangeItem]) -> Desired:
        """With these changes over it. Raises ``ProposalInvalid`` that names the change by its pointer."""
        desired = self
        for index, change in enumerate(changes):
            try:
                desired = _STEPS[type(change)](desired, change)
                _check_apart(desired)
            except _Refused as error:
                raise ProposalInvalid(
                    f"The proposal can't be taken: change {index + 1} {error}.", pointer=f"/changes/{index}"
                ) from None
        return desired

    def places(self) -> list[Path]:
        """The options that are set, sorted; one that two wishes set stands twice."""
        return sorted(
            [
                *((*SERVICES, name, "enable") for name in self.services),
                *((*USERS, name, "isNormalUser") for name in self.users),
                *((*GROUPS, name) for name in self.groups),
                *([PACKAGES] if self.packages else []),
                *{PORTS[protocol] for protocol, _ in self.ports},
                *self.options,
            ]
        )


class _Refused(Exception):
    """Why a change can't be made, as the end of a sentence."""


def option_path(option: str) -> Path:
    """The parts of an option's path; a part in quotes loses them."""
    return tuple(found[1] if found[1] is not None else found[0] for found in _PART.finditer(option))


def check_together(changes: Iterable[ChangeItem]) -> None:
    """Look at a proposal as a whole. Raises ``ProposalInvalid`` where two of its changes are about one thing.

    A service is enabled, disabled or restarted once; a package, an account, a port, an option is named once.
    """
    seen: dict[tuple[str, ...], int] = {}
    for index, change in enumerate(changes):
        key = _subject(change)
        if key in seen:
            raise ProposalInvalid(
                f"The proposal can't be taken: changes {seen[key] + 1} and {index + 1} are both about {_shown(key)}; "
                "say it once.",
                pointer=f"/changes/{index}",
            )
        seen[key] = index


def _subject(change: ChangeItem) -> tuple[str, ...]:
    """What a change is about; the same for a change and its opposite."""
    if isinstance(change, OptionSet):
        return ("option", *option_path(change.option))
    if isinstance(change, FirewallPortOpen | FirewallPortClose):
        return ("port", change.protocol, str(change.port))
    return (change.kind.partition("_")[0], change.name)


def _shown(subject: tuple[str, ...]) -> str:
    kind, *rest = subject
    return f"the {kind} {quote(('/' if kind == 'port' else '.').join(rest), shown=True)}"


def _check_apart(desired: Desired) -> None:
    """No option that is set lies within another that is."""
    places = desired.places()
    for one, next_one in pairwise(places):
        if next_one[: len(one)] == one:
            words = " and ".join(quote(".".join(path), shown=True) for path in (one, next_one))
            raise _Refused(
                f"would set one option twice ({words}), beside another change or an exported one; keep one of them"
            )


def _switched(on: bool) -> _Step:
    return lambda desired, change: replace(desired, services={**desired.services, change.name: on})


def _restarted(desired: Desired, change: ServiceRestart) -> Desired:
    return replace(desired, restarts=(*(name for name in desired.restarts if name != change.name), change.name))


def _without(held: frozenset[_T], value: _T, words: str) -> frozenset[_T]:
    if value not in held:
        raise _Refused(f"would {words} that no exported change added; do it where it was added, by hand")
    return held - {value}


def _port(change: FirewallPortOpen | FirewallPortClose) -> Port:
    return change.protocol, change.port


_STEPS: Mapping[type, _Step] = {
    ServiceEnable: _switched(True),
    ServiceDisable: _switched(False),
    ServiceRestart: _restarted,
    PackageAdd: lambda had, new: replace(had, packages=had.packages | {new.name}),
    PackageRemove: lambda had, new: replace(had, packages=_without(had.packages, new.name, "remove a package")),
    OptionSet: lambda had, new: replace(had, options={**had.options, option_path(new.option): new.value}),
    UserAdd: lambda had, new: replace(had, users=had.users | {new.name}),
    UserRemove: lambda had, new: replace(had, users=_without(had.users, new.name, "remove a user")),
    GroupAdd: lambda had, new: replace(had, groups=had.groups | {new.name}),
    GroupRemove: lambda had, new: replace(had, groups=_without(had.groups, new.name, "remove a group")),
    FirewallPortOpen: lambda had, new: replace(had, ports=had.ports | {_port(new)}),
    FirewallPortClose: lambda had, new: replace(had, ports=_without(had.ports, _port(new), "close a port")),
}


__all__ = ["GROUPS", "PACKAGES", "PORTS", "SERVICES", "USERS", "Desired", "check_together", "option_path"]
