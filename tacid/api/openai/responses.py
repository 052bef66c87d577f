"""``/v1/responses``: one wire a client, as it knows what was kept for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacid.api import sse
from tacid.api.openai.responses_encode import ResponseStream, response_body, response_messages
from tacid.api.openai.responses_parse import parse_response
from tacid.api.openai.responses_store import Shelf
from tacid.api.request import About, ChatRequest, Limits
from tacid.turn.request import TurnResult


class ResponsesWire:
    """How clients of OpenAI's Responses ask for a reply (see `tacid.api.request.Wire`).

    ``shelf`` holds what is kept for this client. A response is put there when it is whole, unless the request says
    ``"store": false``.
    """

    media_type = sse.MEDIA_TYPE

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def parse(self, body: Mapping[str, Any], limits: Limits) -> ChatRequest:
        """The request of a parsed JSON body. Raises ``RequestError`` that names the field."""
        return parse_response(body, limits, self._shelf)

    def stream(self, request: ChatRequest, about: About) -> ResponseStream:
        """An encoder for one streamed reply."""
        return ResponseStream(request, about, lambda body, result: self._keep(request, about, body, result))

    def whole(self, request: ChatRequest, about: About, result: TurnResult) -> dict[str, Any]:
        """The body of a whole reply."""
        body = response_body(request, about, result)
        self._keep(request, about, body, result)
        return body

    def _keep(self, request: ChatRequest, about: About, body: Mapping[str, Any], result: TurnResult) -> None:
        if request.extra.get("store"):
            self._shelf.keep(body, response_messages(request, about, result))


__all__ = ["ResponsesWire"]
