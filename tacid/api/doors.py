"""What stands between the network and the routes: hosts, origins, keys, open requests, bodies, and the log of it all.

Plain ASGI (3.0): streams pass untouched, and a client that goes away is seen by the route. From the outside in:
`RequestLog`, `HostDoor`, CORS, `KeyDoor`, `StreamDoor`, `BodyDoor`. Each hands what it found on in ``scope["state"]``:

- ``key``: the name of the key, or ``None``;
- ``tacid``: a dict that the service fills: ``model`` (str), ``usage`` (`tacid.chat.Usage`), ``outcome`` (str),
  ``calls`` (a list of (`tacid.chat.Call`, whether it is valid)), ``error`` (a word or a sentence of ours),
  ``left_out`` (names of tools that were not offered), ``asked`` (``streamed``, ``tools_offered``) and
  ``turn`` (a `TurnResult`), for the account,
  ``contents`` (any JSON; logged only where server.log_contents allows it).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacid.api.accounts import account
from tacid.api.connection import Connection
from tacid.api.faults import Fault, body_of, fault, fault_of, headers_of, rendered
from tacid.api.keys import Keys, Networks, address, is_loopback
from tacid.api.logs import Lines, call_record, failure, now
from tacid.chat import Usage
from tacid.config import ServerConfig
from tacid.metrics import Metrics

#: What uvicorn must be given, so that the doors see what is. With its proxy headers anybody could claim an address.
UVICORN: dict[str, Any] = {
    "http": Connection,
    "ws": "none",
    "proxy_headers": False,
    "server_header": False,
    "access_log": False,
    "log_config": None,
}

#: Routes that need no key.
OPEN_PATHS = frozenset({"/health", "/healthz"})

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104
#: Of a body that is refused so much is still read, so that the client gets to read the answer.
_LINGER_BYTES = 64 * 1024 * 1024
_LINGER_SECONDS = 5.0


def guarded(
    app: ASGIApp,
    config: ServerConfig,
    keys: Keys | None,
    *,
    metrics: Metrics,
    log: Lines,
    audit: Lines | None = None,
    accounts: Lines | None = None,
) -> ASGIApp:
    """The app behind all doors."""
    app = BodyDoor(app, most=config.max_body, timeout=config.body_timeout)
    app = StreamDoor(app, most=config.streams_per_key, metrics=metrics)
    app = KeyDoor(app, keys, Networks(config.trusted))
    if config.origins:
        app = CORSMiddleware(
            app,
            allow_origins=config.origins,
            allow_methods=("GET", "POST", "DELETE", "HEAD"),
            allow_headers=("*",),
            expose_headers=("retry-after",),
        )
    app = HostDoor(app, host=config.host, hosts=config.hosts, origins=config.origins)
    return RequestLog(
        app, metrics=metrics, log=log, audit=audit or log, accounts=accounts, contents=config.log_contents
    )


async def refuse(send: Send, fault: Fault, path: str, *, close: bool = False, more_body: bool = False) -> None:
    """Answer with an error in the shape of the path's protocol; ``close`` ends the connection after it."""
    body = rendered(body_of(fault, path))
    headers = {"content-type": "application/json", "content-length": str(len(body)), **headers_of(fault)}
    if close:
        headers["connection"] = "close"
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": fault.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": more_body})


def header(scope: Scope, name: bytes) -> list[bytes]:
    """All values of a header."""
    return [value for key, value in scope["headers"] if key == name]


class RequestLog:
    """The outermost: writes a line for each request, and turns an error that nobody caught into an answer."""

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, log: Lines, audit: Lines, accounts: Lines | None, contents: bool
    ) -> None:
        self._app = app
        self._accounts = accounts
        self._metrics = metrics
        self._log = log
        self._audit = audit
        self._contents = contents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        status: int | None = None
        first: float | None = None
        whole = gone = False
        state = scope.setdefault("state", {})
        state["key"] = None
        about: dict[str, object] = {}
        state["tacid"] = about

        async def watched_receive() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or (message["type"] == "http.disconnect" and not whole)
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status, first, whole
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                if first is None and message.get("body"):
                    first = time.perf_counter() - started
                whole = whole or not message.get("more_body", False)
            await send(message)

        failed = False
        try:
            await self._app(scope, watched_receive, watched_send)
        except Exception as error:
            fault = fault_of(error)
            failed = fault.status >= 500 or status is not None
            if failed:
                self._log.write(failure(error, contents=self._contents) | {"path": scope["path"][:200]})
            # In the middle of a reply nothing is sent: it ends without its end, so the client sees that it isn't whole.
            if status is None:
                await refuse(watched_send, fault, scope["path"])
        except asyncio.CancelledError:
            gone = True
            raise
        finally:
            outcome = _outcome(about.get("outcome"), status, failed=failed, gone=gone and not whole)
            self._write(scope, about, outcome, status, first, time.perf_counter() - started)

    def _write(
        self, scope: Scope, about: dict[str, object], outcome: str, status: int | None, first: float | None, took: float
    ) -> None:
        usage = about.get("usage")
        usage = usage if isinstance(usage, Usage) else None
        key = scope["state"]["key"]
        model = about.get("model")
        model = model if isinstance(model, str) else None
        client = scope.get("client")
        self._metrics.request(getattr(scope.get("route"), "path", None) or "other", outcome)
        record: dict[str, object] = {
            "time": now(),
            "event": "request",
            "method": scope["method"][:20],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(took * 1000, 1),
            "first_ms": None if first is None else round(first * 1000, 1),
            "key": key,
            "peer": client[0] if client else None,
            "model": model,
            "prompt_tokens": usage.prompt if usage else None,
            "cached_tokens": usage.cached if usage else None,
            "completion_tokens": usage.completion if usage else None,
            "outcome": outcome,
        }
        if isinstance(endpoint := about.get("endpoint"), str):
            record["endpoint"] = endpoint
        if left_out := about.get("left_out"):
            record["left_out"] = left_out
        if "error" in about:
            record["error"] = str(about["error"])
        if self._contents and "contents" in about:
            record["contents"] = about["contents"]
        self._log.write(record)
        asked = about.get("asked")
        if self._accounts is not None and isinstance(asked, dict):
            told = account(scope["path"][:200], outcome, asked, about.get("turn"), usage)
            self._accounts.write(told.to_json())
        calls = about.get("calls")
        for call, valid in calls if isinstance(calls, list) else []:
            self._audit.write(call_record(call, valid=valid, key=key, model=model, contents=self._contents))


def _outcome(told: object, status: int | None, *, failed: bool, gone: bool) -> str:
    if failed:
        return "failed"
    if gone:
        return "client_gone"
    if isinstance(told, str):
        return told
    if status is None or status >= 500:
        return "failed"
    return "refused" if status >= 400 else "ok"


class HostDoor:
    """Keeps out web pages: of a name that was pointed at this address (DNS rebinding), and of other origins."""

    def __init__(self, app: ASGIApp, *, host: str, hosts: tuple[str, ...], origins: tuple[str, ...]) -> None:
        self._app = app
        self._host = host
        self._hosts = frozenset({host, *hosts})
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (fault := self._judged(scope)):
            await refuse(send, fault, scope["path"])
        else:
            await self._app(scope, receive, send)

    def _judged(self, scope: Scope) -> Fault | None:
        hosts = header(scope, b"host")
        if len(hosts) != 1:
            return fault(400, "A request needs exactly one Host header.")
        whole = hosts[0].decode("latin-1").lower()
        if not self._is_ours(_name(whole), scope):
            return fault(
                403, "This server isn't known by the name in the Host header; add the name to server.hosts.",
                code="host_not_allowed",
            )  # fmt: skip
        for value in header(scope, b"origin"):
            origin = value.decode("latin-1").lower()
            if origin not in self._origins and not _same_host(origin, whole):
                return fault(
                    403, "Pages of this origin may not use this server; add the origin to server.origins.",
                    code="origin_not_allowed",
                )  # fmt: skip
        return None

    def _is_ours(self, name: str, scope: Scope) -> bool:
        if name in self._hosts or is_loopback(name):
            return True
        # An address is nobody's name: a page can't have come from it unless it is served there.
        found = address(name)
        if found is None:
            return False
        server = scope.get("server")
        return self._host in _WILDCARDS or (server is not None and found == address(server[0]))


def _name(host: str) -> str:
    # RFC 9110, 7.2: host [":" port]; an IPv6 address stands in brackets.
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def _same_host(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc == host
    except ValueError:
        return False


class KeyDoor:
    """Lets in who has a key, or needs none: ``Authorization: Bearer …`` (RFC 6750) or ``x-api-key`` (Anthropic)."""

    def __init__(self, app: ASGIApp, keys: Keys | None, trusted: Networks) -> None:
        self._app = app
        self._keys = keys
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        presented = _presented(scope)
        name = next((name for key in presented if self._keys and (name := self._keys.name_of(key))), None)
        if name is not None:
            scope["state"]["key"] = name
        elif not self._needs_none(scope):
            words = "isn't known here" if presented else "is missing: send Authorization: Bearer …, or x-api-key"
            await refuse(send, fault(401, f"The key {words}."), scope["path"])
            return
        await self._app(scope, receive, send)

    def _needs_none(self, scope: Scope) -> bool:
        # The address of the connection itself; what a header says of it anybody can write.
        peer = scope["client"][0] if scope.get("client") else None
        asked = self._keys is not None and self._keys.asked
        return peer in self._trusted or (not asked and is_loopback(peer))


def _presented(scope: Scope) -> list[bytes]:
    found = []
    for value in header(scope, b"authorization"):
        scheme, _, key = value.partition(b" ")
        if scheme.lower() == b"bearer" and (key := key.lstrip(b" ")):
            found.append(key)
    return [*found, *(value for value in header(scope, b"x-api-key") if value)][:4]


class StreamDoor:
    """Bounds how many requests of one key, or of one address without a key, are open at a time."""

    def __init__(self, app: ASGIApp, *, most: int, metrics: Metrics) -> None:
        self._app = app
        self._most = most
        self._metrics = metrics
        self._open: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        key = scope["state"].get("key")
        client = scope.get("client")
        who = ("key", key) if key is not None else ("peer", client[0] if client else "")
        if self._open[who] >= self._most:
            words = f"{self._most:,} requests are open already, which is the limit; wait until one has ended."
            await refuse(send, fault(429, words, retry_after=1.0, code="too_many_streams"), scope["path"])
            return
        self._open[who] += 1
        self._metrics.open_streams.inc()
        try:
            await self._app(scope, receive, send)
        finally:
            self._metrics.open_streams.dec()
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]


class BodyDoor:
    """Reads a request's body before anything is done with it: bounded in bytes and in seconds."""

    def __init__(self, app: ASGIApp, *, most: int, timeout: float) -> None:
        self._app = app
        self._most = most
        self._timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        lengths = header(scope, b"content-length")
        if lengths and (not lengths[0].isdigit() or len(lengths[0]) > 18 or int(lengths[0]) > self._most):
            await self._too_large(receive, send, path)
            return
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeout):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return  # half a body, and nobody left to tell
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False)
                    if size > self._most:
                        break
        except TimeoutError:
            words = f"The body did not come in within {self._timeout:g} seconds; send it faster, or make it smaller."
            await refuse(send, fault(408, words), path, close=True)
            return
        if size > self._most:
            await self._too_large(receive, send, path)
            return
        body: bytes | None = b"".join(parts)
        parts.clear()

        async def replayed() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message, body = {"type": "http.request", "body": body, "more_body": False}, None
            return message

        await self._app(scope, replayed, send)

    async def _too_large(self, receive: Receive, send: Send, path: str) -> None:
        words = f"The body has more than {self._most:,} bytes, which is the limit (server.max_body); send less."
        await refuse(send, fault(413, words), path, close=True, more_body=True)
        # A connection closed with unread bytes is reset, and the answer with it (RFC 9112, 9.6).
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                read = 0
                while read < _LINGER_BYTES:
                    message = await receive()
                    read += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        await send({"type": "http.response.body", "body": b"", "more_body": False})
