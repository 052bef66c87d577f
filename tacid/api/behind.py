"""What stands behind the server: engines of its own, in pools, and servers of others; which of them is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tacid.config import Config, EndpointConfig
from tacid.endpoints.backend import Backend
from tacid.endpoints.chat_backend import ChatBackend
from tacid.endpoints.pool import Pool
from tacid.engine.pins import find_pin
from tacid.engine.store import is_path
from tacid.engine.supervise import State
from tacid.errors import ModelError
from tacid.metrics import Metrics

#: Seconds that a request waits for what isn't ready, where something else can be asked instead.
PATIENCE = 0.5

_LOG = logging.getLogger("tacid")


@dataclass(frozen=True)
class Stand:
    """One place where a turn can be taken: a pool of engines, or a server of others. ``fallback`` as configured.

    ``configured`` are the names of a pool's model as the configuration has them, the most usual first. They are
    ``assumed`` where they are those of an engine that runs already and may serve another one.
    """

    place: Pool | ChatBackend
    fallback: bool = False
    configured: tuple[str, ...] = ()
    assumed: bool = False

    @property
    def name(self) -> str:
        """What it is called where no engine of it is meant."""
        return self.place.name if isinstance(self.place, ChatBackend) else "engine"

    @property
    def models(self) -> frozenset[str]:
        """The names of its model that are known without waiting."""
        if isinstance(self.place, ChatBackend):
            return frozenset({self.place.model} if self.place.model is not None else ())
        named = {backend.model for backend in self.place.backends if backend.model is not None}
        return frozenset({*named, *self.configured})

    @property
    def model(self) -> str | None:
        """What its model is called, where that is known without waiting: as an engine says, else as was configured."""
        if isinstance(self.place, ChatBackend):
            return self.place.model
        told = next((backend.model for backend in self.place.backends if backend.model is not None), None)
        return told or next((name for name in self.configured if not self.assumed), None)


class Behind:
    """Everything that makes replies, as the configuration has it; use it as a context.

    Engines whose tables name the same model make a pool. Raises what `Backend` raises.
    """

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._metrics = metrics
        self._config = config
        endpoints = config.endpoints or (EndpointConfig(name="engine", kind="local"),)
        first = [one for one in endpoints if not one.fallback]
        last = [one for one in endpoints if one.fallback]
        self._every: list[Pool] = []
        #: Where turns are taken, in the order in which they are asked.
        self.stands = (*self._stands(first), *self._stands(last, fallback=True))
        #: The engines that aren't fallbacks, by their models, and those that are asked where no model is named.
        self.pools = tuple(one.place for one in self.stands if isinstance(one.place, Pool) and not one.fallback)
        self.pool = self.pools[0] if self.pools else Pool((), queue=0)
        self._stack = AsyncExitStack()

    def _pools(self, endpoints: list[EndpointConfig], *, fallback: bool) -> list[Stand]:
        """A pool for each model."""
        groups: dict[str, list[EndpointConfig]] = {}
        for one in endpoints:
            if one.kind == "local":
                name = one.model or self._config.model.name
                groups.setdefault(name if is_path(name) else _names(name)[0], []).append(one)
        made = []
        for model, group in groups.items():
            pool = Pool(
                [self._backend(one) for one in group],
                queue=self._config.server.queue,
                on_depth=lambda _: self._metrics.queue_depth.set(sum(pool.depth for pool in self._every)),
            )
            started = any(backend.supervisor.spec.kind != "url" for backend in pool.backends)
            assumed = not started and all(one.model is None for one in group)
            made.append(Stand(pool, fallback, _names(model), assumed))
            self._every.append(pool)
        return made

    def _backend(self, endpoint: EndpointConfig) -> Backend:
        engine, model = self._config.engine, self._config.model
        if endpoint.url is not None:
            engine = engine.model_copy(update={"url": endpoint.url, "key": endpoint.key})
        if endpoint.model is not None:
            model = model.model_copy(update={"name": endpoint.model})
        return Backend(endpoint.name, engine, model, on_change=self._told(endpoint.name))

    def _stands(self, endpoints: list[EndpointConfig], *, fallback: bool = False) -> list[Stand]:
        """Local engines first, the others in their order."""
        chats = [
            ChatBackend(
                one,
                self._config.model.name,
                silence=self._config.engine.reply_timeout,
                on_change=self._told(one.name),
            )
            for one in endpoints
            if one.kind != "local"
        ]
        return [*self._pools(endpoints, fallback=fallback), *(Stand(place, fallback) for place in chats)]

    def _told(self, name: str) -> Callable[[State], None]:
        def changed(state: State) -> None:
            _LOG.info("The endpoint %s: %s%s", name, state.name, f" ({state.reason})" if state.reason else "")
            if state.name == "restarting":
                self._metrics.engine_restarts.inc()

        return changed

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for stand in self.stands:
                members = stand.place.backends if isinstance(stand.place, Pool) else (stand.place,)
                for member in members:
                    await stack.enter_async_context(member)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def serving(self, model: str | None) -> Stand | None:
        """The first place that serves this model, as far as is known without waiting; fallbacks are none."""
        first = (stand for stand in self.stands if not stand.fallback)
        return next((stand for stand in first if model is not None and model in stand.models), None)

    def asked(self, model: str | None) -> tuple[Stand, ...]:
        """Where a turn is taken that asks for this model: the first place that serves it, then every fallback."""
        first = self.serving(model) or next(stand for stand in self.stands if not stand.fallback)
        return (first, *(stand for stand in self.stands if stand.fallback))

    @property
    def others(self) -> tuple[ChatBackend, ...]:
        """The servers of others that clients can ask for by their model's name."""
        return tuple(
            stand.place for stand in self.stands if not stand.fallback and isinstance(stand.place, ChatBackend)
        )

    def states(self) -> list[dict[str, Any]]:
        """How each engine and server is, for people and programs."""
        found = []
        for stand in self.stands:
            if isinstance(stand.place, ChatBackend):
                found.append(_told(stand.place.name, stand.place.kind, stand.place.state, stand.fallback))
                continue
            for backend in stand.place.backends:
                told = _told(backend.name, "local", backend.supervisor.state, stand.fallback)
                if backend.name in stand.place.refused:
                    told |= {"state": "refused", "reason": stand.place.refused[backend.name]}
                found.append(told)
        return found


def _names(model: str) -> tuple[str, ...]:
    """What a model of the configuration is called, the most usual name first."""
    if is_path(model):
        return Path(model).stem, model
    try:
        pin = find_pin(model)
    except ModelError:
        return (model,)
    return (pin.name, *pin.aliases)


def _told(name: str, kind: str, state: State, fallback: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "kind": kind, "state": state.name, "reason": state.reason}
    return {**told, "fallback": True} if fallback else told


__all__ = ["PATIENCE", "Behind", "Stand"]
