"""What stands behind the server: engines of its own, in pools, and servers of others; which of them is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

from tacid.config import Config, EndpointConfig
from tacid.endpoints.backend import Backend
from tacid.endpoints.chat_backend import ChatBackend
from tacid.endpoints.pool import Pool
from tacid.engine.supervise import State
from tacid.errors import InputError
from tacid.metrics import Metrics

#: Seconds that a request waits for what isn't ready, where something else can be asked instead.
PATIENCE = 0.5

_LOG = logging.getLogger("tacid")


@dataclass(frozen=True)
class Stand:
    """One place where a turn can be taken: a pool of engines, or a server of others. ``fallback`` as configured."""

    place: Pool | ChatBackend
    fallback: bool = False

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
        pins = {alias for backend in self.place.backends if backend.pin is not None for alias in backend.pin.aliases}
        return frozenset(named | pins)


class Behind:
    """Everything that makes replies, as the configuration has it; use it as a context.

    ``pool`` holds the engines that are asked first; it is empty where none is. Raises what `Backend` raises,
    ``InputError`` where engines of a pool would serve different models.
    """

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self._metrics = metrics
        self._config = config
        endpoints = config.endpoints or (EndpointConfig(name="engine", kind="local"),)
        first = [one for one in endpoints if not one.fallback]
        last = [one for one in endpoints if one.fallback]
        self.pool = self._pool(first)
        #: Where turns are taken, in the order in which they are asked.
        self.stands = (*self._stands(first, self.pool), *self._stands(last, self._pool(last), fallback=True))
        self._stack = AsyncExitStack()

    def _pool(self, endpoints: list[EndpointConfig]) -> Pool:
        backends = [self._backend(one) for one in endpoints if one.kind == "local"]
        started = {str(backend.path): backend.name for backend in backends if backend.path is not None}
        if len(started) > 1:
            (one, first), (other, second), *_ = started.items()
            raise InputError(
                f'The endpoints "{first}" and "{second}" would serve different models ({one} and {other}); a pool is '
                "made of engines that serve the same one. Give both the same model, or make one of them a fallback."
            )
        return Pool(backends, queue=self._config.server.queue, on_depth=self._metrics.queue_depth.set)

    def _backend(self, endpoint: EndpointConfig) -> Backend:
        engine, model = self._config.engine, self._config.model
        if endpoint.url is not None:
            engine = engine.model_copy(update={"url": endpoint.url, "key": endpoint.key})
        if endpoint.model is not None:
            model = model.model_copy(update={"name": endpoint.model})
        return Backend(endpoint.name, engine, model, on_change=self._told(endpoint.name))

    def _stands(self, endpoints: list[EndpointConfig], pool: Pool, *, fallback: bool = False) -> list[Stand]:
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
        return [Stand(place, fallback) for place in ([pool] if pool.backends else []) + chats]

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

    def asked(self, model: str | None) -> tuple[Stand, ...]:
        """Where a turn is taken that asks for this model: the first place that serves it, then every fallback."""
        first = [stand for stand in self.stands if not stand.fallback]
        named = [stand for stand in first if model is not None and model in stand.models]
        return ((named or first)[0], *(stand for stand in self.stands if stand.fallback))

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


def _told(name: str, kind: str, state: State, fallback: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "kind": kind, "state": state.name, "reason": state.reason}
    return {**told, "fallback": True} if fallback else told


__all__ = ["PATIENCE", "Behind", "Stand"]
