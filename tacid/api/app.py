"""The application: all routes over one service, behind the doors."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from tacid import __version__
from tacid.api import anthropic, ollama, openai
from tacid.api.described import CONTENT, RESPONSES, body
from tacid.api.docs_page import docs_page
from tacid.api.doors import guarded
from tacid.api.faults import add_handlers, answer, body_of
from tacid.api.logs import Lines
from tacid.api.ollama import show
from tacid.api.openai.completions import CompletionStream, completion_body, parse_completion
from tacid.api.openai.models import ModelEntry, find_model, model_body, models_body
from tacid.api.openai.responses import ResponsesWire
from tacid.api.openai.responses_encode import deleted_body, not_kept
from tacid.api.openai.responses_store import ResponseStore
from tacid.api.reply import ClientGone, about_of, json_body, json_response, reply, streamed, while_there, who, whole
from tacid.api.request import Wire
from tacid.api.service import Service
from tacid.config import Config
from tacid.errors import EngineError, RequestError
from tacid.metrics import CONTENT_TYPE, Metrics

#: Seconds that a question about the model waits for the engine.
PATIENCE = 5.0

_MESSAGES = anthropic.MessagesWire()


def build(config: Config, service: Service, metrics: Metrics, *, log: Lines, audit: Lines | None = None) -> ASGIApp:
    """The application behind its doors. Raises ``InputError`` where the file of keys can't be used."""
    return guarded(create_app(service, metrics), config.server, metrics=metrics, log=log, audit=audit)


def create_app(service: Service, metrics: Metrics) -> FastAPI:
    """The application without its doors; its lifespan is the service's."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service:
            yield

    app = FastAPI(
        title="tacid",
        version=__version__,
        description="Tool calls of a small local model, held by a grammar that the sampler can't leave.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    add_handlers(app)
    app.add_exception_handler(ClientGone, _nobody)
    app.add_exception_handler(404, _no_route)
    _add_common(app, service, metrics)
    _add_openai(app, service)
    _add_anthropic(app, service)
    _add_ollama(app, service)
    return app


async def _nobody(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


async def _no_route(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.detail == "Not Found":
        error = HTTPException(404, f"There is no {request.url.path[:200]} here; /docs shows what there is.")
    return await answer(request, error)


def _add_wire(app: FastAPI, service: Service, path: str, wire: Wire, summary: str) -> None:
    async def route(request: Request) -> Response:
        return await reply(request, service, wire)

    extra = {"requestBody": body(path)}
    responses = {**RESPONSES, 200: CONTENT[wire.media_type]}
    app.post(path, summary=summary, openapi_extra=extra, responses=responses, response_class=Response)(route)


def _add_common(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/health", summary="Whether the server runs; nothing else, and without a key")
    @app.get("/healthz", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", summary="Whether an engine can be asked", responses={503: {"description": "Not now."}})
    async def ready() -> Response:
        engines = [
            {"name": backend.name, "state": backend.supervisor.state.name, "reason": backend.supervisor.state.reason}
            for backend in service.pool.backends
        ]
        up = any(engine["state"] == "ready" for engine in engines)
        return json_response({"ready": up, "engines": engines}, 200 if up else 503)

    @app.get("/metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
    async def figures() -> Response:
        return Response(metrics.exposition(), media_type=CONTENT_TYPE)

    @app.get("/docs", summary="This description, to read", response_class=HTMLResponse)
    async def docs() -> Response:
        return HTMLResponse(docs_page(app.openapi()))


def _add_openai(app: FastAPI, service: Service) -> None:
    store = ResponseStore()
    settings = service.config.server
    _add_wire(app, service, "/v1/chat/completions", openai.CHAT, "OpenAI: a reply to a conversation, with tools")

    @app.post(
        "/v1/completions",
        summary="OpenAI: a text continued; calls aren't intercepted",
        openapi_extra={"requestBody": body("/v1/completions")},
        responses={**RESPONSES, 200: CONTENT["text/event-stream"]},
        response_class=Response,
    )
    async def completions(request: Request) -> Response:
        started = time.perf_counter()
        asked = parse_completion(await json_body(request), service.limits)
        about = await about_of(request, service, asked.model, started)
        events = service.completion_events(asked, who(request), started=started)
        if asked.stream:
            return await streamed(request, events, CompletionStream(asked, about), openai.CHAT.media_type, settings)
        return await whole(request, events, lambda result: completion_body(asked, about, result))

    @app.post(
        "/v1/responses",
        summary="OpenAI: a response to input items",
        openapi_extra={"requestBody": body("/v1/responses")},
        responses={**RESPONSES, 200: CONTENT["text/event-stream"]},
        response_class=Response,
    )
    async def responses(request: Request) -> Response:
        return await reply(request, service, ResponsesWire(store.shelf(who(request).key or "")))

    @app.get("/v1/responses/{identity}", summary="OpenAI: a kept response", responses=RESPONSES)
    async def response(request: Request, identity: str) -> Response:
        found = store.shelf(who(request).key or "").body(identity)
        if found is None:
            missing = not_kept(identity)
            return json_response(body_of(missing, request.url.path), missing.status)
        return json_response(found)

    @app.delete("/v1/responses/{identity}", summary="OpenAI: a kept response is forgotten", responses=RESPONSES)
    async def forget(request: Request, identity: str) -> Response:
        if not store.shelf(who(request).key or "").drop(identity):
            missing = not_kept(identity)
            return json_response(body_of(missing, request.url.path), missing.status)
        return json_response(deleted_body(identity))

    async def entries() -> list[ModelEntry]:
        card = await service.card()
        names = (card.name, *service.config.model.aliases)
        return [ModelEntry(name, int(card.modified.timestamp()), context=card.context) for name in names]

    @app.get("/v1/models", summary="OpenAI: the served models", responses=RESPONSES)
    async def models() -> Response:
        return json_response(models_body(await entries()))

    @app.get("/v1/models/{name:path}", summary="OpenAI: one served model", responses=RESPONSES)
    async def model(name: str) -> Response:
        return json_response(model_body(find_model(await entries(), name)))

    @app.post(
        "/v1/embeddings",
        summary="OpenAI: embeddings, where the engine has them",
        openapi_extra={"requestBody": body("/v1/embeddings")},
        responses=RESPONSES,
    )
    async def embeddings(request: Request) -> Response:
        asked = await json_body(request)
        await about_of(request, service, asked.get("model") if isinstance(asked.get("model"), str) else None, 0.0)
        return json_response(await while_there(request, _embedded(service, asked)))


async def _embedded(service: Service, asked: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(asked.get("input"), (str, list)) or not asked["input"]:
        raise RequestError("input is missing; give a text or a list of texts.", param="input")
    served = await service.served()
    try:
        return await served.endpoint.client.embeddings({"input": asked["input"], "encoding_format": "float"})
    except EngineError as error:
        raise RequestError(
            f"The engine gives no embeddings of this model ({error}); ask an engine that was started for them.",
            code="embeddings_unavailable",
        ) from None


def _add_anthropic(app: FastAPI, service: Service) -> None:
    _add_wire(app, service, "/v1/messages", _MESSAGES, "Anthropic: a message in reply")

    @app.post(
        "/v1/messages/count_tokens",
        summary="Anthropic: the tokens that a request would read",
        openapi_extra={"requestBody": body("/v1/messages/count_tokens")},
        responses=RESPONSES,
    )
    async def count(request: Request) -> Response:
        chat = anthropic.parse_count(await json_body(request), service.limits)
        await about_of(request, service, chat.model, 0.0)
        return json_response(anthropic.counted(await while_there(request, service.count(chat, who(request)))))


def _add_ollama(app: FastAPI, service: Service) -> None:
    @app.head("/", include_in_schema=False)
    @app.get("/", summary="Ollama: a sign of life", response_class=PlainTextResponse)
    async def root() -> Response:
        return PlainTextResponse(show.RUNNING)

    @app.get("/api/version", summary="Ollama: the version of its protocol that is spoken")
    async def version() -> Response:
        return json_response(show.version_body())

    @app.get("/api/tags", summary="Ollama: the served models", responses=RESPONSES)
    async def tags() -> Response:
        return json_response(show.tags_body(await service.cards()))

    @app.get("/api/ps", summary="Ollama: the loaded models", responses=RESPONSES)
    async def loaded() -> Response:
        return json_response(show.ps_body([await service.card()]))

    @app.post(
        "/api/show",
        summary="Ollama: what a model is",
        openapi_extra={"requestBody": body("/api/show")},
        responses=RESPONSES,
    )
    async def shown(request: Request) -> Response:
        await service.model(show.wanted_model(await json_body(request)))
        return json_response(show.show_body(await service.card()))

    for path, wire, summary in (
        ("/api/chat", ollama.CHAT, "Ollama: a message in reply, with tools"),
        ("/api/generate", ollama.GENERATE, "Ollama: a reply to a prompt"),
    ):
        _add_ollama_reply(app, service, path, wire, summary)


def _add_ollama_reply(app: FastAPI, service: Service, path: str, wire: ollama.OllamaWire, summary: str) -> None:
    settings = service.config.server

    async def route(request: Request) -> Response:
        started = time.perf_counter()
        asked = await json_body(request)
        if path == "/api/generate" and ollama.is_raw(asked):
            raw = ollama.parse_raw(asked, service.limits)
            about = await about_of(request, service, raw.model, started)
            events = service.completion_events(raw, who(request), started=started)
            if raw.stream:
                return await streamed(request, events, wire.stream(raw, about), wire.media_type, settings)
            return await whole(request, events, lambda result: wire.whole(raw, about, result))
        chat = wire.parse(asked, service.limits)
        about = await about_of(request, service, chat.model, started)
        await while_there(request, service.check_context(chat.extra.get("num_ctx")))
        if chat.extra.get("load"):
            await while_there(request, service.served())
            return json_response(wire.loaded(chat, about))
        events = service.events(chat, who(request), started=started)
        if chat.stream:
            return await streamed(request, events, wire.stream(chat, about), wire.media_type, settings)
        return await whole(request, events, lambda result: wire.whole(chat, about, result))

    extra = {"requestBody": body(path)}
    responses = {**RESPONSES, 200: CONTENT[wire.media_type]}
    app.post(path, summary=summary, openapi_extra=extra, responses=responses, response_class=Response)(route)
