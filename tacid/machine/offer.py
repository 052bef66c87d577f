"""What a machine offers a model in a turn: its two protocol tools, narrowed to its lists, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacid.catalogue import Catalogue
from tacid.config import MachineConfig


@dataclass(frozen=True, slots=True)
class Offer:
    """The protocol tools as this machine can serve them.

    ``facts`` are lines for the system turn; ``notices`` say what a person should know (a list that is missing, a
    last good copy in force).
    """

    catalogue: Catalogue
    facts: tuple[str, ...]
    notices: tuple[str, ...]

    def check(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """What the typed protocol says against a call that its schema admits; nothing about other tools."""
        raise AssertionError((name, arguments))


def offer_machine(config: MachineConfig) -> Offer:
    """Read the machine's lists and make its offer. See `tacid.machine.services` for what a missing list means."""
    raise AssertionError(config)
