"""Which tool mode a request is answered in, what was fetched for its session, and how the reply tells of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from starlette.requests import Request

from tacid.api.messages import brief, want_str
from tacid.api.request import ChatRequest
from tacid.config import ToolsConfig
from tacid.errors import RequestError
from tacid.turn.deferral import MAX_PINNED
from tacid.turn.request import Fetched, Modes, ToolMode, TurnResult

MODE_HEADER = "x-tacid-tool-mode"
SESSION_HEADER = "x-tacid-session"
#: Sessions that are remembered, and characters of the name of one.
MAX_SESSIONS = 1024
MAX_SESSION = 256

_MODES: tuple[ToolMode, ...] = get_args(ToolMode)


def with_mode(chat: ChatRequest, body: Mapping[str, Any], request: Request, config: ToolsConfig) -> ChatRequest:
    """The request with the mode and the session that its body (``tool_mode``, ``tool_session``) or headers name.

    Raises ``RequestError``: an unknown mode, or another than the configured one where requests may not choose.
    """
    asked = want_str(body, "tool_mode") or request.headers.get(MODE_HEADER)
    session = want_str(body, "tool_session") or request.headers.get(SESSION_HEADER)
    if session is not None and len(session) > MAX_SESSION:
        raise RequestError(
            f"tool_session has {len(session):,} characters; the limit is {MAX_SESSION}.", param="tool_session"
        )
    mode = next((one for one in _MODES if one == asked), None)
    if asked is not None and mode is None:
        raise RequestError(f"tool_mode is {brief(asked)}; give one of {', '.join(_MODES)}.", param="tool_mode")
    if mode is not None and mode != config.mode and not config.per_request:
        raise RequestError(
            f'tool_mode can\'t be chosen by requests here; it is "{config.mode}". Leave it out, or have '
            "tools.per_request set.",
            param="tool_mode",
        )
    return replace(chat, tool_mode=mode, session=session)


def modes_of(
    config: ToolsConfig, mode: ToolMode | None = None, fetched: tuple[Fetched, ...] = (), context: int = 0
) -> Modes:
    """How a turn shows its catalogue (see `tacid.turn.request.Modes`)."""
    return Modes(
        mode=mode or config.mode,
        instead=config.instead,
        budget=config.budget,
        context=context,
        always=frozenset(config.always),
        index=config.index,
        tokens=config.index_tokens,
        max_hops=config.max_hops,
        temperature=config.first_temperature,
        remind=config.remind,
        fetched=fetched,
    )


class Sessions:
    """What was fetched in the last sessions, each of one key's."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Fetched, ...]] = OrderedDict()

    def of(self, who: str, session: str | None) -> tuple[Fetched, ...]:
        """What a session has fetched so far."""
        return self._kept.get((who, session), ()) if session is not None else ()

    def add(self, who: str, session: str | None, names: tuple[str, ...], after: int) -> None:
        """Remember what was fetched when the conversation had ``after`` messages."""
        if session is None or not names:
            return
        known = self.of(who, session)
        new = tuple(Fetched(name, after) for name in names if all(name != one.name for one in known))
        self._kept[who, session] = (*known, *new)[:MAX_PINNED]
        self._kept.move_to_end((who, session))
        while len(self._kept) > MAX_SESSIONS:
            self._kept.popitem(last=False)


def usage_extras(result: TurnResult) -> dict[str, Any]:
    """Fields beside those of the protocol's own usage; none in the mode full."""
    if result.mode == "full":
        return {}
    return {"get_tool_info_hops": result.infos, "tool_mode": result.mode, "tokens_saved": result.saved}


__all__ = ["MODE_HEADER", "SESSION_HEADER", "Sessions", "modes_of", "usage_extras", "with_mode"]
