"""The grammar as a tree: seven kinds of node, and rules that name them.

Nodes hold the characters that are to be matched, never GBNF spelling; `tacid.grammar.printer` alone writes that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Lit:
    """Exactly this text. No lone surrogates, no NUL."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character within (or, ``negated``, outside) ``ranges`` of code points, inclusive, sorted, disjoint."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Seq:
    """All of ``items``, one after another; ``Seq(())`` is the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """One of ``options``; at least one."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``item`` at least ``min`` and at most ``max`` times (``None``: without bound)."""

    item: Node
    min: int = 0
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """The rule of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Gate:
    """A choice of its own: a list too large for one request's grammar.

    The text up to here is sampled under the whole grammar, the choice under the grammar of rule ``name`` alone, and
    what follows under the rest of the whole grammar (see `tacid.grammar.walk`). Printed, a gate is a newline,
    which canonical JSON text never holds: the engine is told to stop there.
    """

    name: str


Node: TypeAlias = Lit | Chars | Seq | Alt | Repeat | Ref | Gate

EMPTY = Seq(())
