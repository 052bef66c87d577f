"""OpenAI's protocol: Chat Completions, the older Completions, and the list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.api import sse
from tacid.api.openai.chat_encode import ChatStream, chat_body
from tacid.api.openai.chat_parse import parse_chat
from tacid.api.request import About, ChatRequest, Limits, Wire
from tacid.turn.request import TurnResult


class ChatWire:
    """``/v1/chat/completions`` (see `tacid.api.request.Wire`)."""

    media_type = sse.MEDIA_TYPE

    def parse(self, body: Mapping[str, Any], limits: Limits) -> ChatRequest:
        """The request of a parsed JSON body. Raises ``RequestError`` that names the field."""
        return parse_chat(body, limits)

    def stream(self, request: ChatRequest, about: About) -> ChatStream:
        """An encoder for one streamed reply."""
        return ChatStream(request, about)

    def whole(self, request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
        """The body of a whole reply."""
        return chat_body(request, about, result)


#: The one instance that is needed.
CHAT: Wire = ChatWire()

__all__ = ["CHAT", "ChatWire"]
