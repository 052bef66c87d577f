"""The grammar as a tree: seven kinds of node, and rules that name them.

Nodes hold the characters that are to be matched, never GBNF spelling; `tacid.grammar.printer` alone writes that. A
node is never changed once it is made (the type checker holds us to it; a frozen dataclass would take twice as long to
make, and most of the compiler's time goes into making these).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from tacid.grammar.look import Look, Part


@dataclass(slots=True, eq=False)
class _Branch:
    """A node with further ones in it, which keeps what has been found out about it."""

    hashed: int | None = field(default=None, init=False, repr=False, compare=False)
    #: What a pass over the node as a rule found (see `tacid.grammar.look`).
    look: Look | None = field(default=None, init=False, repr=False, compare=False)
    #: The same of the node as a part of rules; only for nodes that many grammars share.
    part: Part | None = field(default=None, init=False, repr=False, compare=False)
    #: How the node prints as a rule, and the names in that (see `tacid.grammar.printer`).
    printed: tuple[str, tuple[str, ...]] | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(slots=True, unsafe_hash=True)
class Lit:
    """Exactly this text. No lone surrogates, no NUL."""

    text: Final[str]


@dataclass(slots=True, unsafe_hash=True)
class Chars:
    """One character within (or, ``negated``, outside) ``ranges`` of code points, inclusive, sorted, disjoint."""

    ranges: Final[tuple[tuple[int, int], ...]]
    negated: Final[bool] = False


@dataclass(slots=True)
class Seq(_Branch):
    """All of ``items``, one after another; ``Seq(())`` is the empty text."""

    items: Final[tuple[Node, ...]]

    def __hash__(self) -> int:
        return _hash(self, self.items)


@dataclass(slots=True)
class Alt(_Branch):
    """One of ``options``; at least one."""

    options: Final[tuple[Node, ...]]

    def __hash__(self) -> int:
        return _hash(self, self.options)


@dataclass(slots=True)
class Repeat(_Branch):
    """``item`` at least ``min`` and at most ``max`` times (``None``: without bound)."""

    item: Final[Node]
    min: Final[int] = 0
    max: Final[int | None] = None

    def __hash__(self) -> int:
        return _hash(self, (self.item, self.min, self.max))


@dataclass(slots=True, unsafe_hash=True)
class Ref:
    """The rule of this name."""

    name: Final[str]


@dataclass(slots=True, unsafe_hash=True)
class Gate:
    """A choice of its own: what is too large for one request's grammar, a list or the arguments of a tool.

    The text up to here is sampled under the whole grammar, the choice under the grammar of rule ``name`` alone, and
    what follows under the rest of the whole grammar (see `tacid.grammar.walk`). Printed, a gate is a newline,
    which canonical JSON text never holds: the engine is told to stop there.
    """

    name: Final[str]


Node: TypeAlias = Lit | Chars | Seq | Alt | Repeat | Ref | Gate

EMPTY = Seq(())


def _hash(node: _Branch, parts: tuple[object, ...]) -> int:
    found = node.hashed
    if found is None:
        found = node.hashed = hash(parts)
    return found
