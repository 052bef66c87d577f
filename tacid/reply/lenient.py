"""A whole reply of an endpoint that kept to no grammar: `tool_calls` first, then what its text may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tacid.chat import Call, Completion, Say, Truncated
from tacid.errors import InputError
from tacid.jsontext import dumps, loads
from tacid.reply.json_stream import mend

#: Characters of a text that are searched for a call, and places where an object may begin that are tried.
MAX_SEARCHED = 262_144
MAX_PLACES = 64

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_BEGINNING = re.compile(r"\{|\[\s*\{")
_NAME_KEYS = ("tool", "name", "function", "tool_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input")
_OPENED = re.compile(r'\{\s*"(?:' + "|".join((*_NAME_KEYS, *_ARGUMENT_KEYS)) + r')"\s*:')
_NAMED = re.compile(r'"(?:' + "|".join(_NAME_KEYS) + r')"\s*:\s*"((?:[^"\\]|\\.)*)"')
_WRAPPERS = ("tool_call", "function_call", "tool_calls", "function")


def read_message(message: Mapping[str, Any], names: Collection[str]) -> Completion:
    """What a local endpoint's message means: a call of a tool in ``names``, or the words as they are.

    ``message`` has the shape of OpenAI's (``tool_calls``, the older ``function_call``, ``content`` as text or
    parts). A call counts only for a name in ``names``; where no call can be made of it, its text is said. A call in
    ``tool_calls`` whose arguments are broken is `Truncated`, unless the content holds a whole one.
    """
    cut: Truncated | None = None
    for name, arguments, identity in _tool_calls(message):
        if name not in names:
            continue
        found = _call(name, arguments, identity)
        if found is not None:
            return found
        cut = cut or Truncated(arguments if isinstance(arguments, str) else repr(arguments), name)
    read = read_text(_content(message), names)
    return cut if cut is not None and not isinstance(read, Call) else read


def read_remote(message: Mapping[str, Any]) -> Completion:
    """What a remote endpoint's message means: its first typed call, else its words; text that is JSON is text."""
    for name, arguments, identity in _tool_calls(message):
        if name:
            found = _call(name, arguments, identity)
            return found or Truncated(arguments if isinstance(arguments, str) else repr(arguments), name)
    return Say(mend(_content(message)))


def read_text(text: str, names: Collection[str]) -> Call | Say:
    """The first call of a tool in ``names``, or the first ``{"say": …}``, in a text; else the text without thoughts.

    Found anywhere in it: bare, fenced, in ``<tool_call>`` or in prose, keys in any order, in the shapes that models
    are trained on. What stands inside a thought is no call.
    """
    spoken = _THOUGHT.sub("", text).strip() if "<think" in text[:MAX_SEARCHED].lower() else text
    for value in _values(spoken[:MAX_SEARCHED]):
        found = _meant(value, names, 0)
        if found is not None:
            return found
    return Say(mend(spoken))


def broken_off(text: str, names: Collection[str]) -> Truncated | None:
    """The call that a text breaks off in the middle of, as far as that can be told; ``text`` is its end."""
    for opened in _OPENED.finditer(text[:MAX_SEARCHED]):
        tail = text[opened.start() : MAX_SEARCHED]
        try:
            json.JSONDecoder().raw_decode(tail)
        except (ValueError, RecursionError) as error:
            # Broken, but not at its end: that is no call which only needed more room.
            if isinstance(error, json.JSONDecodeError) and not _is_end(tail, error.pos):
                continue
            named = _NAMED.search(tail)
            if named is None:
                return Truncated(text)
            if named[1] in names:
                return Truncated(text, named[1])
    return None


def _is_end(text: str, place: int) -> bool:
    """Whether nothing but the beginning of a string, a number or a word stands from ``place`` on."""
    rest = text[place:].strip()
    return rest.startswith('"') or len(rest) < 6


def _values(text: str) -> Iterator[Any]:
    """The JSON objects and lists of objects in a text, in order, outermost first."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    place = 0
    for _ in range(MAX_PLACES):
        found = _BEGINNING.search(text, place)
        if found is None:
            return
        place = found.start()
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        yield value


def _meant(value: Any, names: Collection[str], depth: int) -> Call | Say | None:
    """The call or answer that a parsed value means, if any."""
    if depth > 3:
        return None
    if isinstance(value, list):
        return next((one for inner in value[:8] if (one := _meant(inner, names, depth + 1)) is not None), None)
    if not isinstance(value, Mapping):
        return None
    if len(value) == 1 and isinstance(value.get("say"), str):
        return Say(mend(value["say"]))
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    key = next((key for key in _ARGUMENT_KEYS if key in value), None)
    if name is not None and name in names and (key is not None or set(value) == {"tool"}):
        return _call(name, value[key] if key else {}, value.get("id"))
    for key in _WRAPPERS:
        if isinstance(value.get(key), (Mapping, list)):
            return _meant(value[key], names, depth + 1)
    return None


def _tool_calls(message: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    entries = message.get("tool_calls")
    entries = list(entries) if isinstance(entries, list) else []
    if isinstance(message.get("function_call"), Mapping):
        entries.append({"function": message["function_call"]})
    for entry in entries[:128]:
        function = entry.get("function", entry) if isinstance(entry, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            yield function["name"], function.get("arguments"), entry.get("id")


def _call(name: str, arguments: Any, identity: Any) -> Call | None:
    """A call of arguments that are an object, or its JSON text; nothing at all counts as no arguments."""
    text = None
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    elif isinstance(arguments, str):
        text = arguments.strip()
        try:
            arguments = loads(text, "The call")
        except InputError:
            return None
    if not isinstance(arguments, Mapping):
        return None
    try:
        written = text if text is not None else dumps(arguments)
    except (TypeError, ValueError, RecursionError):
        return None
    return Call(name, arguments, written, identity if isinstance(identity, str) and identity else None)


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
