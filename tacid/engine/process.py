"""Starts llama-server, waits until it answers, watches it, and ends it, whatever happens to us.

The engine runs under a guard (`tacid.engine.guard`) in a session of its own: Ctrl-C doesn't reach it, and it ends
when the guard's pipe to us does, so a killed tacid leaves no orphan.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket as sockets
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tacid.config import MAX_SOCKET, UNIX, EngineConfig
from tacid.engine import guard
from tacid.engine.client import EngineClient
from tacid.engine.find import EngineSpec
from tacid.engine.flags import engine_arguments
from tacid.engine.gguf_file import read_head
from tacid.engine.last_words import PORT_TAKEN, explain
from tacid.engine.memory import memory_limit
from tacid.errors import EngineAbsent, EngineStartError, InputError

#: Lines of the engine's log that are kept, and characters of each.
LOG_LINES, LOG_WIDTH = 200, 1000
#: Turns that a thread of the engine spins before it sleeps. libgomp's own default, without end, makes two threads many
#: times slower than one as soon as another program wants a core.
SPINS = "20000"
#: Ports that are tried before a start is given up.
PORTS = 3
#: Seconds that the guard gets to end the engine; it needs at most the sum of its own patience.
_STOP = sum(guard.PATIENCE) + 3.0


@dataclass
class Engine:
    """An engine that answers. ``pid`` is none where it isn't ours; ``context`` in tokens, for one slot."""

    client: EngineClient
    name: str
    build: str
    context: int
    slots: int
    spec: EngineSpec
    model: Path | None = None
    pid: int | None = None
    _child: _Child | None = field(default=None, repr=False)

    @property
    def alive(self) -> bool:
        """Whether the process runs; always true for an engine that isn't ours."""
        return self._child is None or self._child.running

    @property
    def log(self) -> tuple[str, ...]:
        """The last lines that the engine wrote."""
        return tuple(self._child.log) if self._child is not None else ()

    @property
    def ours(self) -> bool:
        """Whether we started it, and may end it."""
        return self._child is not None

    async def ended(self) -> str:
        """Wait until the process ends; the reason as a clause. Never, for an engine that isn't ours."""
        if self._child is None:
            await asyncio.Event().wait()
            return ""
        await self._child.process.wait()
        return await self._child.post_mortem() or "it ended"

    def kill(self, reason: str) -> None:
        """End an engine of ours at once, with all that it started; its requests are told ``reason`` (a clause)."""
        if self._child is not None:
            self._child.kill(reason)


@asynccontextmanager
async def start_engine(
    spec: EngineSpec,
    model: Path | None,
    config: EngineConfig,
    *,
    on_progress: Callable[[str], None] | None = None,
    flash_attention: bool | None = None,
    socket: Path | None = None,
) -> AsyncIterator[Engine]:
    """A running engine with this model, until the context is left; one of kind ``url`` runs already and is only joined.

    Listens on a free loopback port with a key of its own, or on the Unix socket ``socket`` (a path that ends in
    ``.sock``) without a key: whoever may open the file may ask. ``flash_attention`` none leaves that choice to the
    engine. ``on_progress`` hears what is being waited for. Raises ``EngineStartError`` that says why, ``ModelError``
    where the file can't be one, ``InputError`` for bad settings.
    """
    tell = on_progress or (lambda _: None)
    if spec.kind == "url":
        async with _joined(spec, config) as engine:
            yield engine
        return
    if model is None:
        raise EngineStartError(f"{_upper(spec.name)} needs a model to start with; name one.")
    head = read_head(model)
    context = min(config.context, head.context or config.context)
    for attempt in range(PORTS):
        key = secrets.token_urlsafe(32) if socket is None else None
        port = None if socket is not None else _free_port()
        host = "127.0.0.1" if socket is None else str(_cleared(socket))
        arguments = engine_arguments(
            model, config, context=context, host=host, port=port, flash_attention=flash_attention
        )
        tell(f"Starting {spec.name}")
        child = await _Child.start([*_command(spec), *arguments], key, memory_limit(config))
        client = EngineClient(
            f"{UNIX}{socket}" if port is None else f"http://127.0.0.1:{port}",
            key=key,
            silence=config.reply_timeout,
            name=f"the engine ({spec.where})",
            post_mortem=child.post_mortem,
        )
        try:
            try:
                await _ready(client, child, spec, config.start_timeout, lambda: tell(f"Loading {model.name}"))
            except _PortTaken as taken:
                if attempt + 1 < PORTS and socket is None:
                    continue
                raise EngineStartError(f"{_upper(spec.name)} would not start: {taken}; try again.") from None
            props = await client.props()
            tell("Ready")
            yield Engine(
                client, spec.name, _build(props.build, spec), props.context, props.slots, spec, model, child.pid, child
            )
            return
        finally:
            try:
                await client.aclose()
            finally:
                await child.stop()
                if socket is not None:
                    _forget(socket)


@asynccontextmanager
async def _joined(spec: EngineSpec, config: EngineConfig) -> AsyncIterator[Engine]:
    async with EngineClient(
        spec.where, key=config.key, silence=config.reply_timeout, name=spec.name, local=False
    ) as client:
        status, text = await client.health()
        if status == 0:
            raise EngineAbsent(f"Nothing answers at {spec.where} ({text}); start the engine or correct engine.url.")
        if status != 200:
            raise EngineStartError(f"{client.name} isn't ready ({status}); wait for it, or correct engine.url.")
        props = await client.props()
        path = Path(props.model_path) if props.model_path else None
        yield Engine(client, spec.name, _build(props.build, spec), props.context, props.slots, spec, path)


class _PortTaken(Exception):
    pass


async def _ready(
    client: EngineClient, child: _Child, spec: EngineSpec, patience: float, on_loading: Callable[[], None]
) -> None:
    loading = False
    status, text = 0, ""
    try:
        async with asyncio.timeout(patience):
            while True:
                if not child.running:
                    reason = await child.post_mortem() or "it ended"
                    if reason.startswith(PORT_TAKEN):
                        raise _PortTaken(reason)
                    raise EngineStartError(f"{_upper(spec.name)} would not start: {reason}.")
                status, text = await client.health()
                if status == 200:
                    break
                if status == 503 and not loading:
                    loading = True
                    on_loading()
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise EngineStartError(
            f"{_upper(spec.name)} was not ready after {patience:g} seconds ({status or 'no answer'}, {text}); raise "
            "engine.start_timeout, or take a smaller model."
        ) from None
    # Another program may have taken the port in between: only ours knows the key, and only ours still runs.
    if (client.key is not None and not await client.knows_key()) or not child.running:
        raise _PortTaken(PORT_TAKEN)


def _command(spec: EngineSpec) -> list[str]:
    if spec.kind == "binary":
        return [spec.where]
    return [sys.executable, "-P", "-m", "tacid.engine.child"]


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]


def _build(told: str, spec: EngineSpec) -> str:
    return told if told and not told.startswith("b0-") else spec.version or told or "unknown"


def _free_port() -> int:
    with sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def _cleared(path: Path) -> Path:
    """The path of a Unix socket, made free of what an ended engine left there."""
    if path.suffix != ".sock" or not path.is_absolute() or len(os.fsencode(path)) > MAX_SOCKET:
        raise InputError(
            f"The socket {path} must be an absolute path of at most {MAX_SOCKET} bytes that ends in .sock."
        )
    if not path.exists():
        return path
    if not path.is_socket():
        raise InputError(f"The socket {path} can't be made: a file is there that is no socket; remove it.")
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return path
    raise EngineStartError(f"The socket {path} is in use by another engine; stop that one, or choose another path.")


class _Child:
    """An engine under its guard: its log, its number, and how it ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid: int | None = None
        self.reason: str | None = None
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._tasks = (
            asyncio.create_task(self._read_log()),
            asyncio.create_task(self._read_pid()),
        )

    @classmethod
    async def start(cls, command: Sequence[str], key: str | None, memory: int | None) -> _Child:
        # Variables of the same name as flags would set what we don't know of.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_")}
        if key is not None:
            environment["LLAMA_API_KEY"] = key
        # An engine that aborts would have a debugger print its stack, for seconds, and leave that one's core behind.
        environment.setdefault("GGML_NO_BACKTRACE", "1")
        if not environment.keys() & {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}:
            environment["GOMP_SPINCOUNT"] = SPINS
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            guard.__file__,
            str(os.getpid()),
            str(memory or 0),
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
        child = cls(process)
        try:
            await child._tasks[1]
        except BaseException:
            await child.stop()
            raise
        return child

    @property
    def running(self) -> bool:
        return self.process.returncode is None

    async def post_mortem(self) -> str | None:
        """Why the engine ended; none where it runs on."""
        with suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await self.process.wait()
        if self.process.returncode is None:
            return None
        if self.reason is not None:
            return self.reason
        await asyncio.wait(self._tasks, timeout=1.0)
        return explain(self.process.returncode, self.log)

    def kill(self, reason: str) -> None:
        if not self.running:
            return
        self.reason = reason
        if self.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self.process.kill()

    async def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(_STOP):
                await self.process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        await asyncio.wait(self._tasks, timeout=1.0)
        for task in self._tasks:
            task.cancel()
        with suppress(BrokenPipeError, ConnectionResetError):
            await self.process.stdin.wait_closed()

    async def _read_pid(self) -> None:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        word, _, number = line.decode().strip().partition(" ")
        if word == "pid" and number.isdigit():
            self.pid = int(number)

    async def _read_log(self) -> None:
        assert self.process.stderr is not None
        rest = ""
        while chunk := await self.process.stderr.read(65536):
            *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
            self.log.extend(line[:LOG_WIDTH] for line in lines)
            rest = rest[:LOG_WIDTH]
        if rest:
            self.log.append(rest)
