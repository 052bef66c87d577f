"""From a configuration to a local endpoint that is ready: model found, engine started, turn markers known."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tacid.chat import Sampling
from tacid.config import Config
from tacid.endpoints.local import LocalEndpoint
from tacid.engine.client import EngineClient
from tacid.engine.find import find_engine
from tacid.engine.pins import PINS, Pin
from tacid.engine.process import start_engine
from tacid.engine.store import locate_model
from tacid.prompt.families import FAMILIES, family_from_template

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
    tell = on_progress or (lambda _: None)
    spec = find_engine(config.engine)
    if spec.url is not None:
        async with start_engine(spec, None, config.engine, on_progress=on_progress) as engine:
            pin = await _pin_of(engine.client)
            yield await _opened(engine.client, pin, None, engine.build)
        return
    located = locate_model(config.model.name, config.model.dir)
    tell(f"starting {located.label}")
    async with start_engine(
        spec, located.path, config.engine, pin=located.pin, on_progress=on_progress
    ) as engine:
        yield await _opened(engine.client, located.pin, located.label, engine.build)


async def _opened(client: EngineClient, pin: Pin | None, label: str | None, build: str) -> Opened:
    if pin is not None:
        return Opened(LocalEndpoint(client, FAMILIES[pin.family], pin.name, build), pin.sampling)
    family, notice = await family_from_template(client.apply_template)
    name = label or Path(str((await client.props()).get("model_path") or "model")).name
    return Opened(LocalEndpoint(client, family, name, build), Sampling(), (notice,) if notice else ())


async def _pin_of(client: EngineClient) -> Pin | None:
    """The pin that a running engine serves, by the name of its file."""
    served = Path(str((await client.props()).get("model_path") or "")).name
    return next((pin for pin in PINS.values() if pin.file == served), None)
