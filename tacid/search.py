"""Tools found by words: BM25 over their names, their descriptions and what is said of their arguments.

Own code, since the packages there are (rank-bm25, bm25s) want numpy, know no fields and split no names into words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import pairwise
from math import log
from typing import Any

from tacid.catalogue import Tool
from tacid.errors import CatalogueError
from tacid.grammar.content import Kept

MAX_TOOLS = 10_000
#: Characters that are looked at: of a query, of a tool's description, and of all that is said of its arguments.
MAX_QUERY = 2000
_MAX_DESCRIPTION = 4096
_MAX_ARGUMENTS = 16_384
#: How deep arguments may nest.
_DEPTH = 8

#: How much a word counts in the name, the description and the arguments; how much less in a field that is longer than
#: is usual; and how soon more of the same word adds nothing (BM25F: S. Robertson, H. Zaragoza, The Probabilistic
#: Relevance Framework, 2009, section 3.6). ``python -m tests.bench.search_recall`` measures them.
WEIGHTS = (2.0, 1.0, 0.5)
B = 0.4
K1 = 0.9

_SELECT = re.compile(r"\s*select:", re.IGNORECASE)
#: Spaces are taken for good: given back, each one would be tried again from every place.
_SELECTED = re.compile(r'\s*+("(?:[^"\\]|\\.)*"|[^,]*[^,\s])\s*(?:,|$)')
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
#: Where a word begins inside a name: ``toolName``, ``HTTPServer``.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Scripts that set no spaces between words, or join what belongs apart: kana, Han, Hangul, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7ff"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]")


class Search:
    """What finds tools of one catalogue by words. Raises ``CatalogueError`` for more than `MAX_TOOLS`."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        tools = tuple(tools)
        if len(tools) > MAX_TOOLS:
            raise CatalogueError(f"There are {len(tools):,} tools to be searched; the limit is {MAX_TOOLS:,}.")
        self._names = [tool.name for tool in tools]
        self._places = {name: place for place, name in enumerate(self._names)}
        self._impacts = _impacts([_fields(tool) for tool in tools])

    def find(self, query: str, limit: int) -> list[str]:
        """The names of at most ``limit`` tools that have a word of the query: best first, equal ones in order.

        ``select:NAME,NAME`` gives exactly these tools, as far as there are any; a name may be a JSON string.
        """
        query = query[:MAX_QUERY]
        if chosen := _SELECT.match(query):
            return [name for name in _selected(query[chosen.end() :]) if name in self._places][: max(0, limit)]
        scores: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words(query)):
            for place, impact in zip(*self._impacts.get(word, ((), ())), strict=True):
                scores[place] += impact
        best = nsmallest(limit, scores.items(), key=lambda item: (-item[1], item[0]))
        return [self._names[place] for place, _ in best]


def search_of(tools: Sequence[Tool]) -> Search:
    """The search over these tools, made once for all that say the same. Raises what `Search` raises."""
    return _SEARCHES.of(tools, None, lambda: Search(tools))


_SEARCHES: Kept[Search] = Kept(8)


def _selected(text: str) -> Iterator[str]:
    names = dict.fromkeys(found[1] for found in _SELECTED.finditer(text))
    for name in names:
        if name.startswith('"'):
            try:
                name = json.loads(name)
            except ValueError:
                continue
        yield name


def words(text: str) -> list[str]:
    """The words of a text or a name, as they are compared: without case, accents and endings; pairs of characters in
    scripts without spaces.
    """
    if text.isascii():
        return [_stem(part.lower()) for word in _ASCII_WORD.findall(text) for part in _HUMP.split(word)]
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    spaced = "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text)
    found: list[str] = []
    for word in spaced.split():
        end = 0
        for run in _UNSPACED.finditer(word):
            found += _stems(word[end : run.start()])
            found += _pairs(run[0])
            end = run.end()
        found += _stems(word[end:])
    return found


def _stems(word: str) -> list[str]:
    humps = [0, *(at for at in range(1, len(word)) if word[at].isupper() and _begins(word, at)), len(word)]
    return [_stem(word[start:end].casefold()) for start, end in pairwise(humps) if start < end]


def _begins(word: str, at: int) -> bool:
    """Whether a capital begins a word: what `_HUMP` finds, in any script."""
    return not word[at - 1].isupper() or word[at + 1 : at + 2].islower()


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _stem(word: str) -> str:
    """A word without the ending of an English plural; other endings are hardly worth it (docs/deferred.md)."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith("ss") else word


def _fields(tool: Tool) -> tuple[list[str], ...]:
    said: list[str] = []
    left = _MAX_ARGUMENTS
    for text in _arguments(tool.parameters, _DEPTH):
        if left <= 0:
            break
        said.append(text[:left])
        left -= len(text) + 1
    return words(tool.name), words(tool.description[:_MAX_DESCRIPTION]), words(" ".join(said))


def _arguments(schema: Any, depth: int) -> Iterator[str]:
    """What a schema says of its members, in any depth: names, descriptions, values."""
    if not isinstance(schema, Mapping) or depth <= 0:
        return
    for keyword in ("properties", "$defs", "definitions"):
        if isinstance(members := schema.get(keyword), Mapping):
            for name, member in members.items():
                yield name
                if isinstance(member, Mapping) and isinstance(text := member.get("description"), str):
                    yield text
                yield from _arguments(member, depth - 1)
    yield from _arguments(schema.get("items"), depth - 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(options := schema.get(keyword), list):
            for option in options:
                yield from _arguments(option, depth - 1)
    values = schema.get("enum")
    for value in [*(values if isinstance(values, list) else []), schema.get("const")]:
        if isinstance(value, str):
            yield value


def _impacts(tools: Sequence[tuple[list[str], ...]]) -> dict[str, tuple[array[int], array[float]]]:
    """The places of the tools that have a word, and what it adds to the score of each."""
    usual = [sum(len(fields[field]) for fields in tools) / max(1, len(tools)) or 1.0 for field in range(len(WEIGHTS))]
    found: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("I"), array("f")))
    for place, fields in enumerate(tools):
        weighted: defaultdict[str, float] = defaultdict(float)
        for field, weight, mean in zip(fields, WEIGHTS, usual, strict=True):
            scale = weight / (1 - B + B * len(field) / mean)
            for word, count in Counter(field).items():
                weighted[word] += count * scale
        for word, weight in weighted.items():
            places, counts = found[word]
            places.append(place)
            counts.append(weight)
    for places, counts in found.values():
        rare = _idf(len(places), len(tools))
        counts[:] = array("f", [rare * count / (K1 + count) for count in counts])
    return dict(found)


def _idf(having: int, of: int) -> float:
    """How much a word says that so many of the tools have."""
    return log(1 + (of - having + 0.5) / (having + 0.5))
