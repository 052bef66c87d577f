"""The application: all routes over one service, behind the doors."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from tacid import __version__
from tacid.api import anthropic, embeddings, openai
from tacid.api.described import description, methods_of
from tacid.api.docs_page import docs_page
from tacid.api.doors import guarded
from tacid.api.faults import add_handlers, answer, body_of
from tacid.api.logs import Lines
from tacid.api.messages import want_str
from tacid.api.modes import with_mode
from tacid.api.ollama import routes as ollama_routes
from tacid.api.openai.completions import CompletionStream, completion_body, parse_completion
from tacid.api.openai.models import ModelEntry, find_model, model_body, models_body
from tacid.api.openai.responses import ResponsesWire
from tacid.api.openai.responses_encode import deleted_body, not_kept
from tacid.api.openai.responses_store import ResponseStore
from tacid.api.reply import (
    ClientGone,
    about_of,
    json_body,
    json_response,
    note,
    reply,
    streamed,
    while_there,
    who,
    whole,
)
from tacid.api.request import Wire
from tacid.api.service import Service
from tacid.config import Config
from tacid.metrics import CONTENT_TYPE, Metrics

_MESSAGES = anthropic.MessagesWire()


def build(
    config: Config,
    service: Service,
    metrics: Metrics,
    *,
    log: Lines,
    audit: Lines | None = None,
    accounts: Lines | None = None,
) -> ASGIApp:
    """The application behind its doors."""
    app = create_app(service, metrics)
    return guarded(app, config.server, service.keys, metrics=metrics, log=log, audit=audit, accounts=accounts)


def create_app(service: Service, metrics: Metrics) -> FastAPI:
    """The application without its doors; its lifespan is the service's."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service:
            yield

    # Bodies are read by the wires, so what the framework could tell of them is nothing: the description is ours.
    app = FastAPI(
        title="tacid", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    add_handlers(app)
    app.add_exception_handler(ClientGone, _nobody)
    app.add_exception_handler(404, _no_route)
    app.add_exception_handler(405, _no_method)
    _add_common(app, service, metrics)
    _add_openai(app, service)
    _add_anthropic(app, service)
    ollama_routes.add_routes(app, service)
    return app


async def _nobody(request: Request, _: Exception) -> Response:
    note(request, outcome="client_gone")
    return Response(status_code=499)


async def _no_route(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.detail == "Not Found":
        error = HTTPException(404, f"There is no {request.url.path[:200]} here; /docs shows what there is.")
    return await answer(request, error)


async def _no_method(request: Request, _: Exception) -> Response:
    path = request.url.path
    taken = ", ".join(sorted(methods_of(path)))
    response = await answer(request, HTTPException(405, f"{path[:200]} takes {taken}, not {request.method[:20]}."))
    # RFC 9110, 15.5.6
    response.headers["allow"] = taken
    return response


def _add_wire(app: FastAPI, service: Service, path: str, wire: Wire) -> None:
    @app.post(path)
    async def route(request: Request) -> Response:
        return await reply(request, service, wire)


def _add_common(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/health")
    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> Response:
        engines = service.behind.states()
        up = any(engine["state"] in ("ready", "resting") for engine in engines)
        told = {"ready": up, "engines": engines}
        if lists := await service.offers.lists():
            told["lists"] = lists
        return json_response(told, 200 if up else 503)

    @app.get("/metrics")
    async def figures() -> Response:
        await service.offers.lists()
        return Response(metrics.exposition(), media_type=CONTENT_TYPE)

    @app.get("/docs")
    async def docs() -> Response:
        return HTMLResponse(docs_page(description()))

    @app.get("/openapi.json")
    async def described() -> Response:
        return json_response(description())


def _add_openai(app: FastAPI, service: Service) -> None:
    store = ResponseStore()
    settings = service.config.server
    _add_wire(app, service, "/v1/chat/completions", openai.CHAT)

    @app.post("/v1/completions")
    async def completions(request: Request) -> Response:
        started = time.perf_counter()
        asked = parse_completion(await json_body(request), service.limits)
        about = await about_of(request, service, asked.model, started)
        events = service.completion_events(asked, who(request), started=started)
        if asked.stream:
            return await streamed(request, events, CompletionStream(asked, about), openai.CHAT.media_type, settings)
        return await whole(request, events, lambda result: completion_body(asked, about, result))

    @app.post("/v1/responses")
    async def responses(request: Request) -> Response:
        return await reply(request, service, ResponsesWire(store.shelf(who(request).key or "")))

    @app.get("/v1/responses/{identity}")
    async def response(request: Request, identity: str) -> Response:
        found = store.shelf(who(request).key or "").body(identity)
        if found is None:
            missing = not_kept(identity)
            return json_response(body_of(missing, request.url.path), missing.status)
        return json_response(found)

    @app.delete("/v1/responses/{identity}")
    async def forget(request: Request, identity: str) -> Response:
        if not store.shelf(who(request).key or "").drop(identity):
            missing = not_kept(identity)
            return json_response(body_of(missing, request.url.path), missing.status)
        return json_response(deleted_body(identity))

    async def entries() -> list[ModelEntry]:
        cards = await service.cards()
        return [ModelEntry(card.name, int(card.modified.timestamp()), context=card.context) for card in cards]

    @app.get("/v1/models")
    async def models() -> Response:
        return json_response(models_body(await entries()))

    @app.get("/v1/models/{name:path}")
    async def model(name: str) -> Response:
        return json_response(model_body(find_model(await entries(), name)))

    @app.post("/v1/embeddings")
    async def embed(request: Request) -> Response:
        asked = await json_body(request)
        inputs, dimensions = embeddings.openai_inputs(asked), embeddings.check_openai(asked)
        model = want_str(asked, "model")
        about = await about_of(request, service, model, time.perf_counter())
        work = embeddings.embed(service, inputs, who(request), model=model, dimensions=dimensions)
        found = await while_there(request, work)
        return json_response(embeddings.openai_body(asked, about.model, found))


def _add_anthropic(app: FastAPI, service: Service) -> None:
    _add_wire(app, service, "/v1/messages", _MESSAGES)

    @app.post("/v1/messages/count_tokens")
    async def count(request: Request) -> Response:
        body = await json_body(request)
        chat = with_mode(anthropic.parse_count(body, service.limits), body, request, service.config.tools)
        await about_of(request, service, chat.model, 0.0)
        return json_response(anthropic.counted(await while_there(request, service.count(chat, who(request)))))
