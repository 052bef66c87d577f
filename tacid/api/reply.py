"""One reply over HTTP, streamed or whole, for any wire; a client that goes away ends the work at once."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacid.api import left_out, sse
from tacid.api.events import Events
from tacid.api.faults import fault_of
from tacid.api.modes import with_mode
from tacid.api.request import About, Beat, ChatRequest, StreamEncoder, Wire, WireEvent
from tacid.api.service import Service, Who, told
from tacid.config import ServerConfig
from tacid.errors import RequestError
from tacid.jsontext import loads
from tacid.turn.request import TurnResult

#: Proxies are asked to pass a stream on as it comes.
STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}

#: Bytes that leave a stream in one write.
MAX_TOGETHER = 64 * 1024
#: Seconds that a client gets to read the rest, after the time that a request may take.
READING = 30.0

_T = TypeVar("_T")


class ClientGone(Exception):
    """Nobody is left to answer."""


async def reply(request: Request, service: Service, wire: Wire) -> Response:
    """The response to a request for a reply in one protocol. Raises ``TacidError`` before anything is sent."""
    started = time.perf_counter()
    body = await json_body(request)
    chat = asked_of(request, wire.parse(body, service.limits), body, service)
    about = await about_of(request, service, chat.model, started)
    events = service.events(chat, who(request), started=started)
    if chat.stream:
        return await streamed(request, events, wire.stream(chat, about), wire.media_type, service.config.server)
    return await whole(request, events, lambda result: wire.whole(chat, about, result))


def asked_of(request: Request, chat: ChatRequest, body: Mapping[str, Any], service: Service) -> ChatRequest:
    """The request with the tool mode that it chooses, of which the account is told. Raises ``RequestError``."""
    note(request, asked={"streamed": chat.stream, "tools_offered": len(chat.tools)})
    return with_mode(chat, body, request, service.config.tools)


async def json_body(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises ``RequestError``."""
    raw = await request.body()
    if not raw.strip():
        raise RequestError("The body is empty; send a JSON object.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"The body is not UTF-8 text (byte {error.start:,}); send JSON as UTF-8.") from None
    body = loads(text, "The body")
    if not isinstance(body, dict):
        raise RequestError("The body is no JSON object; send one with the request's fields.")
    return body


def who(request: Request) -> Who:
    """Who asks."""
    peer = request.client.host if request.client is not None else None
    return Who(getattr(request.state, "key", None), peer)


async def about_of(request: Request, service: Service, model: str | None, started: float) -> About:
    """What the reply will say about itself. Raises ``ModelUnknown``, ``EngineError``."""
    if service.known(model) is None and service.known_model is None:
        await while_there(request, service.meet())
    served = await service.model(model)
    note(request, model=served)
    return About(uuid.uuid4().hex, int(time.time()), model or served, started)


def note(request: Request, **what: object) -> None:
    """Tell the log (see `tacid.api.doors`)."""
    about = getattr(request.state, "tacid", None)
    if isinstance(about, dict):
        about.update(what)


def json_response(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON body that every client can read, whatever text it holds."""
    return Response(sse.json_line(dict(body)), status, headers, media_type="application/json")


async def whole(request: Request, events: Events, body: Callable[[TurnResult], dict[str, Any]]) -> Response:
    """The whole reply; the work ends if the client goes away."""
    result = await while_there(request, last(events))
    note(request, **told(result))
    return json_response(body(result), headers=left_out.headers(events.left_out))


async def last(events: Events) -> TurnResult:
    """The result of a turn."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnResult):
                return event
    raise AssertionError("a turn ends with its result")


async def while_there(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """The outcome of ``work``, which is cancelled when the client goes away. Raises `ClientGone` then."""
    task = asyncio.ensure_future(work)
    gone = asyncio.create_task(_gone(request.receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.wait({gone, task})


async def streamed(
    request: Request, events: Events, encoder: StreamEncoder, media_type: str, settings: ServerConfig
) -> Response:
    """A stream that begins with its first event, so that an error before it has a status of its own."""
    try:
        first = await while_there(request, anext(events))
    except BaseException:
        await events.aclose()
        raise
    return EventStream(request, first, events, encoder, media_type, settings)


class EventStream(Response):
    """Sends events as they come; ends them when the client goes away, seen within the event loop's next turn.

    Where events come of which nothing may be sent yet, signs of life are. A client that doesn't read is cut off.
    """

    def __init__(
        self,
        request: Request,
        first: WireEvent,
        events: Events,
        encoder: StreamEncoder,
        media_type: str,
        settings: ServerConfig,
    ) -> None:
        super().__init__(None, 200, {**STREAM_HEADERS, **left_out.headers(events.left_out), "content-type": media_type})
        del self.headers["content-length"]
        self._request = request
        self._first = first
        self._events = events
        self._encoder = encoder
        self._settings = settings
        self._sending = False
        self._sent = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream (ASGI)."""
        writer = asyncio.create_task(self._write(send))
        tasks = {writer, asyncio.create_task(_gone(receive)), asyncio.create_task(self._beat(send))}
        most = self._settings.request_timeout + READING
        try:
            await asyncio.wait(tasks, timeout=most, return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                writer.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._events.aclose()

    async def _beat(self, send: Send) -> None:
        """A sign of life whenever nothing was sent for long; while a send waits for the client there is no need."""
        while True:
            silent = time.monotonic() - self._sent
            if silent < self._settings.heartbeat:
                await asyncio.sleep(self._settings.heartbeat - silent)
            elif self._sending or not self._sent:
                await asyncio.sleep(self._settings.heartbeat / 2)
            elif data := self._encoder.event(Beat()):
                await self._put(send, data)
            else:
                self._sent = time.monotonic()

    async def _put(self, send: Send, data: bytes, *, more: bool = True) -> None:
        self._sending = True
        await send(_chunk(data, more=more))
        self._sending = False
        self._sent = time.monotonic()

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self._sent = time.monotonic()
        data = self._encoded(self._first)
        try:
            if data and not self._events.ready:
                await self._put(send, data)
                data = b""
            async for event in self._events:
                data += self._encoded(event)
                # What is there already leaves together: a busy server writes less often, an idle one at once.
                if data and (not self._events.ready or len(data) > MAX_TOGETHER):
                    await self._put(send, data)
                    data = b""
        except Exception as error:
            fault = fault_of(error)
            note(self._request, outcome="failed", error=fault.message)
            await self._put(send, data + self._encoder.fault(fault))
            data = b""
            if fault.type == "server_error" and fault.code is None:
                # Nobody foresaw it: the client knows enough, the log needs all of it.
                await self._put(send, b"", more=False)
                raise
        await self._put(send, data, more=False)

    def _encoded(self, event: WireEvent) -> bytes:
        if isinstance(event, TurnResult):
            note(self._request, **told(event))
        return self._encoder.event(event)


class LineStream(Response):
    """Sends lines as they come; ends what makes them when the client goes away."""

    def __init__(self, lines: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(None, 200, {**STREAM_HEADERS, "content-type": media_type})
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream (ASGI)."""
        tasks = {asyncio.create_task(self._write(send)), asyncio.create_task(_gone(receive))}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._lines.aclose()

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for line in self._lines:
            await send(_chunk(line))
        await send(_chunk(b"", more=False))


def _chunk(data: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


__all__ = [
    "ClientGone",
    "EventStream",
    "LineStream",
    "about_of",
    "json_body",
    "json_response",
    "note",
    "reply",
    "while_there",
    "who",
]
