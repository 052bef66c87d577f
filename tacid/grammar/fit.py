"""One schema compiled within bounds of time and size: where it goes over one, its costliest parts become any JSON.

First the parts that cost most, more of them each time; then every part without a list of values, first down to its
type, at last as a whole. A list of values, which the machine may have put there, is never widened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any

from tacid.catalogue import Schema
from tacid.deadline import OutOfTime, within
from tacid.grammar import limits
from tacid.grammar.context import Builder, Compiled, Nothing, Scope, TooLarge
from tacid.grammar.dispatch import dispatch
from tacid.grammar.primitives import OBJECT, VALUE
from tacid.grammar.report import Widening
from tacid.jsontext import MAX_DEPTH
from tacid.schema.plainly import Kept, plainly

#: Seconds and bytes that a compile may take where nothing else is said.
MAX_SECONDS = 2.0
MAX_BYTES = 1024 * 1024
#: Of what is left, one schema of several may take so many times its part of all their text …
_SHARES = 4
#: … and at most so much, of the bytes also a single schema.
_MAX_SHARE = 0.5
#: What is kept for putting the whole together: of the time, of the bytes.
_FINISH_SECONDS, _FINISH_BYTES = 0.1, 0.125
#: Of a schema's time: what attempts with some parts widened may take together, and one of them of what they have left.
_ATTEMPTS, _ATTEMPT = 0.8, 0.7
#: Attempts with one part more widened, then two, four, and so on.
_TRIES = 8
#: A part within another is what costs if it takes so much of what the other takes.
_MOSTLY = 0.8
#: Printed bytes of one list from which it becomes a gate, where the grammar would be too large otherwise.
_SMALL_GATE = 8 * 1024
#: What of a schema is compiled where that isn't enough, the part of its time that this may take at least, and what is
#: said of it.
_PLAINER: tuple[tuple[Kept, float, str], ...] = (
    ("parts", 0.1, "no conditions, exclusions and counts of members in it are held"),
    ("types", 0.06, "only its lists of values and types are held"),
    ("lists", 0.04, "only its lists of values are held"),
)


@dataclass(frozen=True, slots=True)
class Share:
    """Seconds and bytes of grammar that one schema may take."""

    seconds: float
    bytes: int


class Bounds:
    """The time and the bytes of one grammar, begun now, and what of them is left for the schemas still to come.

    ``grammars``: so many times as much, where what is compiled are several grammars, none larger than one may be.
    """

    def __init__(self, seconds: float, size: int, grammars: float = 1) -> None:
        self._ends = thread_time() + seconds * grammars * (1 - _FINISH_SECONDS)
        self._most = int(min(size, limits.MAX_GRAMMAR_BYTES) * (1 - _FINISH_BYTES))
        self._bytes = int(self._most * grammars)

    def share(self, builder: Builder, part: float = 1) -> Share:
        """What a schema may take that is so large a part of those still to come."""
        wanted = min(part * _SHARES, _MAX_SHARE)
        seconds = max(self._ends - thread_time(), 0)
        size = min(int(max(self._bytes - builder.bytes, 0) * wanted), int(self._most * _MAX_SHARE))
        return Share(seconds if part == 1 else seconds * wanted, size)


def fitted(
    builder: Builder, schema: Schema, index: int, tool: str | None, open_objects: bool, share: Share
) -> tuple[Compiled, tuple[Widening, ...]]:
    """Compile one schema within its share, widened as far as that takes."""
    fit = _Fit(builder, index, tool, share)
    forced: frozenset[str] = frozenset()
    cut: tuple[Widening, ...] = ()
    started, most = thread_time(), share.seconds * _ATTEMPTS
    left = most
    for attempt in range(_TRIES):
        if left < most / 50 and attempt:
            break
        try:
            scope = fit.scope(schema, open_objects, forced)
            with within(left * _ATTEMPT):
                return scope.compile(), (*cut, *scope.widenings.values())
        except RecursionError:
            schema = _cut(schema, MAX_DEPTH)
            cut = (Widening(tool, "", "", f"the schema nests deeper than {MAX_DEPTH}; below, any JSON is admitted"),)
        except (TooLarge, OutOfTime) as error:
            late = isinstance(error, OutOfTime)
            costliest = _costliest(scope, 2**attempt, late, inner=not (late and attempt))
            left = most - (thread_time() - started)
            if not costliest:
                break
            forced |= costliest
    return fit.plain(_cut(schema, MAX_DEPTH), left)


@dataclass(frozen=True, slots=True)
class _Fit:
    builder: Builder
    index: int
    tool: str | None
    share: Share

    def scope(self, schema: Schema, open_objects: bool, forced: frozenset[str], gate: int = limits.GATE_BYTES) -> Scope:
        return Scope(
            self.builder,
            schema,
            dispatch,
            index=self.index,
            tool=self.tool,
            open_objects=open_objects,
            forced=forced,
            max_bytes=self.share.bytes,
            gate_bytes=gate,
        )

    def plain(self, schema: Schema, seconds: float) -> tuple[Compiled, tuple[Widening, ...]]:
        """Less and less of the schema, as `_PLAINER` has it; at last any JSON where it has no lists of values."""
        whole = self.scope(schema, True, frozenset())
        for kept, part, held in _PLAINER:
            left = plainly(whole.root, whole.resolver, kept)
            scope = self.scope(left, True, frozenset(), _SMALL_GATE)
            try:
                with within(max(seconds, self.share.seconds * part)):
                    compiled = scope.compile()
                why = self.widened(f"the schema is too large, so {held}")
                return compiled, (why, *scope.widenings.values())
            except (TooLarge, OutOfTime, RecursionError):
                seconds = 0
        if _lists_values(whole, schema):
            return Nothing("", "its lists of values are too large, or too tangled with each other, for one grammar"), ()
        anything = OBJECT if isinstance(schema, Mapping) and schema.get("type") == "object" else VALUE
        return anything, (self.widened("the schema is too large, so any JSON is admitted"),)

    def widened(self, reason: str) -> Widening:
        return Widening(self.tool, "", "", reason)


def _cut(schema: Any, depth: int) -> Any:
    """The schema with what nests deeper than ``depth`` replaced by a schema about nothing."""
    if not isinstance(schema, (Mapping, list)):
        return schema
    if depth == 0:
        return True
    if isinstance(schema, list):
        return [_cut(item, depth - 1) for item in schema]
    return {key: _cut(value, depth - 1) for key, value in schema.items()}


def _costliest(scope: Scope, count: int, time: bool, inner: bool) -> frozenset[str]:
    """Pointers of so many parts that took most, of those that hold no list of values; never the whole.

    With ``inner`` the innermost that takes most of what such a part takes: what stands around it may be kept.
    """
    costs = {p: (cost.seconds if time else cost.work, cost.schema) for p, cost in scope.costs.items() if p}
    ranked = sorted(costs, key=lambda pointer: -costs[pointer][0])
    chosen: list[str] = []
    for pointer in ranked:
        if len(chosen) == count:
            break
        if _within(pointer, chosen) or _lists_values(scope, costs[pointer][1]):
            continue
        mostly = [p for p in _inside(pointer, ranked) if inner and costs[p][0] >= _MOSTLY * costs[pointer][0]]
        chosen.append(next((p for p in reversed(mostly) if not _lists_values(scope, costs[p][1])), pointer))
    return frozenset(chosen)


def _within(pointer: str, chosen: list[str]) -> bool:
    return any(pointer == one or pointer.startswith(f"{one}/") or one.startswith(f"{pointer}/") for one in chosen)


def _inside(pointer: str, pointers: list[str]) -> Iterator[str]:
    return (one for one in pointers if one.startswith(f"{pointer}/"))


def _lists_values(scope: Scope, schema: Any) -> bool:
    """Whether an ``enum`` stands anywhere in a schema, or in what it refers to."""
    waiting, seen = [schema], set[str]()
    while waiting:
        place = waiting.pop()
        if isinstance(place, Mapping):
            if isinstance(place.get("enum"), list):
                return True
            target = scope.target(place.get("$ref"))
            if target is not None and target[0] not in seen:
                seen.add(target[0])
                waiting.append(target[1])
            waiting.extend(place.values())
        elif isinstance(place, list):
            waiting.extend(place)
    return False
