"""One allow-list and the field that it is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Narrowing:
    """The field may only hold one of the names in ``to``, where every tag in ``when`` has the value given there.

    ``field`` is a property's name; with ``[]`` at its end the items of that list are meant. Without ``when`` it is a
    member of the tool's own arguments, with ``when`` of any object in them. ``tool`` limits it to one tool. An empty
    ``to`` narrows nothing. ``required``: finding no place for it is an error, and so is an object of which can't be
    told whether it is one.
    """

    field: str
    to: tuple[str, ...]
    when: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tool: str | None = None
    required: bool = False

    @property
    def name(self) -> str:
        """The property, without the ``[]``."""
        return self.field.rstrip("[]")

    @property
    def lists(self) -> int:
        """How many lists deep the names stand."""
        return self.field[len(self.name) :].count("[]")


__all__ = ["Narrowing"]
