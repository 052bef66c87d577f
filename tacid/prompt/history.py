"""A conversation as turns: calls in the envelope, each with its result; results as data."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tacid.chat import Call, Message
from tacid.errors import InputError
from tacid.jsontext import dumps, loads, quote
from tacid.prompt.examples import call, say

Speaker: TypeAlias = Literal["system", "user", "assistant"]

#: Characters of one tool result that are shown.
MAX_RESULT = 16_384


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: who speaks, and the body as the model reads it."""

    speaker: Speaker
    text: str


def history_turns(
    messages: Sequence[Message],
    *,
    envelope: bool,
    value: bool = False,
    spliced: Mapping[str, str] = MappingProxyType({}),
) -> list[Turn]:
    """The messages as turns.

    With ``envelope`` the assistant's words and calls stand as it would write them now: one call a turn, each followed
    by its result, whatever order they came in; words beside a call are dropped, since the envelope has no room for
    both. Without it words stand as they are, and a call is told in words. A result without a call, or a call
    without a result, stands alone. ``value``: answers are JSON values, and those that are stand so in the envelope.
    ``spliced``: what stands between name and arguments in a tool's first call.
    """
    turns: list[Turn] = []
    left = dict(spliced) if envelope else {}
    taken: set[int] = set()
    for index, message in enumerate(messages):
        if index in taken:
            continue
        if message.role == "tool":
            turns.append(Turn("user", _result(message.name, message.content)))
        elif message.role != "assistant":
            turns.append(Turn(message.role, message.content))
        elif not message.calls:
            turns.append(Turn("assistant", _said(message.content, value) if envelope else message.content))
        else:
            if message.content and not envelope:
                turns.append(Turn("assistant", message.content))
            for one, answer in _answered(message.calls, messages, index):
                turns.append(
                    Turn("assistant", with_splice(_called(one, envelope=envelope), one.name, left.pop(one.name, "")))
                )
                if answer is not None:
                    taken.add(answer)
                    turns.append(Turn("user", _result(one.name, messages[answer].content)))
    return turns


def _answered(calls: Sequence[Call], messages: Sequence[Message], index: int) -> list[tuple[Call, int | None]]:
    """Each call with the index of its result among the tool messages that follow: by id, by name or by order."""
    results: list[int] = []
    for position in range(index + 1, len(messages)):
        if messages[position].role != "tool":
            break
        results.append(position)
    found: dict[int, int] = {}
    by_id: dict[str, list[int]] = {}
    for position in results:
        by_id.setdefault(messages[position].call_id or "", []).append(position)
    for number, one in enumerate(calls):
        if one.id and by_id.get(one.id):
            found[number] = by_id[one.id].pop(0)
    used = set(found.values())
    known = {one.id for one in calls if one.id}
    # A result that names another call by its id is an orphan, not an answer to whichever call is left.
    spare = [p for p in results if p not in used and (messages[p].call_id or "") not in known]
    spare = [p for p in spare if not messages[p].call_id or not all(one.id for one in calls)]
    for number, one in enumerate(calls):
        if number in found or not spare:
            continue
        pick = next((p for p in spare if messages[p].name == one.name), None)
        if pick is None:
            pick = next((p for p in spare if messages[p].name is None), None)
        if pick is not None:
            spare.remove(pick)
            found[number] = pick
    return [(one, found.get(number)) for number, one in enumerate(calls)]


def _said(text: str, value: bool) -> str:
    if value:
        with contextlib.suppress(InputError):
            return f'{{"say":{dumps(loads(text, "An answer"))}}}'
    return say(text)


def _called(one: Call, *, envelope: bool) -> str:
    try:
        arguments = dict(one.arguments)
        text = call(one.name, arguments)
    except (TypeError, ValueError, RecursionError):
        arguments, text = {}, call(one.name, {})
    return text if envelope else f"(Called {quote(one.name, shown=True)} with {dumps(arguments, shown=True)}.)"


def with_splice(text: str, name: str, splice: str) -> str:
    """A call's text with ``splice`` between its tool's name and its arguments."""
    if not splice:
        return text
    begin = f'{{"tool":{dumps(name)},'
    return begin + splice + text[len(begin) :]


def _result(name: str | None, content: str) -> str:
    """A result in a frame of ours: JSON as it is, all else as a JSON string."""
    of = f" of {quote(name, shown=True)}" if name else ""
    left_out = len(content) - MAX_RESULT
    value: Any = content
    if left_out <= 0 and content.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(InputError):
            value = loads(content, "A result")
    note = f" (cut: {left_out:,} more characters)" if left_out > 0 else ""
    shown = value[:MAX_RESULT] if isinstance(value, str) else value
    return f"Result{of}{note}: {dumps(shown, shown=True)}"
