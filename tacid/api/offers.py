"""What the machine adds to a client's request: its two protocol tools, which the server answers by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from tacid.catalogue import Catalogue
from tacid.chat import Call
from tacid.config import MachineConfig
from tacid.jsontext import dumps
from tacid.machine.facts import read_facts
from tacid.machine.offer import Offer, check_protocol, offer_machine
from tacid.machine.protocol import FACTS_GET, PROPOSE_CHANGES
from tacid.turn.request import Check, Executor

#: Seconds for which the machine's lists are taken as they were read.
FRESH = 1.0


@dataclass(frozen=True)
class Added:
    """Tools that a request gets from the machine, and how each is checked and answered."""

    catalogue: Catalogue = field(default_factory=Catalogue)
    facts: tuple[str, ...] = ()
    checks: dict[str, Check] = field(default_factory=dict)
    execute: dict[str, Executor] = field(default_factory=dict)


class MachineOffers:
    """Makes the machine's offer for those for whom the configuration names it; reads the lists again when they age."""

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        self._offer: Offer | None = None
        self._read = 0.0
        self._lock = asyncio.Lock()

    def wanted(self, names: Collection[str | None]) -> bool:
        """Whether one of ``names`` (a key, the model as it was asked for) gets the offer."""
        return "*" in self._config.offer or any(name in self._config.offer for name in names)

    async def current(self) -> Offer:
        """The offer as the lists are now. Raises ``ServicesError``."""
        async with self._lock:
            if self._offer is None or time.monotonic() - self._read > FRESH:
                self._offer = await asyncio.to_thread(offer_machine, self._config)
                self._read = time.monotonic()
            return self._offer

    async def added(self, names: Collection[str | None]) -> Added:
        """What a request of ``names`` gets."""
        if not self._config.offer or not self.wanted(names):
            return Added()
        offer = await self.current()
        tools = [tool.name for tool in offer.catalogue]
        executors: dict[str, Executor] = {FACTS_GET: _facts, PROPOSE_CHANGES: _proposed}
        return Added(
            offer.catalogue,
            offer.facts,
            dict.fromkeys(tools, check_protocol),
            {name: executors[name] for name in tools},
        )


async def _facts(call: Call) -> str:
    found = await asyncio.to_thread(read_facts)
    return dumps(found.model_dump())


async def _proposed(call: Call) -> str:
    """The verdict on a proposal that its types took. Nothing is carried out, and nothing is kept yet."""
    return dumps(
        {
            "verdict": "ask",
            "changed": False,
            "note": "The proposal fits this machine. Nothing was changed: a person has to decide.",
        }
    )


__all__ = ["Added", "MachineOffers"]
