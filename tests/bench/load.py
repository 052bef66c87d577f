"""What tacid adds to the engine: ``python -m tests.bench.load [--streams 1 8 32] [--requests 200] [--peers]``.

A random-weight engine (so that the engine isn't the limit), the real server in this process, clients in another.
Arrivals are staggered: each of several streams thinks for a random time before it asks (``--pause``, a second in the
mean). Latency is a difference of timestamps in the server: from a request's arrival to the moment its prompt goes to
the engine, plus from the engine's first piece to the first byte sent; for tokens, from each piece's arrival to the
bytes that it became. ``--flat N``: N requests, resident memory before and after. ``--open N``: so many
streams at once, all of them served. ``--peers``: time to a whole reply beside llama-server's own template mode and
LiteLLM's proxy (if it is installed), in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tacid.config import EngineConfig, load_config
from tacid.engine.client import EngineClient, Piece
from tacid.engine.find import find_engine
from tacid.engine.process import Engine, start_engine
from tacid.engine.store import locate
from tests.engine.random_model import make_random_model
from tests.serving import Served, joined

TOOL = {
    "type": "function",
    "function": {
        "name": "light_set",
        "description": "Switch a light.",
        "parameters": {"type": "object", "properties": {"room": {"enum": ["hall", "attic"]}}, "required": ["room"]},
    },
}


@dataclass
class Trace:
    """The moments of one request, by `time.perf_counter`."""

    arrived: float
    asked: float = 0.0
    received: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)

    def first(self, *, held: bool) -> float:
        """Milliseconds added up to the first byte; where ``held``, that needs several pieces, as a call's name does."""
        due = max(moment for moment in self.received if moment <= self.sent[0]) if held else self.received[0]
        return 1000 * (self.asked - self.arrived + self.sent[0] - due)

    def tokens(self) -> list[float]:
        """Milliseconds from each piece to the next bytes sent, in which it is."""
        places = (bisect_left(self.sent, moment) for moment in self.received)
        return [
            1000 * (self.sent[place] - moment)
            for place, moment in zip(places, self.received, strict=True)
            if place < len(self.sent)
        ]


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)
#: The last ones: with all of ten thousand, their own memory would be what is measured.
_TRACES: deque[Trace] = deque(maxlen=1000)
_complete = EngineClient.complete


async def _traced(self: EngineClient, *arguments: Any, **named: Any) -> AsyncGenerator[Piece, None]:
    trace = _TRACE.get()
    if trace is not None:
        trace.asked = trace.asked or time.perf_counter()
    async with contextlib.aclosing(_complete(self, *arguments, **named)) as pieces:
        async for piece in pieces:
            if trace is not None and piece.text:
                trace.received.append(time.perf_counter())
            yield piece


def _tracing(app: Any) -> Any:
    async def traced(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        trace = Trace(time.perf_counter())
        _TRACE.set(trace)

        async def timed(message: Any) -> None:
            if message.get("body"):
                trace.sent.append(time.perf_counter())
            await send(message)

        await app(scope, receive, timed)
        if trace.received and trace.sent:
            _TRACES.append(trace)

    return traced


#: A client in a process of its own: URL, how many at once, how many in all, body, pause, key; prints seconds a request.
CLIENT = """
import asyncio, json, random, sys, time, httpx
url, streams, count, body = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
async def main():
    took, rng = [], random.Random(1)
    gate = asyncio.Semaphore(streams)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=streams)
    headers = {"Authorization": f"Bearer {sys.argv[6]}"}
    async with httpx.AsyncClient(timeout=600, limits=limits, headers=headers) as http:
        async def one(index):
            async with gate:
                await asyncio.sleep(2 * rng.random() * float(sys.argv[5]))
                began, first = time.perf_counter(), None
                messages = [{"role": "user", "content": f"Request {index % 50}."}]
                async with http.stream("POST", url, json={**body, "messages": messages, "seed": index}) as answer:
                    if answer.status_code != 200:
                        raise SystemExit((await answer.aread()).decode())
                    async for _ in answer.aiter_raw():
                        first = first or time.perf_counter() - began
                took.append((first, time.perf_counter() - began))
        await asyncio.gather(*(one(index) for index in range(count)))
    print(json.dumps(took))
asyncio.run(main())
"""


async def client(
    url: str, streams: int, count: int, body: dict[str, Any], pause: float = 0.0, key: str = "none"
) -> list[tuple[float, float]]:
    """Seconds to the first byte and to the end, of each request."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CLIENT,
        url,
        str(streams),
        str(count),
        json.dumps(body),
        str(pause),
        key,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return [tuple(one) for one in json.loads(out)]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextlib.asynccontextmanager
async def engine(slots: int) -> AsyncIterator[Engine]:
    """A random-weight engine with so many slots."""
    with tempfile.TemporaryDirectory() as folder:
        model = make_random_model(Path(folder) / "random.gguf", locate(load_config().model)[0])
        config = EngineConfig(threads=1, slots=slots, context=1024)
        async with start_engine(find_engine(config), model, config) as running:
            yield running


def resident() -> float:
    """Resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


async def run(given: argparse.Namespace) -> None:
    """Everything that was asked for, in one run."""
    EngineClient.complete = _traced  # type: ignore[method-assign,assignment]
    async with engine(max(8, *given.streams) if given.streams else 8) as running:
        server = Served(joined(running, server={"queue": 10_000, "streams_per_key": 10_000}), wrap=_tracing)
        server.start()
        url = f"{server.url}/v1/chat/completions"
        chat = {"stream": True, "max_tokens": 24, "temperature": 1.0}
        held = {**chat, "tools": [TOOL], "tool_choice": "required"}
        try:
            await client(url, 1, 20, chat)
            await client(url, 1, 20, held)
            print(
                "| streams | request | first byte p50 ms | p99 ms | a token p50 ms | p99 ms | CPU ms a request | a token |"
            )
            print("| --- | --- | --- | --- | --- | --- | --- | --- |")
            for streams in given.streams:
                for name, body in (("chat", chat), ("call", held)):
                    _TRACES.clear()
                    began = server.cpu()
                    await client(url, streams, given.requests, body, given.pause if streams > 1 else 0.0)
                    spent = 1000 * (server.cpu() - began)
                    firsts = [trace.first(held=name == "call") for trace in _TRACES]
                    tokens = [ms for trace in _TRACES for ms in trace.tokens()] if name == "chat" else []
                    shown = [f"{quantile(firsts, 0.5):.2f}", f"{quantile(firsts, 0.99):.2f}"]
                    shown += [f"{quantile(tokens, share):.3f}" for share in (0.5, 0.99)] if tokens else ["", ""]
                    pieces = sum(len(trace.received) for trace in _TRACES)
                    shown += [f"{spent / given.requests:.2f}", f"{spent / pieces:.3f}"]
                    print(f"| {streams} | {name} |", " | ".join(shown), "|", flush=True)
            if given.open:
                began = time.perf_counter()
                took = await client(url, given.open, given.open, chat)
                print(f"\n{len(took)} streams at once, all served in {time.perf_counter() - began:.1f} s")
            if given.flat:
                before = resident()
                await client(url, 8, given.flat // 2, {**held, "stream": False})
                middle = resident()
                await client(url, 8, given.flat // 2, {**held, "stream": False})
                print(f"\nResident: {before:.1f} MiB, after {given.flat // 2:,} requests {middle:.1f}, ", end="")
                print(f"after {given.flat:,} {resident():.1f}")
            if given.peers:
                await peers(running, url, given.requests, chat)
        finally:
            server.stop()


async def peers(running: Engine, ours: str, count: int, chat: dict[str, Any]) -> None:
    """Whole chats through each, interleaved by rounds; medians and their ratio to the engine's own."""
    direct = f"{running.client.url}/v1/chat/completions"
    ways = {"llama-server itself": direct, "tacid": ours}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    async with contextlib.AsyncExitStack() as stack:
        if proxy := await stack.enter_async_context(_litellm(running)):
            ways["LiteLLM's proxy"], took["LiteLLM's proxy"] = proxy, []
        for _ in range(4):
            for name, url in ways.items():
                body = {**chat, "model": "m" if "LiteLLM" in name else running.client.name}
                if name == "tacid":
                    del body["model"]
                took[name] += await client(url, 1, max(10, count // 4), body, key=running.client.key or "none")
    base = statistics.median(first for first, _ in took["llama-server itself"])
    print("\n| way | first byte p50 ms | p99 ms | whole p50 ms | added to the first byte, p50 ms |")
    print("| --- | --- | --- | --- | --- |")
    for name, times in took.items():
        firsts, ends = [1000 * one for one, _ in times], [1000 * one for _, one in times]
        added = quantile(firsts, 0.5) - 1000 * base
        print(
            f"| {name} | {quantile(firsts, 0.5):.1f} | {quantile(firsts, 0.99):.1f} | {quantile(ends, 0.5):.1f} | {added:.1f} |"
        )


@contextlib.asynccontextmanager
async def _litellm(running: Engine) -> AsyncIterator[str | None]:
    """LiteLLM's proxy before the engine; its URL, or none where it isn't installed."""
    command = Path(sys.executable).with_name("litellm")
    if not command.exists():
        print("\nLiteLLM's proxy isn't installed (pip install 'litellm[proxy]'); it is left out.")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        entry = {"model": "openai/m", "api_base": f"{running.client.url}/v1", "api_key": running.client.key}
        file = Path(folder) / "config.json"
        file.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": entry}]}), encoding="utf-8")
        port = 18_117
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
        # On loopback, for the length of a measurement; else it wants a key of its own.
        environment["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
        process = await asyncio.create_subprocess_exec(
            str(command), "--config", str(file), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False",
            env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with httpx.AsyncClient() as http:
                for _ in range(240):
                    if process.returncode is not None:
                        raise SystemExit(
                            f"LiteLLM's proxy ended at its start with {process.returncode}; run it by hand: {command}"
                        )
                    with contextlib.suppress(httpx.HTTPError):
                        if (await http.get(f"http://127.0.0.1:{port}/health/liveliness")).status_code == 200:
                            break
                    await asyncio.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1/chat/completions"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def main() -> int:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--streams", type=int, nargs="*", default=[1, 8, 32])
    parser.add_argument("--requests", type=int, default=200, help="requests of each kind")
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds that each stream thinks before it asks")
    parser.add_argument("--flat", type=int, default=0, metavar="N", help="memory over N requests")
    parser.add_argument("--open", type=int, default=0, metavar="N", help="N streams at once")
    parser.add_argument("--peers", action="store_true")
    asyncio.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
