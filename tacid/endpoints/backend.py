"""One engine behind the server: supervised, with what a turn needs to know of its model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tacid.chat import Sampling
from tacid.config import EngineConfig, ModelConfig
from tacid.endpoints.identity import Identity, identity_of
from tacid.endpoints.local import LocalEndpoint
from tacid.engine.find import find_engine
from tacid.engine.pins import Pin
from tacid.engine.process import Engine
from tacid.engine.store import locate, pin_of
from tacid.engine.supervise import State, Supervisor
from tacid.errors import EngineError
from tacid.prompt.families import FAMILIES, probe_family, thinks


@dataclass(frozen=True, slots=True)
class Served:
    """What is known of an engine that is ready.

    ``context`` is in tokens, for one slot; ``path`` the model's file where it is ours to read; ``sampling`` what the
    model's publisher advises. ``identity`` is the model as the engine itself tells it.
    """

    endpoint: LocalEndpoint
    sampling: Sampling
    slots: int
    context: int
    path: Path | None
    pin: Pin | None
    notices: tuple[str, ...] = ()
    identity: Identity | None = None


class Backend:
    """A supervised engine by a name; use it as a context.

    As soon as it is ready it finds out what it serves; ``on_ready`` hears that it can be asked.
    Raises ``EngineMissing``, ``ModelError`` where there is nothing to start.
    """

    def __init__(
        self, name: str, engine: EngineConfig, model: ModelConfig, *, on_change: Callable[[State], None] | None = None
    ) -> None:
        self.name = name
        spec = find_engine(engine)
        self.path: Path | None = None
        self.pin: Pin | None = None
        if spec.kind != "url":
            self.path, self.pin = locate(model)
        flash = self.pin.flash_attention if self.pin is not None else None
        self.supervisor = Supervisor(spec, self.path, engine, flash_attention=flash, on_change=self._changed)
        self.on_ready: Callable[[], None] = lambda: None
        self._on_change = on_change or (lambda _: None)
        self._served: tuple[Engine, Served] | None = None
        self._task: asyncio.Task[None] | None = None
        self._asking = asyncio.Lock()

    async def __aenter__(self) -> Backend:
        await self.supervisor.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.supervisor.__aexit__(*error)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _changed(self, state: State) -> None:
        self._on_change(state)
        if state.name == "ready":
            if self._task is not None:
                self._task.cancel()
            self._task = asyncio.create_task(self._learn())

    async def _learn(self) -> None:
        with contextlib.suppress(EngineError):  # who asks next is told
            await self.wait_ready(0)
            self.on_ready()

    @property
    def ready(self) -> bool:
        """Whether it can be asked now."""
        return self._served is not None and self._is_current(self._served[0])

    @property
    def resting(self) -> bool:
        """Whether it was let rest, so that the next `wait_ready` starts it; `served` still says what it serves."""
        return self._served is not None and self.supervisor.state.name == "resting"

    @property
    def served(self) -> Served:
        """What is known of it, as of the last time that it was ready; `wait_ready` must have succeeded once."""
        assert self._served is not None
        return self._served[1]

    @property
    def model(self) -> str | None:
        """The name of its model, where that is known before it was ever ready."""
        if self._served is not None:
            return self._served[1].endpoint.model
        if self.pin is not None:
            return self.pin.name
        return self.path.stem if self.path is not None else None

    async def wait_ready(self, patience: float | None) -> Served:
        """What is known of the engine, once it is ready; ``patience`` is in seconds. Raises ``EngineError``."""
        engine = await self.supervisor.wait_ready(patience)
        async with self._asking:  # once for all who wait
            if self._served is None or self._served[0] is not engine:
                self._served = (engine, await self._known(engine))
            return self._served[1]

    def _is_current(self, engine: Engine) -> bool:
        try:
            return self.supervisor.engine is engine
        except EngineError:
            return False

    async def _known(self, engine: Engine) -> Served:
        pin = self.pin or (pin_of(engine.model) if engine.model is not None else None)
        if self._served is not None and self.path is not None:
            # The same file again, so the same markers and the same tokens.
            before = self._served[1]
            endpoint = replace(before.endpoint, client=engine.client, build=engine.build)
            return replace(before, endpoint=endpoint, slots=engine.slots, context=engine.context)
        path = self.path or (engine.model if engine.model is not None and engine.model.is_file() else None)
        identity = await identity_of(engine.client)
        if pin is not None:
            endpoint = LocalEndpoint(engine.client, FAMILIES[pin.family], pin.name, engine.build)
            return Served(endpoint, pin.defaults(), engine.slots, engine.context, path, pin, (), identity)
        props = await engine.client.props()
        bos = props.bos if await engine.client.adds_bos() else ""
        family, notice = await probe_family(engine.client.apply_template, bos=bos, failures=(EngineError,))
        name = engine.model.stem if engine.model is not None else "model"
        endpoint = LocalEndpoint(engine.client, thinks(family, props.chat_template), name, engine.build)
        notices = (notice,) if notice is not None else ()
        return Served(endpoint, Sampling(), engine.slots, engine.context, path, None, notices, identity)
