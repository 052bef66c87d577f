"""An engine as a service of its own: kept running at a Unix socket, while systemd is told how it is."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tacid.config import EngineConfig
from tacid.engine.find import EngineSpec
from tacid.engine.process import Engine
from tacid.engine.supervise import State, Supervisor
from tacid.errors import EngineStartError
from tacid.systemd import Notifier

#: Seconds between two looks at the engine where the watchdog doesn't want more.
LOOK = 1.0
#: States in which the engine is well, or is being made so within bounds (``engine.start_timeout``).
WELL = frozenset({"starting", "ready", "restarting"})


async def serve_engine(
    spec: EngineSpec,
    model: Path,
    config: EngineConfig,
    socket: Path,
    *,
    notifier: Notifier,
    flash_attention: bool | None = None,
    tell: Callable[[str], None],
) -> signal.Signals:
    """Keep an engine running at ``socket`` until SIGTERM or SIGINT comes, which is returned.

    ``tell`` hears a sentence for each state. Raises ``EngineStartError`` where the engine won't start, or won't stay
    up (``engine.restarts``).
    """
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[signal.Signals] = loop.create_future()
    changed = asyncio.Event()

    def ask(number: signal.Signals) -> None:
        if not asked.done():
            asked.set_result(number)
        changed.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask, number)
    try:
        supervisor = Supervisor(
            spec,
            model,
            config,
            flash_attention=flash_attention,
            socket=socket,
            on_change=lambda _: changed.set(),
        )
        async with supervisor:
            await _told(supervisor, asked, changed, notifier, tell)
            notifier.stopping()
            notifier.status("Ending")
        return asked.result()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _told(
    supervisor: Supervisor,
    asked: asyncio.Future[signal.Signals],
    changed: asyncio.Event,
    notifier: Notifier,
    tell: Callable[[str], None],
) -> None:
    """Tell systemd and people how the engine is, until a signal comes."""
    said, pause = "", min(LOOK, notifier.watchdog or LOOK)
    announced = False
    while not asked.done():
        state = supervisor.state
        if state.name == "failed":
            raise EngineStartError(f"The engine was given up: {state.reason}.")
        words = _words(state, supervisor)
        if words != said:
            said = words
            tell(f"{words}.")
        notifier.status(words)
        if state.name == "ready" and not announced:
            announced = True
            notifier.ready()
        if state.name in WELL:
            notifier.alive()
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await changed.wait()
        changed.clear()


def _words(state: State, supervisor: Supervisor) -> str:
    if state.name == "ready":
        return _serves(supervisor.engine) if supervisor.engine.alive else "The engine has ended"
    words = {"starting": "The engine is starting", "wedged": "The engine gets nothing done and is ended"}
    why = f": {state.reason}" if state.reason else ""
    return words.get(state.name, "The engine is started again") + why


def _serves(engine: Engine) -> str:
    model = engine.model.name if engine.model is not None else "a model"
    return f"Serving {model}, {engine.context:,} tokens of context, {engine.slots} at a time, {engine.build}"


__all__ = ["serve_engine"]
