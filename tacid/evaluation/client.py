"""Questions to an OpenAI endpoint, whole replies back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tacid.errors import InputError, TacidError
from tacid.evaluation.rows import Called, Tokens

#: Seconds that one reply may take: a small machine reads 25,000 tokens of tools in five minutes.
PATIENCE = 3600.0
#: How often a request is sent at most, and seconds before it is sent again, twice as many each time.
TRIES = 5
PAUSE = 1.0
#: What passes by itself: too many requests, an engine that is started again.
_PASSING = frozenset({429, 502, 503, 504})
#: What every request will meet.
_FOR_ALL = frozenset({401, 403, 404, 405})


class EndpointLost(TacidError):
    """The endpoint doesn't answer any more; what was answered is kept."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``error``: nothing that can be read. ``latency`` is in seconds, of the try that was answered."""

    called: tuple[Called, ...] = ()
    said: str | None = None
    error: str | None = None
    latency: float = 0.0
    tokens: Tokens = field(default_factory=Tokens)
    hops: int | None = None


class Client:
    """Speaks to an OpenAI endpoint, whose URL ends where ``/chat/completions`` is put after it."""

    def __init__(self, url: str, key: str | None = None, *, pause: float = PAUSE) -> None:
        self.url = url.rstrip("/")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(PATIENCE, connect=30.0))
        self._pause = pause

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()

    async def model(self) -> str:
        """The name of the first model that is served. Raises ``InputError``."""
        try:
            answer = await self._http.get(f"{self.url}/models", timeout=30.0)
            return str(answer.raise_for_status().json()["data"][0]["id"])
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InputError(
                f"{self.url}/models doesn't answer ({_brief(error)}); is --base-url right (it often ends in /v1)?"
            ) from None
        except (ValueError, LookupError, TypeError):
            raise InputError(f"{self.url}/models names no model; give one with --model-name.") from None

    async def ask(self, body: Mapping[str, Any]) -> Reply:
        """One reply. Raises ``EndpointLost`` (nobody answers) or ``InputError`` (nobody would ever be answered)."""
        pause = self._pause
        for attempt in range(1, TRIES + 1):
            start = time.monotonic()
            try:
                answer = await self._http.post(f"{self.url}/chat/completions", json=body)
            except httpx.HTTPError as error:
                if attempt == TRIES:
                    raise EndpointLost(
                        f"{self.url} doesn't answer ({_brief(error)}); start it; the same command goes on from here."
                    ) from None
            else:
                if answer.status_code in _FOR_ALL:
                    raise InputError(f"{self.url} refuses: {_refusal(answer)}; see --base-url and OPENAI_API_KEY.")
                if answer.status_code not in _PASSING or attempt == TRIES:
                    return _read(answer, time.monotonic() - start)
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("every try returns or raises")


def _brief(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _refusal(answer: httpx.Response) -> str:
    try:
        told = answer.json()["error"]
        words = told["message"] if isinstance(told, Mapping) else told
    except (ValueError, LookupError, TypeError):
        words = answer.text
    return f"HTTP {answer.status_code}: {str(words)[:300]}"


def _read(answer: httpx.Response, latency: float) -> Reply:
    """The reply in an answer."""
    if answer.status_code != 200:
        return Reply(error=_refusal(answer), latency=latency)
    try:
        body = _encodable(answer.json())
        choice, usage = body["choices"][0], body.get("usage") or {}
        message, finish = choice["message"], choice.get("finish_reason")
        called = tuple(_called(call["function"]) for call in message.get("tool_calls") or ())
        said = message.get("content")
        tokens = Tokens(
            prompt=usage.get("prompt_tokens") or 0,
            completion=usage.get("completion_tokens") or 0,
            cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        )
        hops = usage.get("get_tool_info_hops")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return Reply(error=f"no reply of an OpenAI endpoint: {_brief(error)}", latency=latency)
    fault = None
    if any(not isinstance(call.arguments, dict) for call in called):
        fault = "undecodable: the arguments of a call are no JSON object"
    elif finish == "length" and not called and not said:
        fault = "cut off before there was a call or a word"
    return Reply(
        called, said if isinstance(said, str) else None, fault, latency, tokens, hops if isinstance(hops, int) else None
    )


def _encodable(value: Any) -> Any:
    """The same value; half a surrogate pair, which no file in UTF-8 can hold, is a question mark."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _called(function: Mapping[str, Any]) -> Called:
    """A call; its arguments stay text where that is no JSON."""
    text = function["arguments"]
    try:
        arguments = _encodable(json.loads(text)) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        arguments = text
    return Called(name=str(function["name"]), arguments=arguments)


__all__ = ["Client", "EndpointLost", "Reply"]
