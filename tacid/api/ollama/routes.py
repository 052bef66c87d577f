"""Ollama's routes over the service."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from tacid.api import embeddings, ollama
from tacid.api.described.ollama import REFUSED
from tacid.api.faults import body_of, fault_of
from tacid.api.messages import want_int
from tacid.api.ollama import show
from tacid.api.ollama.pull import Puller, parse_pull
from tacid.api.reply import (
    LineStream,
    about_of,
    asked_of,
    json_body,
    json_response,
    note,
    streamed,
    while_there,
    who,
    whole,
)
from tacid.api.request import ChatRequest
from tacid.api.service import Service
from tacid.api.sse import json_line

#: Years are counted to 9999; a longer stay is for ever.
_LONGEST = timedelta(days=36_500).total_seconds()


def add_routes(app: FastAPI, service: Service) -> None:
    """Add them all."""
    _add_models(app, service)
    _add_embeddings(app, service)
    _add_pull(app, service)
    for (method, path), why in REFUSED.items():
        app.add_api_route(path, _refusing(why), methods=[method.upper()])
    for path, wire in (("/api/chat", ollama.CHAT), ("/api/generate", ollama.GENERATE)):
        _add_reply(app, service, path, wire)


def _add_models(app: FastAPI, service: Service) -> None:
    @app.head("/")
    @app.get("/")
    async def root() -> Response:
        return PlainTextResponse(show.RUNNING)

    @app.get("/api/version")
    async def version() -> Response:
        return json_response(show.version_body())

    @app.get("/api/tags")
    async def tags() -> Response:
        return json_response(show.tags_body(await service.cards()))

    @app.get("/api/ps")
    async def loaded() -> Response:
        now = datetime.now(UTC)
        there = [
            (card, now + timedelta(seconds=left) if left < _LONGEST else show.NEVER)
            for card, left in await service.loaded()
        ]
        return json_response(show.ps_body(there))

    @app.post("/api/show")
    async def shown(request: Request) -> Response:
        model = show.wanted_model(await json_body(request))
        await service.model(model)
        return json_response(show.show_body(await service.card(model)))


def _add_reply(app: FastAPI, service: Service, path: str, wire: ollama.OllamaWire) -> None:
    settings = service.config.server

    @app.post(path)
    async def route(request: Request) -> Response:
        started = time.perf_counter()
        asked = await json_body(request)
        if path == "/api/generate" and ollama.is_raw(asked):
            raw = ollama.parse_raw(asked, service.limits)
            about = await about_of(request, service, raw.model, started)
            service.keep(raw.model, ollama.keep_alive_of(asked))
            events = service.completion_events(raw, who(request), started=started)
            if raw.stream:
                return await streamed(request, events, wire.stream(raw, about), wire.media_type, settings)
            return await whole(request, events, lambda result: wire.whole(raw, about, result))
        chat = asked_of(request, wire.parse(asked, service.limits), asked, service)
        about = await about_of(request, service, chat.model, started)
        await while_there(request, service.check_context(chat.model, chat.extra.get("num_ctx")))
        keep = chat.extra.get("keep_alive")
        if chat.extra.get("load"):
            await while_there(request, _loaded(service, chat, keep))
            return json_response(wire.loaded(chat, about))
        service.keep(chat.model, keep)
        events = service.events(chat, who(request), started=started)
        if chat.stream:
            return await streamed(request, events, wire.stream(chat, about), wire.media_type, settings)
        return await whole(request, events, lambda result: wire.whole(chat, about, result))


async def _loaded(service: Service, chat: ChatRequest, keep: float | None) -> None:
    if chat.extra.get("unload"):
        await service.unload(chat.model)
    else:
        await service.load(chat.model, keep)


def _add_embeddings(app: FastAPI, service: Service) -> None:
    def add(path: str, *, older: bool) -> None:
        @app.post(path)
        async def route(request: Request) -> Response:
            started = time.perf_counter()
            asked = await json_body(request)
            inputs = embeddings.ollama_inputs(asked, older=older)
            dimensions = want_int(asked, "dimensions", low=1)
            keep = ollama.keep_alive_of(asked)
            model = show.wanted_model(asked)
            about = await about_of(request, service, model, started)
            service.keep(model, keep)
            work = embeddings.embed(service, inputs, who(request), model=model, dimensions=dimensions)
            found = await while_there(request, work)
            return json_response(embeddings.ollama_body(about.model, found, older=older, started=started))

    add("/api/embed", older=False)
    add("/api/embeddings", older=True)


def _add_pull(app: FastAPI, service: Service) -> None:
    puller = Puller(service.config.model.dir)

    @app.post("/api/pull")
    async def pull(request: Request) -> Response:
        asked = parse_pull(await json_body(request), allowed=service.config.server.pull)
        lines = puller.pull(asked.pin, served=service.known_model)
        if not asked.stream:
            return json_response(await while_there(request, _last(lines)))
        # Begun here, so that a refusal has a status of its own.
        try:
            first = await anext(lines)
        except BaseException:
            await lines.aclose()
            raise
        return LineStream(_written(request, first, lines), ollama.CHAT.media_type)


async def _last(lines: AsyncGenerator[dict[str, Any], None]) -> dict[str, Any]:
    async with aclosing(lines):
        return [line async for line in lines][-1]


async def _written(
    request: Request, first: dict[str, Any], lines: AsyncGenerator[dict[str, Any], None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(lines):
        try:
            yield json_line(first) + b"\n"
            async for line in lines:
                yield json_line(line) + b"\n"
        except Exception as error:
            fault = fault_of(error)
            note(request, outcome="failed", error=fault.message)
            yield json_line(body_of(fault, "/api/")) + b"\n"


def _refusing(why: str) -> Callable[[], Any]:
    async def route() -> Response:
        raise HTTPException(403, f"{why}; the models are pins, fetched on the server: tacid model pull NAME.")

    return route


__all__ = ["add_routes"]
