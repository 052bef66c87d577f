"""Speaks OpenAI's chat protocol to a server that isn't ours: always streamed, bounded, its errors in our tree."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tacid.errors import Busy, ContextExceeded, EngineDied, EngineError, GrammarRefused
from tacid.jsontext import dumps

#: Bytes that one line of a stream, a whole stream, and an answer that isn't one may have.
MAX_LINE = 4 * 1024 * 1024
MAX_STREAM = 256 * 1024 * 1024
MAX_ANSWER = 16 * 1024 * 1024

_GONE = frozenset({502, 503, 504})
#: Words by which another tacid says in mid-stream that its engine is gone.
_LOST = frozenset({"engine_died", "engine_start_failed", "stopping"})


class ChatClient:
    """A client of one server; close it with ``aclose``, or use it as a context.

    ``url`` is where its routes are, ``https://host/v1``; where it has no path, ``/v1`` is meant. ``name`` is the
    endpoint's in errors. ``silence``: seconds without a byte after which it counts as gone. ``grammars``: grammars are
    sent to it, so that an error which speaks of one is about ours.
    """

    def __init__(
        self, url: str, *, name: str, key: str | None = None, silence: float = 120.0, grammars: bool = False
    ) -> None:
        self.url = url if urlsplit(url).path.strip("/") else url.rstrip("/") + "/v1"
        self.name = name
        self.silence = silence
        self._grammars = grammars
        self._limit_field = "max_tokens"
        local = (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(silence, connect=10.0),
            limits=httpx.Limits(max_connections=None, keepalive_expiry=3.0),
            trust_env=not local,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def models(self) -> list[str] | None:
        """The names of the models that it lists, none where it has no such list. Raises ``EngineError``."""
        try:
            async with self._request("GET", "/models", None) as answer:
                data = self._parsed(await self._whole(answer))
        except _NoRoute:
            return None
        entries = data.get("data") if isinstance(data, Mapping) else None
        if not isinstance(entries, list):
            return None
        return [str(entry["id"]) for entry in entries if isinstance(entry, Mapping) and "id" in entry]

    async def chat(self, body: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        """The chunks of a reply (``chat.completion.chunk``).

        ``max_tokens`` is sent by the name that the server knows, where it isn't none.

        Closing the generator closes the connection, which ends the work. Raises ``EngineDied`` (not there, ended in
        the middle, silent for too long), ``GrammarRefused``, ``ContextExceeded``, ``Busy``, ``EngineError``.
        """
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        limit = asked.pop("max_tokens", None)
        for _ in range(2):
            sent = asked if limit is None else {**asked, self._limit_field: limit}
            try:
                async with (
                    self._request("POST", "/chat/completions", sent) as answer,
                    aclosing(self._chunks(answer)) as chunks,
                ):
                    async for chunk in chunks:
                        yield chunk
                return
            except _OtherLimit:
                self._limit_field = "max_completion_tokens"
        raise EngineError(f"{self._who} takes neither max_tokens nor max_completion_tokens.")

    @property
    def _who(self) -> str:
        return f'The endpoint "{self.name}"'

    @asynccontextmanager
    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> AsyncIterator[httpx.Response]:
        content = None if body is None else dumps(body).encode()
        request = self._http.build_request(
            method, self.url + path, content=content, headers={"Content-Type": "application/json"}
        )
        try:
            answer = await self._http.send(request, stream=True)
            try:
                if answer.status_code != 200:
                    raise self._refusal(answer, await self._whole(answer))
                yield answer
            finally:
                await answer.aclose()
        except httpx.ConnectError as error:
            raise EngineDied(f"{self._who} isn't there ({error}); start it, or correct its url.") from None
        except httpx.TimeoutException:
            raise EngineDied(f"{self._who} gave no sign of life for {self.silence:g} seconds; ask again.") from None
        except httpx.TransportError:
            raise EngineDied(f"{self._who} ended in the middle of the reply; ask again.") from None
        except httpx.HTTPError as error:
            raise EngineError(f"{self._who} can't be asked: {error}.") from None

    async def _chunks(self, answer: httpx.Response) -> AsyncGenerator[Mapping[str, Any], None]:
        if "text/event-stream" not in answer.headers.get("content-type", ""):
            whole = self._parsed(await self._whole(answer))
            yield self._checked(_as_chunk(whole), answer)
            return
        finished = False
        async with aclosing(self._lines(answer)) as lines:
            async for line in lines:
                field, _, text = line.partition(b":")
                text = text.strip()
                if field not in (b"data", b"error") or not text:
                    continue
                if text == b"[DONE]":
                    return
                chunk = self._checked(self._parsed(text), answer)
                finished = finished or any(
                    isinstance(one, Mapping) and one.get("finish_reason") for one in chunk.get("choices") or ()
                )
                yield chunk
        if not finished:
            raise EngineDied(f"{self._who} ended in the middle of the reply; ask again.")

    async def _lines(self, answer: httpx.Response) -> AsyncGenerator[bytes, None]:
        buffer, size = bytearray(), 0
        async for piece in answer.aiter_bytes():
            size += len(piece)
            buffer += piece
            while (cut := buffer.find(b"\n")) >= 0:
                yield bytes(buffer[:cut]).strip()
                del buffer[: cut + 1]
            if len(buffer) > MAX_LINE or size > MAX_STREAM:
                raise EngineError(f"{self._who} sent more than a reply may have ({min(len(buffer), size):,} bytes).")
        if buffer:
            yield bytes(buffer).strip()

    async def _whole(self, answer: httpx.Response) -> bytes:
        data = bytearray()
        async for piece in answer.aiter_bytes():
            data += piece
            if len(data) > MAX_ANSWER:
                raise EngineError(f"{self._who} answered with more than {MAX_ANSWER:,} bytes.")
        return bytes(data)

    def _parsed(self, text: bytes) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            shown = _shown(text.decode(errors="replace"))
            raise EngineError(f"{self._who} answered what is no JSON ({shown}); correct its url.") from None

    def _checked(self, chunk: Any, answer: httpx.Response) -> Mapping[str, Any]:
        if not isinstance(chunk, Mapping):
            raise EngineError(f"{self._who} sent a chunk that is no object; does it speak OpenAI's chat protocol?")
        if chunk.get("error"):
            raise self._refusal(answer, dumps({"error": chunk["error"]}).encode())
        return chunk

    def _refusal(self, answer: httpx.Response, text: bytes) -> Exception:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        body = body if isinstance(body, Mapping) else {}
        error = body.get("error") or body
        error = error if isinstance(error, Mapping) else {"message": error}
        message = _shown(str(error.get("message") or text.decode(errors="replace")))
        status = answer.status_code
        code = f"{error.get('code') or ''} {error.get('type') or ''}"
        if status == 200:
            # An error in mid-stream carries its status in itself, if at all.
            found = str(error.get("code") or error.get("status") or "")
            status = int(found) if found.isdigit() else 500
            if _LOST & set(code.split()):
                status = 503
        lower = message.lower()
        if "context_length" in code or "maximum context length" in lower or "exceed_context" in code:
            return ContextExceeded(
                f"The prompt is longer than the context of {self._who[0].lower()}{self._who[1:]} ({message}).",
                prompt=int(error.get("n_prompt_tokens") or 0),
                context=int(error.get("n_ctx") or 0),
            )
        if status == 400 and "max_completion_tokens" in lower and self._limit_field == "max_tokens":
            return _OtherLimit(message)
        if "grammar_refused" in code or (self._grammars and ("grammar" in lower or "structured_output" in lower)):
            return GrammarRefused(f"{self._who} refused a grammar of ours ({status}: {message}); please report this.")
        if status in (401, 403):
            return EngineError(f"{self._who} refuses our key ({status}: {message}); set its key.")
        if status == 429:
            return Busy(
                f"{self._who} takes no more requests at the moment ({message}); try again.",
                retry_after=_seconds(answer.headers.get("retry-after")),
            )
        if status in _GONE:
            return EngineDied(f"{self._who} can't reply now ({status}: {message}); ask again in a moment.")
        if status in (301, 302, 307, 308, 404, 405):
            return _NoRoute(f"{self._who} doesn't know this request ({status}: {message}); correct its url or model.")
        return EngineError(f"{self._who} refused the request ({status}: {message}).")


class _NoRoute(EngineError):
    """There is no such route, or no such model."""


class _OtherLimit(EngineError):
    """The server knows the limit of tokens by another name."""


def _as_chunk(whole: Any) -> Any:
    """A whole reply of a server that doesn't stream, as its only chunk."""
    if not isinstance(whole, Mapping) or not isinstance(whole.get("choices"), list):
        return whole
    choices = [
        {"delta": one.get("message"), "finish_reason": one.get("finish_reason") or "stop"}
        for one in whole["choices"]
        if isinstance(one, Mapping)
    ]
    return {**whole, "choices": choices}


def _seconds(text: str | None) -> float:
    try:
        return min(600.0, max(0.1, float(text or 2.0)))
    except ValueError:
        return 2.0


def _shown(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= 300 else line[:299] + "…"
