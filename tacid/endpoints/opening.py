"""From a configuration to an endpoint that is ready: model found, engine started, turn markers known."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from tacid.chat import Sampling
from tacid.config import Config, EndpointConfig
from tacid.endpoints.chat_backend import ChatBackend
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.remote import RemoteEndpoint
from tacid.endpoints.tools import ToolsEndpoint
from tacid.engine.find import find_engine
from tacid.engine.process import start_engine
from tacid.engine.store import locate, pin_of
from tacid.errors import EngineError
from tacid.prompt.families import FAMILIES, probe_family, thinks

#: Told in words what is being waited for.
Progress = Callable[[str], None]


AnyEndpoint = TypeVar("AnyEndpoint", bound=LocalEndpoint | ToolsEndpoint | RemoteEndpoint, covariant=True)


@dataclass(frozen=True, slots=True)
class Opened(Generic[AnyEndpoint]):
    """An endpoint that is ready, the sampling that its model's publisher advises, and what a person should know.

    ``build`` says what runs there, for people; ``context`` is in tokens, for one slot, 0 where nobody knows.
    """

    endpoint: AnyEndpoint
    sampling: Sampling
    build: str
    notices: tuple[str, ...] = ()
    context: int = 0


@asynccontextmanager
async def open_first(
    config: Config, on_progress: Progress | None = None
) -> AsyncGenerator[Opened[LocalEndpoint] | Opened[ToolsEndpoint | RemoteEndpoint], None]:
    """The first of the configured endpoints that is no fallback, else `open_endpoint`.

    Raises what that raises, and ``EngineError`` where a server of others can't be asked.
    """
    first = next((one for one in config.endpoints if not one.fallback), None)
    if first is None or first.kind == "local":
        async with open_endpoint(_meant(config, first), on_progress) as opened:
            yield opened
        return
    if on_progress is not None:
        on_progress(f"asking {first.name} at {first.url}")
    async with ChatBackend(first, config.model.name, silence=config.engine.reply_timeout) as backend:
        yield Opened(await backend.wait_ready(None), Sampling(), first.name)


def _meant(config: Config, endpoint: EndpointConfig | None) -> Config:
    """The configuration with an endpoint's own address and model over it."""
    if endpoint is None:
        return config
    engine, model = config.engine, config.model
    if endpoint.url is not None:
        engine = engine.model_copy(update={"url": endpoint.url, "key": endpoint.key})
    if endpoint.model is not None:
        model = model.model_copy(update={"name": endpoint.model})
    return config.model_copy(update={"engine": engine, "model": model})


@asynccontextmanager
async def open_endpoint(
    config: Config, on_progress: Progress | None = None
) -> AsyncGenerator[Opened[LocalEndpoint], None]:
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
            yield Opened(endpoint, pin.defaults(), engine.build, context=engine.context)
            return
        props = await engine.client.props()
        bos = props.bos if await engine.client.adds_bos() else ""
        family, notice = await probe_family(engine.client.apply_template, bos=bos, failures=(EngineError,))
        family = thinks(family, props.chat_template)
        name = engine.model.name if engine.model is not None else "model"
        endpoint = LocalEndpoint(engine.client, family, name, engine.build)
        yield Opened(endpoint, Sampling(), engine.build, (notice,) if notice else (), engine.context)
