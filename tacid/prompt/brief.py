"""What somebody wrote, in few characters and on one line: a name, a first sentence, the type of a schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacid.jsontext import dumps, escape_char, must_escape, quote, shown_escaped
from tacid.schema.keywords import TYPES, kind_of
from tacid.schema.refs import Resolver

#: Characters of a text that are looked at for its first sentence.
_READ = 1024
#: Names that need no quotation marks: letters and digits of any script, and what joins them.
_PLAIN = re.compile(r"\w(?:[\w.:/-]*\w)?")
#: Ends of sentences: before a space, or anywhere in scripts that set none.
_END = re.compile(r"[.!?…։؟۔।॥။።](?=[\"'”’»)\]]*(?:\s|$))|[。！？｡．]")
_CLOSING = re.compile("[\"'”’»)\\]」』）]*")
#: What stands before a full stop that ends nothing: single letters ("e.g.", "U.S."), numbers of a list, short forms.
_NO_END = re.compile(
    r"(?:^|[\s(\"'“‘])(?:(?:[^\W\d_]\.)*[^\W\d_]|vs|cf|approx|incl|resp|ca|Mr|Mrs|Ms|Dr|Prof|St|No|Nr)$"
)
_NUMBER = re.compile(r"\W*\d+")
#: A line that goes on in the next one, which no new sentence begins.
_WRAPPED = re.compile(r" ?\n ?(?=[^\W\d_])")
_SPACES = re.compile(r"[^\S\n]+")
#: Values of an enum that are shown, the characters of all of them, and the alternatives of a union.
_MAX_VALUES = 6
_MAX_VALUES_LENGTH = 48
_MAX_UNION = 4
_DEPTH = 4


def plain_name(name: str) -> str:
    """A name as a line of text shows it: as it is where nothing in it can be misread, else as a JSON string."""
    return name if _PLAIN.fullmatch(name) else quote(name, shown=True)


def fit(text: str, limit: int) -> str:
    """A text as one line of at most ``limit`` characters: spaces joined, what can't be seen or opens a marker escaped.

    What is too long is cut between words where one is near, with an ellipsis; nothing is left where not even a
    character fits.
    """
    shown: list[str] = []
    length = space = 0
    for char in " ".join(text.split()):
        piece = escape_char(char) if _escaped(char) else char
        if length + len(piece) > limit:
            # Room for the ellipsis, and no half of a word if the cut needn't go far back.
            while shown and length > limit - 1:
                length -= len(shown.pop())
            if space > len(shown) * 3 // 4:
                del shown[space:]
            return ("".join(shown).rstrip() + "…") if shown else ""
        if char == " ":
            space = len(shown)
        shown.append(piece)
        length += len(piece)
    return "".join(shown)


def _escaped(char: str) -> bool:
    """Whether a line of plain text in the prompt writes a character as an escape (quotes and backslashes stand raw)."""
    return shown_escaped(char) or (must_escape(char) and char not in '"\\')


def first_sentence(text: str) -> str:
    """The first sentence of a text, in whatever language it is written; its first line where no sentence ends in it."""
    text = _joined(text.lstrip()[:_READ])
    end = text.find("\n")
    line = text if end < 0 else text[:end]
    for stop in _END.finditer(line):
        if not _goes_on(line, stop):
            closing = _CLOSING.match(line, stop.end())
            return line[: closing.end() if closing else stop.end()]
    return line.rstrip()


def _joined(text: str) -> str:
    """The lines of a text without those breaks that only keep lines short: the next begins in lower case."""
    text = _SPACES.sub(" ", text)
    return _WRAPPED.sub(lambda gap: " " if text[gap.end()].islower() else "\n", text)


def _goes_on(line: str, stop: re.Match[str]) -> bool:
    if stop[0] != ".":
        return False
    following = line[stop.end() :].lstrip()
    if following[:1].islower():
        return True
    before = line[: stop.start()]
    return _NO_END.search(before[-40:]) is not None or (len(before) <= 8 and _NUMBER.fullmatch(before) is not None)


def short_type(schema: Any, resolver: Resolver) -> str:
    """The type of a schema in a few characters: ``string``, ``"a"|"b"``, ``(integer|null)[]``, ``object``, ``any``."""
    return _union(_types(schema, resolver, _DEPTH))


def _union(types: Iterator[str]) -> str:
    distinct: dict[str, None] = {}
    for one in types:
        distinct[one] = None
        if len(distinct) > _MAX_UNION or one == "any":
            return "any"
    return "|".join(distinct) or "any"


def _types(schema: Any, resolver: Resolver, depth: int) -> Iterator[str]:
    if not isinstance(schema, Mapping) or depth <= 0:
        yield "any"
        return
    if isinstance(ref := schema.get("$ref"), str):
        found = resolver.resolve(ref)
        yield from _types(found[1] if found else True, resolver, depth - 1)
        return
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        yield from _values(values)
        return
    for keyword in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(keyword), list) and options:
            # One more than a union shows is enough to see that it is too long.
            for option in options[: _MAX_UNION + 1]:
                yield from _types(option, resolver, depth - 1)
            return
    if "type" not in schema and isinstance(parts := schema.get("allOf"), list):
        said = [_union(_types(part, resolver, depth - 1)) for part in parts[:_MAX_UNION]]
        yield next((one for one in said if one != "any"), "any")
        return
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds or _meant(schema)]:
        yield _array(schema, resolver, depth) if kind == "array" else kind if kind in TYPES else "any"
    if schema.get("nullable") is True:
        yield "null"


def _values(values: list[Any]) -> Iterator[str]:
    """The values themselves where they are few and short, else their types."""
    if len(values) <= _MAX_VALUES and all(isinstance(value, (str, int, float, type(None))) for value in values):
        texts = [dumps(value[:_MAX_VALUES_LENGTH] if isinstance(value, str) else value, shown=True) for value in values]
        if sum(map(len, texts)) <= _MAX_VALUES_LENGTH:
            yield "|".join(texts)
            return
    yield _union(kind_of(value) for value in values)


def _array(schema: Mapping[str, Any], resolver: Resolver, depth: int) -> str:
    items = _union(_types(schema.get("items", True), resolver, depth - 1))
    return f"({items})[]" if "|" in items else "array" if items == "any" else f"{items}[]"


def _meant(schema: Mapping[str, Any]) -> str:
    return "object" if "properties" in schema else "array" if "items" in schema else "any"
