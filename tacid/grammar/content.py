"""JSON values as keys of dictionaries, and what is kept by the content of tools."""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

from tacid.catalogue import Tool

#: The form of `marshal` that says the same of equal content, whichever objects it is made of.
_MARSHAL = 2

T = TypeVar("T")


def content_key(value: Any) -> bytes | None:
    """Bytes that are equal for equal JSON; ``None`` for what has none (too deep, or no JSON)."""
    try:
        return marshal.dumps(value, _MARSHAL)
    except ValueError:
        return None


class Kept(Generic[T]):
    """The last things that were made of tools, by what the tools say; safe to share between threads.

    Most requests of one client bring the same tools, each time read anew. The tools themselves are not kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[bytes, Hashable], T] = OrderedDict()
        self._lock = Lock()

    def of(self, tools: Sequence[Tool], settings: Hashable, make: Callable[[], T]) -> T:
        """What was made of these tools under these settings, or what ``make`` makes of them now."""
        content = content_key([[tool.name, tool.description, tool.parameters] for tool in tools])
        if content is None:
            return make()
        key = (sha256(content).digest(), settings)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made
