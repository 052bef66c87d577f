"""What a grammar's report says: where it admits more than the schema, which tools it leaves out, how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tacid.catalogue import LeftOut

__all__ = ["LeftOut", "Report", "Widening"]


@dataclass(frozen=True, slots=True)
class Widening:
    """A place where the grammar admits more than the schema says.

    ``pointer`` is the JSON Pointer (RFC 6901) into the tool's parameters, or into the target of a reference;
    ``keyword`` the one that isn't held. ``tool`` is ``None`` where a bare schema was compiled.
    """

    tool: str | None
    pointer: str
    keyword: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Widenings, tools left out, and bytes of grammar by tool (shared rules count where they were first needed).

    ``sizes`` has a tool's name for each tool, and ``""`` for what belongs to none (envelope and primitives).
    """

    widenings: tuple[Widening, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
