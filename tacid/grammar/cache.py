"""The last grammars, by what they were compiled from: by the catalogue itself, else by what its tools say.

Most requests of one client bring the same tools, each time read anew from JSON.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

from tacid.catalogue import Catalogue, Choice, Schema
from tacid.grammar.content import content_key

if TYPE_CHECKING:
    from tacid.grammar.compile import Grammar


@dataclass(frozen=True, slots=True)
class Settings:
    """What a grammar depends on besides its tools (see `tacid.grammar.compile_catalogue`)."""

    choice: Choice
    open_objects: bool
    max_calls: int
    alone: frozenset[str]
    answer: Schema | None
    max_seconds: float
    max_bytes: int
    apart: bool = False

    def key(self) -> tuple[Any, ...]:
        """The settings but for the answer, which can't be hashed."""
        bounds = self.max_seconds, self.max_bytes, self.apart
        return self.choice.mode, self.choice.name, self.open_objects, self.max_calls, self.alone, *bounds


class Cache:
    """The last grammars; safe to share between threads. Catalogues and schemas are taken as never changed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[Any, ...], Grammar] = OrderedDict()
        #: By catalogue, which may be gone and another one be in its place.
        self._known: OrderedDict[tuple[Any, ...], tuple[ref[Catalogue], Schema | None, Grammar]] = OrderedDict()
        self._lock = Lock()

    def get(self, catalogue: Catalogue, settings: Settings) -> Grammar | None:
        """The grammar of this catalogue, or of one that says the same."""
        place = (id(catalogue), *settings.key())
        with self._lock:
            known = self._known.get(place)
            if known is not None and known[0]() is catalogue and known[1] is settings.answer:
                return known[2]
        key = _key(catalogue, settings)
        if key is None:
            return None
        with self._lock:
            grammar = self._kept.get(key)
            if grammar is not None:
                self._kept.move_to_end(key)
                self._remember(place, catalogue, settings, grammar)
            return grammar

    def put(self, catalogue: Catalogue, settings: Settings, grammar: Grammar) -> None:
        """Keep a grammar."""
        key = _key(catalogue, settings)
        if key is None:
            return
        with self._lock:
            self._kept[key] = grammar
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
            self._remember((id(catalogue), *settings.key()), catalogue, settings, grammar)

    def _remember(self, place: tuple[Any, ...], catalogue: Catalogue, settings: Settings, grammar: Grammar) -> None:
        self._known[place] = (ref(catalogue), settings.answer, grammar)
        self._known.move_to_end(place)
        while len(self._known) > self._size:
            self._known.popitem(last=False)


def _key(catalogue: Catalogue, settings: Settings) -> tuple[Any, ...] | None:
    tools = content_key([[tool.name, tool.parameters] for tool in catalogue])
    answer = content_key(settings.answer)
    return None if tools is None or answer is None else (tools, answer, *settings.key())
