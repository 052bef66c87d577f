"""A language as grammar: one rule for each state that several ways lead to, all else in its place.

What comes out is deterministic, so the engine has one stack for it. Chains of states that count come out as bounded
repeats, loops as stars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass

from tacid.grammar.limits import TREE_GROUPS
from tacid.grammar.nodes import EMPTY, Chars, Lit, Node, Ref
from tacid.grammar.shapes import alt, count, optional, seq
from tacid.grammar.spelling import spelled
from tacid.patterns.charset import ALL, Ranges, union
from tacid.patterns.language import DEAD, Language

#: Sequences and choices within each other that one rule holds.
_DEEP = TREE_GROUPS // 2


def language_node(
    language: Language,
    *,
    parts: MutableMapping[str, Node],
    name: Callable[[], str],
    named: Callable[[Node], Node],
    tail: Node = EMPTY,
) -> Node:
    """The inside of a JSON string with a text of ``language``, which isn't empty, then ``tail``.

    Rules that refer to each other go into ``parts``, under names from ``name``; ``named`` makes a rule of a set of
    characters or a count. Time and size are linear in the automaton.
    """
    return _Writer(language, parts, name, named, tail).write()


@dataclass(frozen=True, slots=True)
class _Step:
    """``count`` characters of a set, then the state ``to``."""

    ranges: Ranges
    count: int
    to: int


@dataclass(slots=True)
class _Form:
    """A state: first any number of ``loop``, or at most ``most`` of it; then a step, or the end."""

    loop: Ranges
    most: int | None
    steps: list[_Step]
    ends: bool


class _Writer:
    def __init__(
        self,
        language: Language,
        parts: MutableMapping[str, Node],
        name: Callable[[], str],
        named: Callable[[Node], Node],
        tail: Node,
    ) -> None:
        self.parts = parts
        self.name = name
        self.named = named
        self.tail = tail
        self.sets: dict[Ranges, Node] = {}
        self.edges = [_edges(language, state) for state in range(len(language.rows))]
        self.accepting = language.accepting
        self.into = _into(self.edges)
        self.broken: set[tuple[int, Ranges]] = set()
        self.forms = _forms(self)
        self.heads: dict[int, str] = {}
        self.waiting: list[int] = []
        uses = [0] * len(self.edges)
        uses[0] = 1
        for form in self.forms.values():
            for step in form.steps:
                uses[step.to] += 1
        self.uses = uses

    def write(self) -> Node:
        start = self.place(0, 0)
        while self.waiting:
            state = self.waiting.pop()
            self.parts[self.heads[state]] = self.text(state, 0)
        return start

    def place(self, state: int, depth: int) -> Node:
        """What stands where a state is come to: its text, or a reference to it."""
        form = self.forms[state]
        short = not form.steps and (not form.loop or form.loop == ALL)
        if short or (self.uses[state] == 1 and depth < _DEEP):
            return self.text(state, depth)
        if state not in self.heads:
            self.heads[state] = self.name()
            self.waiting.append(state)
        return Ref(self.heads[state])

    def text(self, state: int, depth: int) -> Node:
        items: list[Node] = []
        while True:
            form = self.forms[state]
            if form.loop:
                items.append(self.counted(form.loop, 0, form.most))
            if not form.steps:
                return seq(*items, self.tail)
            if form.ends or len(form.steps) > 1:
                break
            step = form.steps[0]
            items.append(self.counted(step.ranges, step.count, step.count))
            state = step.to
            if self.uses[state] > 1:
                return seq(*items, self.place(state, depth))
        options = [
            seq(self.counted(step.ranges, step.count, step.count), self.place(step.to, depth + 1))
            for step in form.steps
        ]
        if not form.ends:
            items.append(alt(options))
        elif self.tail == EMPTY:
            items.append(optional(alt(options)))
        else:
            items.append(alt([*options, self.tail]))
        return seq(*items)

    def counted(self, ranges: Ranges, least: int, most: int | None) -> Node:
        if ranges not in self.sets:
            self.sets[ranges] = spelled(ranges, self.named)
        item = self.sets[ranges]
        if least == most == 1:
            return item
        if not isinstance(item, (Chars, Lit, Ref)) and (least, most) != (0, None):
            item = self.named(item)
        return count(item, least, most, self.named)


def _edges(language: Language, state: int) -> dict[int, Ranges]:
    """Where a state leads, each with the set of characters that do, in the order of the sets."""
    found: dict[int, list[Ranges]] = {}
    for ranges, to in zip(language.classes, language.rows[state], strict=True):
        if to != DEAD:
            found.setdefault(to, []).append(ranges)
    edges = {to: sets[0] if len(sets) == 1 else union(*sets) for to, sets in found.items()}
    if len(edges) == 1 and len(language.classes) == sum(len(sets) for sets in found.values()):
        return dict.fromkeys(edges, ALL)
    return dict(sorted(edges.items(), key=lambda pair: pair[1]))


def _into(edges: list[dict[int, Ranges]]) -> list[int]:
    """From how many other states each is come to; the first also from outside."""
    into = [0] * len(edges)
    into[0] = 1
    for state, out in enumerate(edges):
        for to in out:
            into[to] += to != state
    return into


def _forms(writer: _Writer) -> Mapping[int, _Form]:
    """The states that are left once chains that count are taken together."""
    forms: dict[int, _Form] = {}
    waiting = [0]
    while waiting:
        state = waiting.pop()
        if state in forms:
            continue
        form = forms[state] = _form(writer, state)
        waiting.extend(step.to for step in form.steps)
    return forms


def _form(writer: _Writer, state: int) -> _Form:
    edges, accepting = writer.edges, writer.accepting
    loop: Ranges = edges[state].get(state, ())
    most: int | None = None
    out = {to: ranges for to, ranges in edges[state].items() if to != state}
    if not loop:
        for to, ranges in out.items():
            length = _chain(writer, state, to, ranges)
            if length:
                loop, most = ranges, length
                del out[to]
                break
    steps = []
    for to, ranges in out.items():
        length = 1
        while (
            writer.into[to] == 1
            and not accepting[to]
            and len(edges[to]) == 1
            and (ahead := next(iter(edges[to].items())))[1] == ranges
            and ahead[0] != to
        ):
            to = ahead[0]
            length += 1
        steps.append(_Step(ranges, length, to))
    return _Form(loop, most, steps, accepting[state])


def _chain(writer: _Writer, state: int, to: int, ranges: Ranges) -> int:
    """How many times ``ranges`` may come from ``state`` on before what may come without it; 0 for no such chain."""
    edges, accepting = writer.edges, writer.accepting
    rest = {other: part for other, part in edges[state].items() if other != to}
    ends = accepting[state]
    if not rest and not ends:
        return 0
    passed: list[tuple[int, Ranges]] = []
    while (state, ranges) not in writer.broken:
        passed.append((state, ranges))
        if writer.into[to] != 1 or accepting[to] != ends or to in rest:
            break
        if edges[to] == rest:
            return len(passed)
        more = [other for other, part in edges[to].items() if part == ranges and other not in rest and other != to]
        if len(more) != 1 or {o: p for o, p in edges[to].items() if o != more[0]} != rest:
            break
        state, to = to, more[0]
    # Where a chain breaks off, so does any that begins further on in it.
    writer.broken.update(passed)
    return 0
