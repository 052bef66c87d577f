"""What rules are matched against: a change or a call, in every way in which it could have been spelled.

Whoever may not turn a service on by `service_enable` may not do it by setting its option either, so a change has
further views beside its own: what it does, as the other kinds of change would say it. Options are compared by their
parts, and a set is taken apart into the options that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tacid.machine.desired import GROUPS, PACKAGES, PORTS, SERVICES, USERS, Path, option_path
from tacid.machine.protocol import ChangeItem

#: The kind of a call of a tool.
CALL = "call"


@dataclass(frozen=True, slots=True)
class View:
    """One way to say what is judged. What doesn't apply is none; ``option`` is its parts."""

    kind: str
    tool: str | None = None
    server: str | None = None
    service: str | None = None
    package: str | None = None
    account: str | None = None
    group: str | None = None
    port: int | None = None
    protocol: str | None = None
    option: Path | None = None
    value: Any = None


def views_of_call(tool: str, server: str | None = None) -> tuple[View, ...]:
    """A call of a tool: of an MCP server's where one is named."""
    return (View(CALL, tool=tool, server=server),)


def views_of_change(change: ChangeItem) -> tuple[View, ...]:
    """A change as it is said, first, then as what it comes to."""
    given = change.model_dump()
    kind = change.kind
    if kind == "option_set":
        path = option_path(given["option"])
        own = View(kind, option=path, value=given["value"])
        return (own, *(view for leaf, value in _leaves(path, given["value"]) for view in _meanings(leaf, value)))
    verb = kind.rpartition("_")[2]
    place: Path
    value: Any
    match kind.partition("_")[0]:
        case "service":
            own = View(kind, service=given["name"])
            place, value = (*SERVICES, given["name"], "enable"), verb == "enable"
        case "package":
            own = View(kind, package=given["name"])
            place, value = PACKAGES, given["name"]
        case "user":
            own = View(kind, account=given["name"])
            place, value = (*USERS, given["name"]), {}
        case "group":
            own = View(kind, group=given["name"])
            place, value = (*GROUPS, given["name"]), {}
        case _:
            own = View(kind, port=given["port"], protocol=given["protocol"])
            place, value = PORTS[given["protocol"]], given["port"]
    if verb == "restart":
        return (own,)
    return (own, View("option_set", option=place, value=value))


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """The options that a value sets: itself, or where it is a set, what lies in it."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _leaves((*path, key), below)
    else:
        yield path, value


def _meanings(path: Path, value: Any) -> Iterator[View]:
    """An option that is set, and what other kinds of change would call that."""
    yield View("option_set", option=path, value=value)
    if path[: len(SERVICES)] == SERVICES and len(path) > len(SERVICES) and path[-1] == "enable":
        # An option of a service may be an "enable" of a part of it; that is the service's too.
        name = path[len(SERVICES)]
        yield View("service_disable" if value is False else "service_enable", service=name)
    for place, kind, field in ((USERS, "user_add", "account"), (GROUPS, "group_add", "group")):
        if path[: len(place)] == place and len(path) > len(place):
            yield View(kind, **{field: path[len(place)]})  # type: ignore[arg-type]
    items = value if isinstance(value, list) else [value]
    if path == PACKAGES:
        yield from (View("package_add", package=item) for item in items if isinstance(item, str))
    for protocol, place in PORTS.items():
        if path == place:
            yield from (
                View("firewall_port_open", port=int(item), protocol=protocol)
                for item in items
                if isinstance(item, int | float)
            )


__all__ = ["CALL", "View", "views_of_call", "views_of_change"]
