"""An app behind the doors, by itself or under a real uvicorn on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.responses import StreamingResponse

from tacid.api.doors import UVICORN, guarded
from tacid.api.faults import add_handlers
from tacid.api.keys import keys_of
from tacid.api.logs import Lines, open_lines
from tacid.chat import Call, Usage
from tacid.config import ServerConfig
from tacid.errors import Busy, InputError
from tacid.metrics import Metrics


@dataclass
class Behind:
    """What the routes saw, the figures, and where the log is."""

    app: Any
    metrics: Metrics
    lines: Lines
    log: Path
    bodies: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def records(self, event: str = "request") -> list[dict[str, Any]]:
        """The lines of the log, after all are written."""
        self.lines.close()
        found = [json.loads(line) for line in self.log.read_text(encoding="ascii").splitlines()]
        return [record for record in found if record["event"] == event]


def behind(config: ServerConfig, tmp_path: Path, lines: Lines | None = None, audit: Lines | None = None) -> Behind:
    """An app with a route of each kind, behind all doors."""
    app = FastAPI()
    add_handlers(app)
    metrics, lines = Metrics(), lines or open_lines(tmp_path / "log.jsonl")
    made = Behind(None, metrics, lines, tmp_path / "log.jsonl")

    async def echo(request: Request) -> Response:
        body = await request.body()
        made.bodies.append(body)
        request.scope["state"]["tacid"] |= {
            "model": "smol", "usage": Usage(10, 4, 3), "outcome": "call", "contents": body.decode("latin-1"),
            "calls": [(Call("light", {"on": True}, '{"on": true}'), True), (Call("off", {}, "{}"), False)],
        }  # fmt: skip
        return Response(json.dumps({"bytes": len(body), "key": request.scope["state"]["key"]}))

    for path in ("/v1/chat/completions", "/api/chat", "/v1/messages"):
        app.post(path)(echo)

    @app.post("/v1/stream")
    async def stream(request: Request) -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            waits = [asyncio.ensure_future(each) for each in (made.go_on.wait(), left(request))]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()
            yield b"data: 2\n\n"

        async def left(request: Request) -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            made.gone.set()

        await request.body()
        return StreamingResponse(chunks(), media_type="text/event-stream")

    @app.post("/v1/torn")
    async def torn() -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            raise RuntimeError("what a person wrote")

        return StreamingResponse(chunks(), media_type="text/event-stream")

    @app.post("/v1/typed")
    async def typed(body: dict[str, int]) -> dict[str, int]:
        return body

    @app.get("/v1/models")
    async def models() -> dict[str, str]:
        return {"object": "list"}

    @app.get("/health")
    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    raises: dict[str, Callable[[], Exception]] = {
        "input": lambda: InputError("It can't be used; change it."),
        "busy": lambda: Busy("All slots are taken.", retry_after=2.5),
        "unforeseen": lambda: RuntimeError("what a person wrote"),
    }
    for name, make in raises.items():

        def raiser(make: Callable[[], Exception] = make) -> Callable[[], Awaitable[None]]:
            async def raising() -> None:
                raise make()

            return raising

        app.get(f"/v1/{name}")(raiser())
        app.get(f"/api/{name}")(raiser())

    made.app = guarded(app, config, keys_of(config), metrics=metrics, log=lines, audit=audit)
    return made


def client(made: Behind, peer: str = "127.0.0.1", base: str = "http://127.0.0.1:8017") -> httpx.AsyncClient:
    """A client that speaks to the app without a socket, as if from the address ``peer``."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(made.app, client=(peer, 5000)), base_url=base)


@asynccontextmanager
async def served(made: Behind) -> AsyncIterator[int]:
    """The app under uvicorn on loopback; gives its port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(made.app, lifespan="off", timeout_graceful_shutdown=2, **UVICORN)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            while not server.started:
                await asyncio.sleep(0.01)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task
