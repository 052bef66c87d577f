"""Ollama's protocol: `CHAT` (``/api/chat``) and `GENERATE` (``/api/generate``); other routes' bodies in `show`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacid.api.ollama.encode import Form, LineEncoder, chat_form, generate_form, loaded_body, whole_body
from tacid.api.ollama.parse import is_raw, keep_alive_of, parse_chat, parse_generate, parse_raw
from tacid.api.request import About, ChatRequest, CompletionRequest, Limits, StreamEncoder
from tacid.turn.request import TurnResult


class OllamaWire:
    """One route of Ollama's (`tacid.api.request.Wire`).

    A request with ``extra["load"]`` takes no turn: its reply is `loaded`, one JSON body even where a stream was asked
    for, as Ollama does. `GENERATE` also writes the replies to the requests of `parse_raw`.
    """

    media_type = "application/x-ndjson"

    def __init__(self, parse: Callable[[Mapping[str, Any], Limits], ChatRequest], form: Form) -> None:
        self._parse = parse
        self._form = form

    def parse(self, body: Mapping[str, Any], limits: Limits) -> ChatRequest:
        """The request of a parsed JSON body. Raises ``RequestError`` that names the field."""
        return self._parse(body, limits)

    def stream(self, request: ChatRequest | CompletionRequest, about: About) -> StreamEncoder:
        """An encoder for one streamed reply."""
        return LineEncoder(self._form, request, about)

    def whole(self, request: ChatRequest | CompletionRequest, about: About, result: TurnResult) -> dict[str, Any]:
        """The body of a whole reply."""
        return whole_body(self._form, request, about, result)

    def loaded(self, request: ChatRequest, about: About) -> dict[str, Any]:
        """The body of the reply to a request that only loads the model or lets it go."""
        return loaded_body(self._form, request, about)


CHAT = OllamaWire(parse_chat, chat_form)
GENERATE = OllamaWire(parse_generate, generate_form)

__all__ = ["CHAT", "GENERATE", "OllamaWire", "is_raw", "keep_alive_of", "parse_raw"]
