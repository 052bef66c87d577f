"""The index of a catalogue that is too large to read: one line a tool, as fat as a budget allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tacid.catalogue import Tool
from tacid.grammar.content import Kept
from tacid.prompt.brief import first_sentence, fit, plain_name, short_type
from tacid.schema.refs import Resolver

#: What a line says: the name; the names of the arguments; the first sentence; arguments with types, and the sentence.
IndexStyle: TypeAlias = Literal["names", "args", "line", "signature"]

#: Characters of a line. Only a name may be longer, and then it stands alone: a tool that can't be named is lost.
MAX_LINE = 256
#: Of those, what name and arguments may take where a sentence follows.
_MAX_HEAD = 176
#: Arguments that are shown, and characters of the name of one.
MAX_ARGUMENTS = 24
_MAX_ARGUMENT = 48
#: Characters that a sentence must have room for.
_LEAST_SENTENCE = 12
#: The part of a budget, after all names, that goes to lines in full before the next tools get their arguments.
_FULL_SHARE = 0.5
_INDEXES: Kept[tuple[tuple[str, ...], int]] = Kept(64)


def index_line(tool: Tool, style: IndexStyle) -> str:
    """The line of one tool, without a line break: at most `MAX_LINE` characters, but for longer names.

    ``names``: ``file_read``; ``args``: ``file_read(path, limit)``; ``line``: ``file_read: Reads a file.``;
    ``signature``: ``file_read(path: string, limit?: integer): Reads a file.``, ``?`` where an argument may be left
    out. Names that could be misread are JSON strings; what can't be seen or opens a marker is an escape
    (`jsontext.shown_escaped`). What doesn't fit is left out: types first, then arguments that may be missing.
    """
    name = plain_name(tool.name)
    if style == "names":
        return name
    if style == "args":
        return next(_with_arguments(name, tool, typed=False, most=MAX_LINE), name)
    head = name
    if style == "signature":
        whole = (one for typed in (True, False) for one in _with_arguments(name, tool, typed=typed, most=_MAX_HEAD))
        head = next(whole, name)
    room = MAX_LINE - len(head) - 2
    sentence = fit(first_sentence(tool.description), room) if room >= _LEAST_SENTENCE else ""
    return f"{head}: {sentence}" if sentence else head


def index_lines(
    tools: Sequence[Tool], style: IndexStyle, budget_characters: int | None = None
) -> tuple[list[str], int]:
    """The lines of all tools, sorted by name, and how many tools have none because not even all names fit.

    Joined by line breaks they are at most ``budget_characters`` long. Earlier tools go before later ones: as many as
    half of what the names leave has room for get a line in full, the next ones ``name(args)``, the rest their name.
    """
    lines, missing = _INDEXES.of(tools, (style, budget_characters), lambda: _lines(tools, style, budget_characters))
    return list(lines), missing


def _lines(tools: Sequence[Tool], style: IndexStyle, budget: int | None) -> tuple[tuple[str, ...], int]:
    chosen = _within(tools, style, budget)
    return tuple(chosen[name] for name in sorted(chosen)), len(tools) - len(chosen)


def _within(tools: Sequence[Tool], style: IndexStyle, budget: int | None) -> dict[str, str]:
    if budget is None:
        return {tool.name: index_line(tool, style) for tool in tools}
    chosen: dict[str, str] = {}
    # Each line but the last has its line break.
    left = budget + 1
    for tool in tools:
        name = index_line(tool, "names")
        if (cost := len(name) + 1) <= left:
            chosen[tool.name] = name
            left -= cost
    if len(chosen) < len(tools):
        return chosen
    if style not in ("names", "args"):
        # Where not all can be told in full, arguments for many beat sentences for some.
        share = int(left * _FULL_SHARE)
        left += _fatten(chosen, tools, style, share) - share
        left = _fatten(chosen, tools, "args", left)
    _fatten(chosen, tools, style, left)
    return chosen


def _fatten(chosen: dict[str, str], tools: Sequence[Tool], style: IndexStyle, left: int) -> int:
    """Give tools the line of a style until the first that doesn't fit. Returns the characters that are left."""
    for tool in tools:
        before = chosen[tool.name]
        if before != plain_name(tool.name) and style == "args":
            continue  # already told in full
        line = index_line(tool, style)
        if (cost := len(line) - len(before)) > left:
            break
        chosen[tool.name] = line
        left -= cost
    return left


def _with_arguments(name: str, tool: Tool, *, typed: bool, most: int) -> Iterator[str]:
    """``name(arguments)`` in at most so many characters: all arguments, or else fewer and an ellipsis."""
    members = tool.parameters.get("properties")
    members = members if isinstance(members, Mapping) else {}
    required = tool.parameters.get("required")
    needed = {one for one in required if isinstance(one, str)} if isinstance(required, list) else set()
    # Those that must be given matter most; each stays in its place.
    ranked = sorted(list(members)[: 4 * MAX_ARGUMENTS], key=lambda member: member not in needed)[:MAX_ARGUMENTS]
    resolver = Resolver(tool.parameters)
    texts = {member: _argument(member, members[member], needed, resolver, typed=typed) for member in ranked}
    for count in range(len(ranked), 0 if ranked else -1, -1):
        if typed and count < len(members):
            return  # all names say more than some types
        kept = set(ranked[:count])
        shown = [texts[member] for member in members if member in kept] + ["…"] * (count < len(members))
        line = f"{name}({', '.join(shown)})"
        if len(line) <= most:
            yield line


def _argument(member: str, schema: Any, needed: set[str], resolver: Resolver, *, typed: bool) -> str:
    name = plain_name(member if len(member) <= _MAX_ARGUMENT else member[: _MAX_ARGUMENT - 1] + "…")
    return f"{name}{'' if member in needed else '?'}: {short_type(schema, resolver)}" if typed else name
