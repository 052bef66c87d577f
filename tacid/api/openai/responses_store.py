"""Responses that were given, kept for ``previous_response_id``: bounded, and each key's for itself.

In memory only: after a restart nothing is known any more, which a client must be able to bear anyhow.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacid.api.sse import json_line
from tacid.chat import Message

#: What is counted for a message and for a call beside their texts; arguments weigh more in memory than as text.
_MESSAGE_BYTES = 256
_ARGUMENTS_WEIGHT = 6


@dataclass(frozen=True, slots=True)
class Kept:
    """One response: its body as JSON text, the conversation up to it and with it, the ids of its items, its bytes."""

    body: bytes
    messages: tuple[Message, ...]
    items: tuple[str, ...]
    size: int


class ResponseStore:
    """At most ``responses`` responses and ``size`` bytes of all owners together.

    Where there are too many, the owner with the most bytes loses what it has used least lately, so that one client
    can't push out the others'. Every response counts with its whole conversation, though those of one chain share
    it: the bound holds for memory, and rather too early than too late.
    """

    def __init__(self, responses: int = 1000, size: int = 64 * 1024 * 1024) -> None:
        self._most = responses
        self._bytes = size
        self._owners: dict[str, Shelf] = {}

    def shelf(self, owner: str) -> Shelf:
        """The responses of one owner, the name of a key say; nobody else's can be had from it."""
        return self._owners.setdefault(owner, Shelf(self))

    def __len__(self) -> int:
        return sum(len(shelf) for shelf in self._owners.values())

    @property
    def size(self) -> int:
        """Bytes that are held, as they are counted."""
        return sum(shelf.size for shelf in self._owners.values())

    def make_room(self) -> None:
        """Forget until the bounds hold."""
        while len(self) > self._most or self.size > self._bytes:
            max(self._owners.values(), key=lambda each: each.size).forget_oldest()


class Shelf:
    """The responses of one owner, the least lately used first; got from `ResponseStore.shelf`."""

    def __init__(self, store: ResponseStore) -> None:
        self.size = 0
        self._store = store
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._items: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, body: Mapping[str, Any], messages: tuple[Message, ...]) -> None:
        """Keep a response under its ``id``. One that is larger than the whole store is forgotten at once."""
        text = json_line(body)
        items = tuple(item["id"] for item in body["output"])
        self._forget(body["id"])
        kept = Kept(text, messages, items, len(text) + sum(_size(message) for message in messages))
        self._kept[body["id"]] = kept
        self._items |= dict.fromkeys(items, body["id"])
        self.size += kept.size
        self._store.make_room()

    def find(self, identity: str) -> Kept | None:
        """The response of this id, which is thereby the one used last; none where it isn't there or another's."""
        if identity in self._kept:
            self._kept.move_to_end(identity)
        return self._kept.get(identity)

    def body(self, identity: str) -> dict[str, Any] | None:
        """The body of a response, as ``GET /v1/responses/{id}`` tells it."""
        kept = self.find(identity)
        return None if kept is None else dict(json.loads(kept.body))

    def item(self, identity: str) -> dict[str, Any] | None:
        """The item of this id in the output of a response."""
        body = self.body(self._items.get(identity, ""))
        return next((item for item in body["output"] if item["id"] == identity), None) if body else None

    def drop(self, identity: str) -> bool:
        """Forget a response; whether it was there."""
        return self._forget(identity)

    def forget_oldest(self) -> None:
        """Forget the one that was used least lately."""
        self._forget(next(iter(self._kept)))

    def _forget(self, identity: str) -> bool:
        kept = self._kept.pop(identity, None)
        if kept is None:
            return False
        self.size -= kept.size
        for item in kept.items:
            self._items.pop(item, None)
        return True


def _size(message: Message) -> int:
    calls = sum(
        _MESSAGE_BYTES + _ARGUMENTS_WEIGHT * len(call.text.encode("utf-8", "replace")) for call in message.calls
    )
    return _MESSAGE_BYTES + len(message.content.encode("utf-8", "replace")) + calls


__all__ = ["Kept", "ResponseStore", "Shelf"]
