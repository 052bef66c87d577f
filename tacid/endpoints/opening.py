"""From a configuration to a local endpoint that is ready: model found, engine started, turn markers known."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tacid.chat import Sampling
from tacid.config import Config
from tacid.endpoints.local import LocalEndpoint
from tacid.engine.find import find_engine
from tacid.engine.process import start_engine
from tacid.engine.store import locate, pin_of
from tacid.errors import EngineError
from tacid.prompt.families import FAMILIES, probe_family, thinks

#: Told in words what is being waited for.
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """An endpoint that is ready, the sampling that its model's publisher advises, and what a person should know."""

    endpoint: LocalEndpoint
    sampling: Sampling
    notices: tuple[str, ...] = ()


@asynccontextmanager
async def open_endpoint(config: Config, on_progress: Progress | None = None) -> AsyncGenerator[Opened, None]:
    """Start (or reach) the engine that the configuration names; it is stopped on leaving.

    Raises ``ModelError``, ``EngineMissing``, ``EngineStartError``, ``EngineDied``.
    """
    spec = find_engine(config.engine)
    path, pin = (None, None) if spec.kind == "url" else locate(config.model)
    flash = pin.flash_attention if pin is not None else None
    async with start_engine(spec, path, config.engine, on_progress=on_progress, flash_attention=flash) as engine:
        pin = pin or (pin_of(engine.model) if engine.model is not None else None)
        if pin is not None:
            endpoint = LocalEndpoint(engine.client, FAMILIES[pin.family], pin.name, engine.build)
            yield Opened(endpoint, pin.defaults())
            return
        props = await engine.client.props()
        bos = props.bos if await engine.client.adds_bos() else ""
        family, notice = await probe_family(engine.client.apply_template, bos=bos, failures=(EngineError,))
        family = thinks(family, props.chat_template)
        name = engine.model.name if engine.model is not None else "model"
        endpoint = LocalEndpoint(engine.client, family, name, engine.build)
        yield Opened(endpoint, Sampling(), (notice,) if notice else ())
