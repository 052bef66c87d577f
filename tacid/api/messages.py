"""What every wire reads alike: text of a message, past calls, tools, and typed fields of a JSON body.

Errors are ``RequestError`` whose ``param`` is the path of the field, ``messages[3].content`` say. In every field
``null`` means the same as absent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from tacid.api.request import Limits
from tacid.catalogue import MAX_NAME, Catalogue, LeftOut, Schema, Tool, read_tool
from tacid.chat import Call
from tacid.errors import CatalogueError, InputError, RequestError
from tacid.jsontext import deeper_than, dumps, loads, quote

#: Characters that are kept of a past call's arguments where they are broken.
MAX_BROKEN = 4096
#: What a past call is named that has no name.
NAMELESS = "unknown"

#: Parts of a message's content that hold text, and under which key.
_TEXT_PARTS: Mapping[str, str] = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
#: Parts that hold what a model thought before; never read again.
_THOUGHTS = frozenset({"reasoning", "thinking", "redacted_thinking"})

_HALF = re.compile("[\ud800-\udfff]")


def text_of(content: Any, param: str) -> str:
    """The text of a message's content: a text, null, or a list of parts, whose texts are joined by line breaks.

    Raises ``RequestError``: another type, half a surrogate pair, or a part that is no text, with its type and index.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return whole_text(content, param)
    if not isinstance(content, list):
        raise RequestError(f"{param} is {kind_of(content)}; give a text or a list of parts.", param=param)
    texts = (_part(part, f"{param}[{index}]") for index, part in enumerate(content))
    return "\n".join(text for text in texts if text is not None)


def history_call(name: Any, arguments: Any, id: Any = None) -> Call:  # noqa: A002
    """A call of the past, whatever became of it; never an error.

    ``arguments`` may be an object, its JSON text, or anything else: that is no arguments, with the raw text, cut to
    `MAX_BROKEN` characters, in ``Call.text``. An ``id`` that is no text is none.
    """
    called = name[:MAX_NAME] if isinstance(name, str) and name else NAMELESS
    identity = id if isinstance(id, str) and id else None
    if isinstance(arguments, str):
        return Call(called, *_parsed(arguments), identity)
    if isinstance(arguments, Mapping):
        written = _written(arguments)
        return Call(called, {} if written is None else arguments, written or "", identity)
    return Call(called, {}, "" if arguments is None else (_written(arguments) or "")[:MAX_BROKEN], identity)


def tools_of(
    entries: Any, limits: Limits, param: str = "tools", *, read: Callable[[Any, str], Any] | None = None
) -> Catalogue:
    """The tools of a request, in the form of any protocol (`tacid.catalogue.read_tool`); null is none.

    ``read`` brings a protocol's own entry into one of those forms, or raises ``RequestError`` where it is no tool.

    An entry that is no tool (of a type that is not ``function``, nameless, without a schema of an object) is left out
    and named in ``left_out``. Raises ``RequestError``: no list, too many, a schema beyond the limits, a name that
    occurs twice, no tool among the entries, and for any entry that is no tool where ``limits.strict``.
    """
    if entries is None:
        return Catalogue()
    if not isinstance(entries, list):
        raise RequestError(f"{param} is {kind_of(entries)}; give a list of tools.", param=param)
    check_count(len(entries), limits.tools, param)
    tools: list[Tool] = []
    left_out: list[LeftOut] = []
    for index, entry in enumerate(entries):
        at = f"{param}[{index}]"
        try:
            tool = _tool(entry if read is None else read(entry, at), at)
        except RequestError as error:
            if limits.strict or (index == len(entries) - 1 and not tools):
                raise
            left_out.append(LeftOut(_called(entry, at), "", str(error)))
        else:
            check_schema(tool.parameters, limits, at)
            tools.append(tool)
    try:
        return Catalogue(tuple(tools), tuple(left_out))
    except CatalogueError as error:
        raise RequestError(str(error), param=param) from None


def messages_of(body: Mapping[str, Any], limits: Limits) -> list[Mapping[str, Any]]:
    """The list in ``messages``, bounded, each an object; it may be empty. Raises ``RequestError``."""
    entries = body.get("messages")
    if not isinstance(entries, list):
        what = "is missing" if entries is None else f"is {kind_of(entries)}"
        raise RequestError(f"messages {what}; give a list of messages.", param="messages")
    check_count(len(entries), limits.messages, "messages")
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            at = f"messages[{index}]"
            raise RequestError(f"{at} is {kind_of(entry)}; a message is an object with a role.", param=at)
    return entries


def check_count(count: int, most: int, param: str) -> None:
    """Raises ``RequestError`` where a list holds more than ``most``."""
    if count > most:
        raise RequestError(f"{param} holds {count:,} entries; the limit is {most:,}. Send fewer.", param=param)


def check_schema(schema: Schema, limits: Limits, param: str) -> None:
    """Raises ``RequestError`` where a schema is larger or nests deeper than a request's may."""
    if deeper_than(schema, limits.nesting):
        raise RequestError(
            f"{param} nests lists and objects deeper than {limits.nesting} levels; make the schema flatter.",
            param=param,
        )
    size = len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > limits.schema_bytes:
        raise RequestError(
            f"{param} has {size:,} bytes; the limit is {limits.schema_bytes:,}. Make the schema smaller.", param=param
        )


def check_tokens(count: int | None, limits: Limits, param: str) -> None:
    """Raises ``RequestError`` where more tokens are asked for than a reply may have."""
    if count is not None and count > limits.tokens:
        raise RequestError(
            f"{param} is {_figure(count)}; the limit is {limits.tokens:,} tokens. Ask for fewer.", param=param
        )


def want_str(body: Mapping[str, Any], key: str, at: str = "") -> str | None:
    """A text, or none. ``at`` is the path of ``body`` itself. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RequestError(f"{param} is {kind_of(value)}; give a text.", param=param)
    return whole_text(value, param)


def want_bool(body: Mapping[str, Any], key: str, at: str = "") -> bool | None:
    """True, false, or none. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is not None and not isinstance(value, bool):
        raise RequestError(f"{param} is {kind_of(value)}; give true or false.", param=param)
    return value


def want_number(
    body: Mapping[str, Any], key: str, at: str = "", *, low: float | None = None, high: float | None = None
) -> float | None:
    """A finite number from ``low`` to ``high``, both included, or none. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RequestError(f"{param} is {kind_of(value)}; give a number.", param=param)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RequestError(f"{param} is no number that can be used; give a smaller one.", param=param)
    _within(number, param, low, high)
    return number


def want_int(
    body: Mapping[str, Any], key: str, at: str = "", *, low: int | None = None, high: int | None = None
) -> int | None:
    """A whole number from ``low`` to ``high``, both included, or none; ``3.0`` is one. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f"{param} is {kind_of(value)}; give a whole number.", param=param)
    _within(value, param, low, high)
    return value


def want_object(body: Mapping[str, Any], key: str, at: str = "") -> Mapping[str, Any] | None:
    """An object, or none. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is not None and not isinstance(value, Mapping):
        raise RequestError(f"{param} is {kind_of(value)}; give an object.", param=param)
    return value


def want_texts(body: Mapping[str, Any], key: str, at: str = "", *, most: int = 16) -> tuple[str, ...]:
    """A text or a list of up to ``most`` texts; empty ones are left out. Raises ``RequestError``."""
    value, param = _field(body, key, at)
    if value is None:
        return ()
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list):
        raise RequestError(f"{param} is {kind_of(value)}; give a text or a list of texts.", param=param)
    check_count(len(entries), most, param)
    for index, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise RequestError(f"{param}[{index}] is {kind_of(entry)}; give a text.", param=f"{param}[{index}]")
        whole_text(entry, param)
    return tuple(entry for entry in entries if entry)


def whole_text(text: str, param: str) -> str:
    """The text itself. Raises ``RequestError`` where it holds half a surrogate pair, which no UTF-8 can carry."""
    if half := _HALF.search(text):
        raise RequestError(
            f"{param} holds half a surrogate pair at character {half.start():,}; send whole characters.", param=param
        )
    return text


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"), ((int, float), "a number"), (str, "a text"), (list, "a list"), (Mapping, "an object"),
    )  # fmt: skip
    return next((name for types, name in names if isinstance(value, types)), type(value).__name__)


def brief(value: Any) -> str:
    """A value as an error shows it: short, and with what can't be seen escaped."""
    text = value if isinstance(value, str) else (_written(value) or kind_of(value))
    return quote(text if len(text) <= 60 else text[:59] + "…", shown=True)


def _field(body: Mapping[str, Any], key: str, at: str) -> tuple[Any, str]:
    return body.get(key), f"{at}.{key}" if at else key


def _within(number: float, param: str, low: float | None, high: float | None) -> None:
    if low is not None and number < low:
        raise RequestError(f"{param} is {_figure(number)}; the least is {_figure(low)}.", param=param)
    if high is not None and number > high:
        raise RequestError(f"{param} is {_figure(number)}; the most is {_figure(high)}.", param=param)


def _figure(number: float) -> str:
    if isinstance(number, int):
        return str(number) if abs(number) < 10**20 else f"a number of about {number.bit_length() * 3 // 10} digits"
    return f"{number:g}"


def _part(part: Any, param: str) -> str | None:
    """The text of one part; none where it is a thought."""
    if isinstance(part, str):
        return whole_text(part, param)
    if not isinstance(part, Mapping):
        raise RequestError(f"{param} is {kind_of(part)}; a part is an object with a type.", param=param)
    kind = part.get("type", "text")
    if isinstance(kind, str) and kind in _THOUGHTS:
        return None
    key = _TEXT_PARTS.get(kind) if isinstance(kind, str) else None
    if key is None:
        raise RequestError(
            f"{param} has the type {brief(kind)}; only text can be read here, so leave it out.",
            param=param,
            code="unsupported_content",
        )
    text = want_str(part, key, param)
    if text is None:
        raise RequestError(f'{param} has no "{key}"; a part of this type needs it.', param=f"{param}.{key}")
    return text


def unoffered(param: str, name: str, tools: Catalogue) -> RequestError:
    """The error for a choice of a tool that isn't among ``tools``, with why it was left out if it was."""
    for tool in tools.left_out:
        if tool.tool == name:
            return RequestError(f"{param} names {brief(name)}, which can't be offered: {tool.reason}", param=param)
    return RequestError(f"{param} names {brief(name)}, which is not among the tools; offer it too.", param=param)


def _called(entry: Any, param: str) -> str:
    """What to call an entry that is no tool: its name, else where it stands."""
    inner = entry.get("function", entry) if isinstance(entry, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name[:MAX_NAME] if isinstance(name, str) and name else param


def _tool(entry: Any, param: str) -> Tool:
    if isinstance(entry, Mapping) and entry.get("type", "function") not in ("function", None, ""):
        raise RequestError(
            f"{param} has the type {brief(entry['type'])}; only functions can be offered.", param=f"{param}.type"
        )
    try:
        return read_tool(entry, param)
    except CatalogueError as error:
        raise RequestError(str(error), param=param) from None


def _parsed(text: str) -> tuple[Mapping[str, Any], str]:
    """Arguments and their text; of arguments that are broken nothing, and the beginning of the text."""
    if not text.strip():
        return {}, ""
    try:
        value = loads(text, "The call")
        if isinstance(value, str):
            # Encoded twice, as some clients do with what a model wrote.
            text, value = value, loads(value, "The call")
    except InputError:
        return {}, text[:MAX_BROKEN]
    return (value, text) if isinstance(value, dict) else ({}, text[:MAX_BROKEN])


def _written(value: Any) -> str | None:
    try:
        return dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
