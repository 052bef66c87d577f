"""A server of others behind ours (kind ``tools`` or ``remote``): whether it can be asked, and for which model."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Self

from tacid.config import EndpointConfig
from tacid.endpoints.chat_client import ChatClient
from tacid.endpoints.remote import RemoteEndpoint
from tacid.endpoints.tools import ToolsEndpoint
from tacid.engine.supervise import State, StateName
from tacid.errors import Busy, EngineDied, EngineError, EngineStartError, GrammarRefused

#: Seconds between two looks at a server: that is ready, that refused a grammar; else by how often it failed in a row.
LOOK_READY, LOOK_REFUSED = 30.0, 30.0
LOOKS = (0.5, 1.0, 2.0, 5.0, 10.0)
#: Seconds that a request waits at most for such a server.
PATIENCE = 10.0


class ChatBackend:
    """Such a server by its name; use it as a context. It is looked at all the while, and taken again when it's back."""

    def __init__(
        self, config: EndpointConfig, model: str, *, silence: float, on_change: Callable[[State], None] | None = None
    ) -> None:
        assert config.url is not None
        self.name = config.name
        self.kind = config.kind
        self.config = config
        grammars = config.kind == "tools"
        self._client = ChatClient(config.url, name=config.name, key=config.key, silence=silence, grammars=grammars)
        made = config.model or model
        self.endpoint: ToolsEndpoint | RemoteEndpoint = (
            ToolsEndpoint(self._client, made) if grammars else RemoteEndpoint(self._client, made)
        )
        self._known = config.model is not None
        self._on_change = on_change or (lambda _: None)
        self._state = State("starting", time.monotonic())
        self._error: EngineError | None = None
        self._changed = asyncio.Event()
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._client.aclose()

    @property
    def state(self) -> State:
        """How it is."""
        return self._state

    @property
    def ready(self) -> bool:
        """Whether it can be asked now."""
        return self._state.name == "ready"

    @property
    def model(self) -> str | None:
        """The name of its model, as far as it is known."""
        return self.endpoint.model if self._known else None

    async def wait_ready(self, patience: float | None) -> ToolsEndpoint | RemoteEndpoint:
        """The endpoint, once it can be asked; waits ``patience`` seconds, `PATIENCE` at most.

        Raises ``GrammarRefused`` at once where it holds none, ``EngineDied`` or ``EngineStartError`` that says why not.
        """
        patience = PATIENCE if patience is None else min(patience, PATIENCE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not self.ready and not isinstance(self._error, GrammarRefused):
                    await self._changed.wait()
        if self.ready:
            return self.endpoint
        if isinstance(self._error, (GrammarRefused, EngineDied)):
            raise self._error
        reason = str(self._error or f'The endpoint "{self.name}" was not reached yet; ask again in a moment.')
        raise EngineStartError(reason)

    def failed(self, error: EngineError) -> None:
        """A turn found it gone: it is not asked again until it was looked at."""
        self._error = error
        self._become("restarting", str(error))
        self._look.set()

    def _become(self, name: StateName, reason: str = "") -> None:
        same = name == self._state.name
        self._state = State(name, self._state.since if same else time.monotonic(), reason.rstrip("."))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if not same:
            self._on_change(self._state)

    async def _watch(self) -> None:
        failures = 0
        while True:
            self._look.clear()
            try:
                await self._join()
            except GrammarRefused as error:
                self._error, wait = error, LOOK_REFUSED
                self._become("failed", str(error))
            except Exception as error:  # whatever it was: who looks after a server doesn't end of a surprise
                wait = LOOKS[min(failures, len(LOOKS) - 1)]
                failures += 1
                self._error = error if isinstance(error, EngineError) else EngineDied(str(error))
                self._become("restarting", str(error))
            else:
                failures, wait, self._error = 0, LOOK_READY, None
                self._become("ready")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._look.wait()
            if not self.ready:
                # It has just failed: it gets a moment.
                await asyncio.sleep(LOOKS[0])

    async def _join(self) -> None:
        try:
            names = await self._client.models()
        except Busy:
            names = None  # so it is there
        if self.config.model is None and names is not None and len(names) == 1:
            self.endpoint.model = names[0]
        elif isinstance(self.endpoint, ToolsEndpoint) and names is not None and self.endpoint.model not in names:
            listed = ", ".join(names[:5]) or "none"
            raise EngineError(
                f'The endpoint "{self.name}" serves no model {self.endpoint.model} (it lists {listed}); set its model.'
            )
        self._known = True
        if isinstance(self.endpoint, ToolsEndpoint):
            await self.endpoint.learn(again=not self.ready)


__all__ = ["ChatBackend"]
