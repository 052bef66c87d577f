"""The tools that a request offers, and which of them may, must or mustn't be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacid.api.messages import brief, kind_of, tools_of, unoffered, want_bool, want_object
from tacid.api.request import Limits
from tacid.catalogue import AUTO, Catalogue, Choice
from tacid.errors import RequestError
from tacid.turn.request import MAX_CALLS

_MODES: Mapping[str, Choice] = {
    "auto": AUTO,
    "none": Choice("none"),
    "required": Choice("required"),
    # As some other servers say it.
    "any": Choice("required"),
}


@dataclass(frozen=True, slots=True)
class Offered:
    """The catalogue, the choice, how many calls a reply may hold; whether the older ``functions`` were used.

    ``allowed``: the names of ``allowed_tools``, to which the catalogue is cut down, none where the request has none;
    those of the server's own tools (``Limits.own``) among them.
    """

    tools: Catalogue
    choice: Choice = AUTO
    max_calls: int = 1
    legacy: bool = False
    allowed: tuple[str, ...] | None = None


def offered(body: Mapping[str, Any], limits: Limits) -> Offered:
    """What the body offers. An empty list of tools, or null, offers nothing. Raises ``RequestError``.

    Source: OpenAI API reference, Chat Completions (``tools``, ``tool_choice``, ``parallel_tool_calls``, and the
    older ``functions``, ``function_call``, which are read where there are no ``tools``).
    """
    tools = tools_of(body.get("tools"), limits)
    parallel = want_bool(body, "parallel_tool_calls")
    legacy = not tools and bool(body.get("functions"))
    if legacy:
        tools = tools_of(body["functions"], limits, "functions")
        choice = _choice(body.get("function_call"), tools, limits.own, "function_call")
        return Offered(tools, choice, legacy=True)
    wanted = body.get("tool_choice")
    max_calls = MAX_CALLS if parallel else 1
    if isinstance(wanted, Mapping) and wanted.get("type") == "allowed_tools":
        return _allowed(wanted, tools, limits.own, max_calls)
    return Offered(tools, _choice(wanted, tools, limits.own, "tool_choice"), max_calls)


def _choice(wanted: Any, tools: Catalogue, own: frozenset[str], param: str) -> Choice:
    if wanted is None:
        return AUTO
    if isinstance(wanted, str):
        return _mode(wanted, param, any_tool=bool(tools or own))
    if not isinstance(wanted, Mapping):
        raise RequestError(f"{param} is {kind_of(wanted)}; give a word or name a function.", param=param)
    kind = wanted.get("type", "function")
    if isinstance(kind, str) and kind in _MODES:
        return _mode(kind, param, any_tool=bool(tools or own))
    if kind != "function":
        raise RequestError(f"{param} has the type {brief(kind)}; only a function can be named.", param=f"{param}.type")
    return Choice("named", _named(wanted, tools, own, param))


def _mode(word: str, param: str, *, any_tool: bool) -> Choice:
    choice = _MODES.get(word)
    if choice is None:
        raise RequestError(
            f'{param} is {brief(word)}; give "none", "auto", "required", or name a function.', param=param
        )
    if choice.mode == "required" and not any_tool:
        raise RequestError(f"{param} requires a call, but no tool is offered; offer one.", param=param)
    return choice


def _named(entry: Any, tools: Catalogue, own: frozenset[str], param: str) -> str:
    """The name in ``{"function": {"name"}}`` or ``{"name"}``, which must be a tool's, the request's or the server's."""
    inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise RequestError(f'{param} names no function; give {{"function": {{"name": "…"}}}}.', param=param)
    if name not in tools and name not in own:
        raise unoffered(param, name, tools)
    return name


def _allowed(wanted: Mapping[str, Any], tools: Catalogue, own: frozenset[str], max_calls: int) -> Offered:
    param = "tool_choice.allowed_tools"
    # Chat Completions nests the list, Responses doesn't.
    inner = want_object(wanted, "allowed_tools", "tool_choice") or wanted
    mode, entries = inner.get("mode", "auto"), inner.get("tools")
    if mode not in ("auto", "required"):
        raise RequestError(f'{param}.mode is {brief(mode)}; give "auto" or "required".', param=f"{param}.mode")
    if not isinstance(entries, list):
        raise RequestError(f"{param}.tools is {kind_of(entries)}; give a list of tools.", param=f"{param}.tools")
    names = {_named(entry, tools, own, f"{param}.tools[{index}]") for index, entry in enumerate(entries)}
    kept = Catalogue(tuple(tool for tool in tools if tool.name in names), tools.left_out)
    allowed = (*(tool.name for tool in kept), *sorted(names & own - {tool.name for tool in kept}))
    return Offered(kept, _mode(mode, "tool_choice", any_tool=bool(allowed)), max_calls, allowed=allowed)


__all__ = ["Offered", "offered"]
