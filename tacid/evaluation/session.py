"""One run from its options: what it would ask, then asking it, against an endpoint or a server of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tacid.config import load_config
from tacid.config.load import Layer
from tacid.engine.pins import find_pin
from tacid.engine.store import is_path
from tacid.evaluation.bfcl import Asked, Watcher, run, settings_of
from tacid.evaluation.categories import Category
from tacid.evaluation.client import PATIENCE, Client
from tacid.evaluation.package import Package, load_package
from tacid.evaluation.questions import Plan, plan
from tacid.evaluation.rows import Run, ToolMode
from tacid.evaluation.served import serving


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    ``base_url``: an OpenAI endpoint; without it a server is started with ``model``, or with the engine at ``engine``.
    ``model_name``: what the endpoint is asked for; the first that it serves, if nothing is said. ``streams``: questions
    that are asked at a time, which a server of its own has as many slots for.
    """

    categories: tuple[Category, ...]
    out: Path
    tool_mode: ToolMode = "full"
    limit: int | None = None
    seed: int = 0
    pool: int = 0
    tools: Path | None = None
    max_tokens: int = 1024
    label: str | None = None
    base_url: str | None = None
    model_name: str | None = None
    key: str | None = None
    model: str | None = None
    engine: str | None = None
    log: Path | None = None
    streams: int = 1

    def prepare(self) -> tuple[Package, Plan]:
        """The installed package, and what would be asked of it. Raises ``InputError``."""
        package = load_package()
        return package, plan(
            package, self.categories, limit=self.limit, seed=self.seed, pool=self.pool, catalogue=self.tools
        )

    def target(self) -> str:
        """Who would be asked, in words. Raises ``ModelError`` for a model that doesn't exist."""
        if self.base_url is not None:
            return f"{self.base_url} ({self.model_name or 'the first model there'})"
        if self.engine is not None:
            return f"a server of its own with the engine at {self.engine}"
        name = load_config(None, self._layers(0)).model.name
        return f"a server of its own with {name if is_path(name) else find_pin(name).name}"

    async def perform(
        self, package: Package, chosen: Plan, watcher: Watcher, note: Callable[[str], None] = lambda _: None
    ) -> Run:
        """Ask everything that isn't in the file yet. ``note`` hears what is waited for."""
        async with self._endpoint(len(chosen.pooled), note) as url, Client(url, self.key) as client:
            asked = Asked(self.model_name or await client.model(), self.tool_mode, self.seed, self.max_tokens)
            settings = settings_of(
                package, chosen, asked, limit=self.limit, pool=self.pool, tools=self.tools, label=self.label,
                streams=self.streams,
            )  # fmt: skip
            note(f"asking {asked.model} at {url}")
            return await run(client, package, chosen, asked, settings, self.out, watcher)

    @asynccontextmanager
    async def _endpoint(self, pooled: int, note: Callable[[str], None]) -> AsyncIterator[str]:
        if self.base_url is not None:
            yield self.base_url
            return
        note(f"starting {self.target()}")
        log = self.log or self.out.with_suffix(".log")
        log.parent.mkdir(parents=True, exist_ok=True)
        async with serving(load_config(None, self._layers(pooled)), log) as url:
            yield url

    def _layers(self, pooled: int) -> Layer:
        # A server for nobody else: no keys, and no limits below what is asked here.
        server = {"keys": None, "request_timeout": PATIENCE, "max_tools": max(1024, pooled + 256)}
        return {
            "server": server,
            "model": {} if self.model is None else {"name": self.model},
            "engine": {"slots": self.streams} | ({} if self.engine is None else {"url": self.engine}),
        }


__all__ = ["Options"]
