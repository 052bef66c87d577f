"""Speaks to llama-server: tokens, templates, and completions, always streamed, always under their grammar."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

import httpx

from tacid.chat import Message, Sampling, Usage
from tacid.config import socket_of
from tacid.engine.body import completion_body, sendable
from tacid.engine.signs import Signs
from tacid.errors import ContextExceeded, EngineDied, EngineError, GrammarRefused
from tacid.jsontext import dumps

#: Bytes that one event of a stream, and a whole answer, may have.
MAX_EVENT = 4 * 1024 * 1024
MAX_ANSWER = 64 * 1024 * 1024
#: Seconds that an idle connection is kept; the server drops it after five.
KEEP_ALIVE = 3.0

_REASONS: Mapping[str, Literal["word", "length", "eos"]] = {"eos": "eos", "word": "word", "limit": "length"}
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class End:
    """How a completion ended (end-of-sequence token, stop word, token limit) and what it took.

    ``timings`` are llama-server's (``prompt_ms``, ``predicted_ms``, ``cache_n``, …); ``slot`` did the work, where the
    engine says so.
    """

    reason: Literal["stop", "word", "length", "eos"]
    stopping_word: str
    timings: Mapping[str, float]
    usage: Usage
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a completion as it is written; the last one has ``end``.

    ``text`` stops before a stop word, ``tokens`` may not.
    """

    text: str
    tokens: tuple[int, ...] = ()
    end: End | None = None


@dataclass(frozen=True, slots=True)
class Props:
    """What an engine says about itself and its model (``/props``). ``context`` is in tokens, for one slot."""

    context: int
    slots: int
    build: str
    model_path: str
    chat_template: str
    bos: str
    eos: str
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


class EngineClient:
    """A client of one llama-server; close it with ``aclose``, or use it as a context.

    ``url`` is ``http://host:port``, or ``unix:///path`` of a Unix socket. ``silence``:
    seconds without any sign of life after which the engine counts as wedged. ``local``: no proxy of the environment
    is used. ``post_mortem`` is asked why the engine ended, where somebody knows. ``signs`` keeps what is seen of its
    life.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        silence: float = 120.0,
        name: str = "the engine",
        local: bool = True,
        post_mortem: Callable[[], Awaitable[str | None]] | None = None,
    ) -> None:
        self.url = url
        self.key = key
        self.name = name[:1].upper() + name[1:]
        self.silence = silence
        self.signs = Signs()
        self._post_mortem = post_mortem
        self._waiting: set[asyncio.Timeout] = set()
        limits = httpx.Limits(keepalive_expiry=KEEP_ALIVE)
        socket = socket_of(url)
        transport = httpx.AsyncHTTPTransport(uds=str(socket), limits=limits) if socket is not None else None
        self._http = httpx.AsyncClient(
            base_url=url if socket is None else "http://localhost",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            transport=transport,
            limits=limits,
            timeout=httpx.Timeout(None, connect=10.0),
            trust_env=not local,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def health(self) -> tuple[int, str]:
        """The status of ``/health`` and what it says; 0 and the reason where nobody answers within two seconds."""
        try:
            answer = await self._http.get("/health", timeout=2.0)
        except httpx.HTTPError as error:
            return 0, str(error) or type(error).__name__
        return answer.status_code, answer.text[:500]

    async def is_there(self) -> bool:
        """Whether an engine has been loaded there; one that is silent for two seconds counts as there."""
        try:
            answer = await self._http.get("/health", timeout=2.0)
        except httpx.ConnectError:
            return False
        except httpx.HTTPError:
            return True
        return answer.status_code != 503

    async def knows_key(self) -> bool:
        """Whether the engine takes our key and refuses a request without one."""
        try:
            bare = await self._http.get("/props", headers={"Authorization": ""}, timeout=10.0)
            ours = await self._http.get("/props", timeout=10.0)
        except httpx.HTTPError:
            return False
        return bare.status_code == 401 and ours.status_code == 200

    async def props(self) -> Props:
        """What the engine says about itself and its model."""
        data = _mapping(await self._ask("GET", "/props"))
        return Props(
            context=int(_mapping(data.get("default_generation_settings")).get("n_ctx") or 0),
            slots=int(data.get("total_slots") or 1),
            build=str(data.get("build_info") or ""),
            model_path=str(data.get("model_path") or ""),
            chat_template=str(data.get("chat_template") or ""),
            bos=str(data.get("bos_token") or ""),
            eos=str(data.get("eos_token") or ""),
            raw=data,
        )

    async def embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What the engine's ``/v1/embeddings`` answers. Raises ``EngineError`` where it wasn't started for them."""
        return dict(_mapping(await self._ask("POST", "/v1/embeddings", body)))

    async def model_meta(self) -> Mapping[str, Any]:
        """The figures of its model (``/v1/models``): vocabulary, parameters, bytes; empty where it tells none."""
        entries = _mapping(await self._ask("GET", "/v1/models")).get("data")
        return _mapping(_mapping(entries[0] if isinstance(entries, list) and entries else None).get("meta"))

    async def slots(self) -> list[Mapping[str, Any]]:
        """The state of each slot (``/slots``)."""
        data = await self._ask("GET", "/slots")
        return [_mapping(slot) for slot in data] if isinstance(data, list) else []

    async def tokenize(self, text: str, *, special: bool) -> list[int]:
        """The token ids of a text, without BOS. Only with ``special`` do control tokens in it become such."""
        body = {"content": sendable(text), "parse_special": special, "add_special": False}
        tokens = _mapping(await self._ask("POST", "/tokenize", body)).get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            raise EngineError(f"{self.name} answered /tokenize with something else than tokens; is it a llama-server?")
        return tokens

    async def adds_bos(self) -> bool:
        """Whether the engine puts a BOS token before a prompt that is text; never before token ids."""
        body = {"content": "a", "parse_special": False, "add_special": True}
        data = await self._ask("POST", "/tokenize", body)
        return len(data.get("tokens") or []) > len(await self.tokenize("a", special=False))

    async def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of token ids."""
        return str(_mapping(await self._ask("POST", "/detokenize", {"tokens": list(tokens)})).get("content", ""))

    async def apply_template(self, messages: Iterable[Message | Mapping[str, Any]]) -> str:
        """What the model's own chat template makes of messages (role and content), with the assistant's turn opened."""
        plain = [
            {"role": m.role, "content": sendable(m.content)} if isinstance(m, Message) else dict(m) for m in messages
        ]
        return str(_mapping(await self._ask("POST", "/apply-template", {"messages": plain})).get("prompt", ""))

    async def check_grammar(self, grammar: str) -> None:
        """Let the engine read a grammar and sample one token under it. Raises ``GrammarRefused``."""
        async with aclosing(self.complete(["."], grammar=grammar, sampling=Sampling(max_tokens=1))) as pieces:
            async for _ in pieces:
                pass

    async def complete(
        self,
        prompt: Sequence[int | str],
        *,
        grammar: str | None,
        sampling: Sampling,
        stop: Sequence[str] = (),
        id_slot: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> AsyncGenerator[Piece, None]:
        """Complete a prompt, piece by piece; the last piece has ``end``.

        ``prompt`` mixes token ids and texts; in texts control tokens count. Closing the generator
        (``contextlib.aclosing``) or cancelling the task closes the connection, which ends the work. ``on_progress``
        hears (tokens read, tokens of the prompt). Raises ``GrammarRefused``, ``ContextExceeded``, ``EngineDied``
        (ended, or silent for too long), ``EngineError``.
        """
        body = completion_body(prompt, grammar, sampling, stop, id_slot)
        sampled: list[int] = []
        with self.signs.completing():
            async with self._request("POST", "/completion", body) as answer, aclosing(self._events(answer)) as events:
                async for event in events:
                    self.signs.progress()
                    if "prompt_progress" in event:  # comes with a token that isn't one
                        if on_progress is not None:
                            seen = _mapping(event["prompt_progress"])
                            on_progress(int(seen.get("processed", 0)), int(seen.get("total", 0)))
                        continue
                    piece = _piece(event)
                    sampled += piece.tokens
                    if piece.end is not None:
                        self.signs.finished(prompt, sampled, piece.end)
                    yield piece
                    if piece.end is not None:
                        return
        raise await self._died("ended in the middle of the reply")

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with self._request(method, path, body) as answer:
            return self._parsed(await self._alive(_read(answer, MAX_ANSWER)))

    @asynccontextmanager
    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> AsyncIterator[httpx.Response]:
        content = None if body is None else dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if path == "/completion":
            headers["Connection"] = "close"  # the server closes it after a stream without saying so (b10434, b11549)
        request = self._http.build_request(method, path, content=content, headers=headers)
        try:
            answer = await self._alive(self._http.send(request, stream=True))
            try:
                if answer.status_code != 200:
                    text = await self._alive(_read(answer, MAX_EVENT))
                    raise self._refusal(answer.status_code, text)
                yield answer
            finally:
                await answer.aclose()
        except httpx.ConnectError as error:
            raise await self._died(f"isn't there ({error})") from None
        except httpx.TransportError:
            raise await self._died("ended in the middle of the reply") from None
        except httpx.HTTPError as error:
            raise EngineError(f"{self.name} can't be asked: {error}.") from None

    async def _events(self, answer: httpx.Response) -> AsyncGenerator[Mapping[str, Any], None]:
        chunks = answer.aiter_raw()
        buffer = bytearray()
        ended = False

        async def line() -> bytes | None:
            nonlocal ended
            while True:
                # Lines that keep a connection alive are no sign of life: another thread of the server writes them.
                while (cut := buffer.find(b"\n")) >= 0:
                    found = bytes(buffer[:cut]).strip()
                    del buffer[: cut + 1]
                    if found and not found.startswith(b":"):
                        return found
                if len(buffer) > MAX_EVENT:
                    raise EngineError(
                        f"{self.name} sent an event of more than {MAX_EVENT:,} bytes; is it a llama-server?"
                    )
                if ended:
                    return None
                try:
                    buffer.extend(await anext(chunks))
                except StopAsyncIteration:
                    buffer.extend(b"\n")
                    ended = True

        while (found := await self._alive(line())) is not None:
            kind, _, text = found.partition(b":")
            if kind not in (b"data", b"error") or text.strip() == b"[DONE]":
                continue
            event = self._parsed(text)
            if kind == b"error" or (isinstance(event, Mapping) and "error" in event):
                error = _mapping(event).get("error", event)
                raise self._refusal(int(_mapping(error).get("code") or 500), dumps({"error": error}).encode())
            if isinstance(event, Mapping):
                yield event

    async def _alive(self, waiting: Awaitable[_T]) -> _T:
        """Wait for an answer as long as the engine shows any sign of life, on this or another request."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.silence) as limit:
                self._waiting.add(limit)
                try:
                    result = await waiting
                finally:
                    self._waiting.discard(limit)
        except TimeoutError:
            raise EngineDied(
                f"{self.name} is wedged: no sign of life for {self.silence:g} seconds. It has to be started again."
            ) from None
        for other in self._waiting:
            if not other.expired():
                other.reschedule(loop.time() + self.silence)
        return result

    async def _died(self, how: str) -> EngineDied:
        why = await self._post_mortem() if self._post_mortem is not None else None
        remedy = "Ask again." if self._post_mortem is not None else "Start it again, or correct engine.url."
        return EngineDied(f"{self.name} {how}{f': {why}' if why else ''}. {remedy}")

    def _parsed(self, text: bytes) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            shown = _shown(text.decode(errors="replace"))
            raise EngineError(f"{self.name} answered what is no JSON ({shown}); is it a llama-server?") from None

    def _refusal(self, status: int, text: bytes) -> EngineError:
        try:
            error = _mapping(_mapping(json.loads(text)).get("error"))
        except ValueError:
            error = {}
        message = _shown(str(error.get("message") or text.decode(errors="replace")))
        if error.get("type") == "exceed_context_size_error":
            prompt, context = int(error.get("n_prompt_tokens") or 0), int(error.get("n_ctx") or 0)
            return ContextExceeded(
                f"The prompt has {prompt} tokens and the engine's context holds {context}; shorten it or raise "
                "engine.context.",
                prompt=prompt,
                context=context,
            )
        if "grammar" in message.lower():
            return GrammarRefused(f"{self.name} refused a grammar of ours ({status}: {message}); please report this.")
        if status in (401, 403):
            return EngineError(
                f"{self.name} refuses our key ({status}); set engine.key to the one it was started with."
            )
        if status in (301, 302, 307, 308, 404, 405, 501):
            return EngineError(f"{self.name} doesn't know this request ({status}: {message}); is it a llama-server?")
        if status == 503:
            return EngineError(f"{self.name} isn't ready ({message}); try again in a moment.")
        return EngineError(f"{self.name} refused the request ({status}: {message}).")


def _piece(event: Mapping[str, Any]) -> Piece:
    tokens = event.get("tokens")
    ids = tuple(token for token in tokens if isinstance(token, int)) if isinstance(tokens, list) else ()
    end = None
    if event.get("stop") is True:
        timings = {k: v for k, v in _mapping(event.get("timings")).items() if isinstance(v, (int, float))}
        end = End(
            reason=_REASONS.get(str(event.get("stop_type")), "stop"),
            stopping_word=str(event.get("stopping_word") or ""),
            timings=timings,
            usage=Usage(
                prompt=int(event.get("tokens_evaluated") or 0),
                cached=int(timings.get("cache_n", 0)),
                completion=int(event.get("tokens_predicted") or 0),
            ),
            slot=event["id_slot"] if isinstance(event.get("id_slot"), int) else None,
        )
    return Piece(str(event.get("content") or ""), ids, end)


async def _read(answer: httpx.Response, limit: int) -> bytes:
    data = bytearray()
    async for chunk in answer.aiter_bytes():
        data.extend(chunk)
        if len(data) > limit:
            raise EngineError(f"The engine's answer has more than {limit:,} bytes; is it a llama-server?")
    return bytes(data)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _shown(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= 300 else line[:299] + "…"
