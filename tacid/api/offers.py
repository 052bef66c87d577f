"""What the machine adds to a client's request: its two protocol tools, which the server answers by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tacid.catalogue import Catalogue
from tacid.chat import Call
from tacid.config import MachineConfig
from tacid.jsontext import dumps
from tacid.machine.facts import read_facts
from tacid.machine.offer import Offer, check_protocol, offer_of
from tacid.machine.protocol import FACTS_GET, PROPOSE_CHANGES
from tacid.machine.services import ServicesState
from tacid.machine.watched import WatchedServices
from tacid.metrics import Metrics
from tacid.turn.request import Check, Executor

_LOG = logging.getLogger("tacid")


@dataclass(frozen=True)
class Added:
    """Tools that a request gets from the machine, and how each is checked and answered."""

    catalogue: Catalogue = field(default_factory=Catalogue)
    facts: tuple[str, ...] = ()
    checks: dict[str, Check] = field(default_factory=dict)
    execute: dict[str, Executor] = field(default_factory=dict)


class MachineOffers:
    """Makes the machine's offer for those for whom the configuration names it, with the lists as they are then."""

    def __init__(self, config: MachineConfig, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._services = WatchedServices(config)
        self._offer: Offer | None = None
        self._lock = asyncio.Lock()

    def wanted(self, names: Collection[str | None]) -> bool:
        """Whether one of ``names`` (a key, the model as it was asked for) gets the offer."""
        return "*" in self._config.offer or any(name in self._config.offer for name in names)

    async def current(self) -> Offer:
        """The offer as the lists are now: a turn begins with what holds at its beginning."""
        return (await self._now())[0]

    async def lists(self) -> list[dict[str, Any]]:
        """How each list is, for people and programs; none where nothing is offered to anybody."""
        if not self._config.offer:
            return []
        _, state = await self._now()
        told: dict[str, Any] = {"name": "services", "path": str(state.path), "state": state.standing}
        if state.list is not None:
            told["entries"] = len(state.list.names)
        return [told | {"reason": " ".join(state.notices)}]

    async def _now(self) -> tuple[Offer, ServicesState]:
        async with self._lock:
            look = await asyncio.to_thread(self._services.look)
            if self._offer is None or look.changed:
                self._offer = await asyncio.to_thread(offer_of, look.state)
                self._tell(look.state)
            return self._offer, look.state

    def _tell(self, state: ServicesState) -> None:
        count = None if state.list is None else len(state.list.names)
        self._metrics.services(state.standing, count)
        for notice in state.notices:
            _LOG.warning("%s", notice)
        if state.standing == "good":
            _LOG.info("The services file %s is in force: %d names.", state.path, count)

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
