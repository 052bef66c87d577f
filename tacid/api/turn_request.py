"""From a parsed request to the turn that it asks for: the server's own tools, the machine's, the model's defaults."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from tacid.api.modes import modes_of
from tacid.api.offers import MachineOffers
from tacid.api.request import ChatRequest
from tacid.catalogue import Catalogue
from tacid.chat import UNBOUNDED, Sampling
from tacid.config import Config
from tacid.endpoints.backend import Served
from tacid.errors import RequestError
from tacid.jsontext import quote
from tacid.turn.request import Fetched, TurnRequest


class TurnRequests:
    """Makes turns; ``own`` are the server's tools, ``offers`` what the machine adds."""

    def __init__(self, config: Config, own: Catalogue, offers: MachineOffers) -> None:
        self._config = config
        self._own = own
        self._offers = offers

    async def turn(
        self, chat: ChatRequest, key: str | None, served: Served | None, fetched: tuple[Fetched, ...] = ()
    ) -> TurnRequest:
        """The turn that a request asks for, with what the server and the machine add; ``served`` none: elsewhere.

        ``fetched`` is what the session has fetched so far.

        Raises ``RequestError``.
        """
        added = await self._offers.added((key, chat.model))
        only = chat.extra.get("allowed_tools")
        tools = list(chat.tools)
        for tool in (*self._own, *added.catalogue):
            if tool.name in chat.tools:
                raise RequestError(
                    f"The tool {quote(tool.name, shown=True)} is this server's own; give yours another name.",
                    param="tools",
                )
            if only is None or tool.name in only:
                tools.append(tool)
        # What the machine adds stands first, where it changes least from request to request.
        names = {tool.name for tool in added.catalogue}
        tools.sort(key=lambda tool: tool.name not in names)
        catalogue = Catalogue(tuple(tools), chat.tools.left_out)
        if chat.grammar is not None and len(catalogue):
            raise RequestError("A grammar of your own can't stand beside tools; leave one out.", param="grammar")
        can_think = served is None or served.endpoint.family.thinking is not None
        think = self._config.model.reasoning_tokens if can_think and chat.think is not False else 0
        budget = chat.extra.get("thinking_budget")
        offered = {tool.name for tool in catalogue}
        return TurnRequest(
            messages=chat.messages,
            catalogue=catalogue,
            facts=added.facts,
            choice=chat.choice,
            sampling=self.sampling(chat.sampling, chat.max_tokens, served),
            checks={name: check for name, check in added.checks.items() if name in offered},
            max_calls=chat.max_calls,
            answer=chat.answer,
            think=min(think, budget) if isinstance(budget, int) and budget > 0 else think,
            execute={name: run for name, run in added.execute.items() if name in offered},
            on_invalid=self._config.server.on_invalid,
            grammar=chat.grammar,
            max_seconds=self._config.grammar.max_seconds,
            max_bytes=self._config.grammar.max_bytes,
            modes=modes_of(self._config.tools, chat.tool_mode, fetched, served.context if served is not None else 0),
        )

    def sampling(self, asked: Sampling, max_tokens: int | None, served: Served | None) -> Sampling:
        """What was asked for over what the model's publisher advises; ``served`` none: elsewhere."""
        changes: dict[str, Any] = {}
        for field in fields(Sampling):
            value = getattr(asked, field.name)
            if field.name != "max_tokens" and value not in (None, ()):
                changes[field.name] = value
        most = self._config.server.max_tokens
        if served is None:
            # Their server knows its context, we don't.
            return replace(asked, max_tokens=min(max_tokens, most) if max_tokens else UNBOUNDED)
        most = min(most, served.context or most)
        return replace(served.sampling, **changes, max_tokens=min(max_tokens or most, most))


__all__ = ["TurnRequests"]
