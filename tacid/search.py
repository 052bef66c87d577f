"""Tools found by what they are for: BM25 over names, descriptions, names of parameters and values of their lists.

Written here, since what packages of BM25 are for is large collections: they bring numpy, or weigh no fields.

>>> from tacid.catalogue import Tool
>>> Search([Tool("file_read", "Reads a file."), Tool("lamp_set", "Switches a lamp.")]).find("switch the lamps on", 1)
['lamp_set']
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from threading import Lock
from typing import Any

from tacid.catalogue import Tool
from tacid.grammar.content import content_key

#: Characters of a question, and of a description, that are read; names of parameters of one tool.
MAX_QUERY = 2000
MAX_TEXT = 4096
MAX_PARAMETERS = 256
#: Values of one parameter's list that are read.
MAX_VALUES = 64
#: Levels of a schema at which parameters are looked for.
MAX_DEPTH = 6

#: Catalogues whose searches are kept.
CACHED = 16

#: How often a word counts by where it stands.
_NAME, _DESCRIPTION, _PARAMETER, _INNER = 3.0, 2.0, 1.0, 0.5
#: BM25's parameters: how soon more of a word says no more, and how much a long text is discounted.
_K1, _B = 2.0, 0.5

_SELECT = "select:"
_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Scripts that set no spaces between words (Han, kana, Thai, Lao, Khmer, Myanmar).
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ers", "ed", "es", "er", "or", "s", "e", "y")
#: Letters that are left of a word without its ending.
_STEM = 3


class Search:
    """The tools of one catalogue, ready to be searched. 10,000 tools are searched in some milliseconds."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._names: list[str] = []
        self._places: dict[str, list[tuple[int, float]]] = {}
        sizes: list[float] = []
        for number, tool in enumerate(tools):
            self._names.append(tool.name)
            weights: dict[str, float] = {}
            for weight, text in _fields(tool):
                for word, count in Counter(words(text)).items():
                    # Numbers tell tools apart by their names; elsewhere they are examples and limits.
                    if word.isdigit() and weight < _NAME:
                        continue
                    weights[word] = weights.get(word, 0) + weight * count
            sizes.append(sum(weights.values()))
            for word, size in weights.items():
                self._places.setdefault(word, []).append((number, size))
        mean = sum(sizes) / len(sizes) if sizes else 1.0
        self._norms = [_K1 * (1 - _B + _B * size / mean) if mean else _K1 for size in sizes]

    def find(self, query: str, limit: int) -> list[str]:
        """The names of at most ``limit`` tools that fit the query, best first; equals in the order of the catalogue.

        ``select:a,b`` gives exactly the tools of these names.
        """
        query = query[:MAX_QUERY]
        if query.strip().startswith(_SELECT):
            known = set(self._names)
            named = [name.strip() for name in query.strip()[len(_SELECT) :].split(",")]
            return [name for name in dict.fromkeys(named) if name in known][:limit]
        scores: dict[int, float] = {}
        for word in dict.fromkeys(words(query)):
            places = self._places.get(word, ())
            rarity = math.log(1 + (len(self._names) - len(places) + 0.5) / (len(places) + 0.5))
            for number, weight in places:
                scores[number] = scores.get(number, 0.0) + rarity * weight * (_K1 + 1) / (weight + self._norms[number])
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._names[number] for number in best[:limit]]


def search_of(tools: Iterable[Tool]) -> Search:
    """The search of these tools, kept from an earlier time where one says the same."""
    tools = tuple(tools)
    key = content_key([[tool.name, tool.description, tool.parameters] for tool in tools])
    if key is None:
        return Search(tools)
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    search = Search(tools)
    with _LOCK:
        _KEPT[key] = search
        if len(_KEPT) > CACHED:
            _KEPT.popitem(last=False)
    return search


_KEPT: OrderedDict[bytes, Search] = OrderedDict()
_LOCK = Lock()


def words(text: str) -> Iterator[str]:
    """The words of a text as they are compared: humps split, endings gone, pairs of letters where none are spaced."""
    for word in _WORD.findall(_HUMP.sub(" ", unicodedata.normalize("NFKC", text))):
        word = word.casefold()
        if _UNSPACED.search(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            yield _stem(word)


def _stem(word: str) -> str:
    """A word without what its forms differ in; a coarse rule for English that others' words mostly pass unharmed."""
    if not word.isascii():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM and not word.endswith("ss"):
            stem = word[: -len(ending)]
            # "planned", "running": the doubled letter is the ending's.
            return stem[:-1] if len(stem) > _STEM and stem[-1] == stem[-2] and stem[-1] not in "aeiouls" else stem
    return word


def _fields(tool: Tool) -> Iterator[tuple[float, str]]:
    yield _NAME, tool.name
    yield _DESCRIPTION, tool.description[:MAX_TEXT]
    for name, told in islice(_parameters(tool.parameters, MAX_DEPTH), MAX_PARAMETERS):
        yield _PARAMETER, name
        yield _INNER, told[:MAX_TEXT]


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Names of parameters with what is said of them and the values that they may have, those within others too."""
    if not isinstance(schema, Mapping) or depth <= 0:
        return
    members = schema.get("properties")
    for name, inner in members.items() if isinstance(members, Mapping) else ():
        yield name, ""
        yield from _parameters(inner, depth - 1)
    yield from _parameters(schema.get("items"), depth - 1)
    if depth < MAX_DEPTH:
        values = schema.get("enum")
        told = [schema.get("description"), *(values[:MAX_VALUES] if isinstance(values, list) else ())]
        yield "", " ".join(one for one in told if isinstance(one, str))


__all__ = ["Search", "search_of", "words"]
