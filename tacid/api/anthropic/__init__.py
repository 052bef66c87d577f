"""Anthropic's Messages API: ``/v1/messages``, ``/v1/messages/count_tokens``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.api import sse
from tacid.api.anthropic.encode import MessageStream, counted, whole
from tacid.api.anthropic.parse import parse_count, parse_messages
from tacid.api.request import About, ChatRequest, Limits
from tacid.turn.request import TurnResult


class MessagesWire:
    """How Anthropic's clients ask for a reply; see `tacid.api.request.Wire`."""

    media_type = sse.MEDIA_TYPE

    def parse(self, body: Mapping[str, Any], limits: Limits) -> ChatRequest:
        """The request of a body. Raises ``RequestError`` that names the field."""
        return parse_messages(body, limits)

    def stream(self, request: ChatRequest, about: About) -> MessageStream:
        """An encoder for one streamed reply."""
        return MessageStream(request, about)

    def whole(self, request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
        """The body of a whole reply."""
        return whole(request, about, result)


__all__ = ["MessageStream", "MessagesWire", "counted", "parse_count", "parse_messages", "whole"]
