"""What a machine offers a model in a turn: its two protocol tools, narrowed to its lists, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacid.catalogue import Catalogue
from tacid.config import MachineConfig
from tacid.errors import CatalogueError
from tacid.jsontext import quote
from tacid.machine.facts import facts
from tacid.machine.protocol import protocol_problems, protocol_tools
from tacid.machine.services import ServiceList, ServicesState, service_narrowings, services_for
from tacid.schema.narrow import narrow


@dataclass(frozen=True, slots=True)
class Offer:
    """The protocol tools as this machine can serve them.

    ``facts`` are lines for the system turn; ``notices`` say what a person should know (a list that is missing, a
    last good copy in force).
    """

    catalogue: Catalogue
    facts: tuple[str, ...]
    notices: tuple[str, ...]


def narrowed(services: ServiceList | None, *, propose: bool = True) -> Catalogue:
    """The protocol tools with the list's names as the only ones of every service operation.

    Raises ``CatalogueError`` where the protocol's schema has no place for the list.
    """
    tools = Catalogue(protocol_tools(propose=propose))
    return narrow(tools, service_narrowings(services)) if propose else tools


def offer_machine(config: MachineConfig) -> Offer:
    """Read the machine's lists and make its offer; `services_for` says what a missing or broken list means."""
    return offer_of(services_for(config))


def offer_of(state: ServicesState) -> Offer:
    """The machine's offer with the services that hold."""
    return Offer(narrowed(state.list, propose=state.offered), facts(state.list), state.notices)


def beside(own: Catalogue, others: Catalogue, file: Path | None) -> Catalogue:
    """The machine's own tools, then those of the catalogue ``file``.

    Raises ``CatalogueError`` that names a tool which both have.
    """
    for tool in others:
        if tool.name in own:
            raise CatalogueError(
                f"The catalogue {file} has a tool {quote(tool.name, shown=True)}, which is what a tool of the "
                "machine's own is called; rename it."
            )
    return own + others


def check_protocol(name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """What the typed protocol says against a call that its schema admits; nothing about tools of others."""
    return tuple(str(problem) for problem in protocol_problems(name, arguments))
