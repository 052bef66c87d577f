"""A grammar walked character by character, by us: what has been written, what may follow, what must.

Independent of the engine, and of how large the rules are: only what the text reaches is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacid.errors import CompilerBug
from tacid.grammar.nodes import Chars, Gate, Lit, Node
from tacid.grammar.rest import choice_of, rest_of
from tacid.grammar.stacks import LAST_POINT, SURROGATES, Cell, Place, State, open_places, step


class Walk:
    """What a grammar allows after the text fed so far.

    ``rules`` must have passed `tacid.grammar.verify` and not be changed while walks on them live. A gate is a place
    to stop at (`gates`, `choice`, `pass_gate`) unless ``through_gates``, where it is the rule it names.
    """

    def __init__(self, rules: Mapping[str, Node], root: str = "root", *, through_gates: bool = False) -> None:
        if root not in rules:
            raise CompilerBug(f"There is no rule {root} to walk from.")
        self._rules = rules
        self._root = root
        self._through_gates = through_gates
        self._state = self._open([Place().cell(rules[root])])

    def copy(self) -> Walk:
        """Another walk that stands at the same place; neither moves the other."""
        other = object.__new__(Walk)
        other._rules, other._root, other._through_gates = self._rules, self._root, self._through_gates
        other._state = self._state
        return other

    def feed(self, text: str) -> bool:
        """Go on by all of ``text``, or, where the grammar refuses it, stay and return ``False``."""
        state = self._state
        done = 0
        while done < len(text):
            if literal := state.literal():
                count = min(len(literal), len(text) - done)
                if text[done : done + count] != literal[:count]:
                    return False
                state = self._after(state.tops[0], count, len(literal))
                done += count
                continue
            places = step(state.tops, text[done])
            if not places:
                return False
            state = self._open(places)
            done += 1
        self._state = state
        return True

    @property
    def complete(self) -> bool:
        """Whether the text so far may be the whole text."""
        return self._state.complete

    @property
    def gates(self) -> tuple[str, ...]:
        """The rules of the gates right before which the walk stands, each once; several where alternatives meet."""
        return tuple(dict.fromkeys(top.node.name for top in self._state.tops if isinstance(top.node, Gate)))

    def choice(self) -> dict[str, Node]:
        """Rules of what the gates here take, from ``root``: a text of any of their lists. Raises without a gate."""
        if not self.gates:
            raise CompilerBug("The walk stands before no gate, so there is nothing to choose.")
        return choice_of(self.gates, self._rules)

    def pass_gate(self, text: str) -> bool:
        """Go on past each gate here whose rule takes ``text`` as a whole; ``False``, and stay, where none does."""
        passed: dict[str, bool] = {}
        places: list[Place] = []
        for top in self._state.tops:
            if isinstance(top.node, Gate):
                name = top.node.name
                if name not in passed:
                    passed[name] = accepts(self._rules, text, name)
                if passed[name]:
                    places.append(top.below)
        if places:
            self._state = self._open(places)
        return bool(places)

    def allowed(self) -> Chars:
        """The characters that may come next, as one class (not negated, sorted); empty before nothing but gates."""
        ranges: list[tuple[int, int]] = []
        for top in self._state.tops:
            if isinstance(top.node, Lit):
                point = ord(top.node.text[top.at])
                ranges.append((point, point))
            elif isinstance(top.node, Chars):
                ranges.extend(_outside(top.node.ranges) if top.node.negated else top.node.ranges)
        return Chars(_merged(ranges))

    def forced(self, limit: int = 65_536) -> str:
        """The longest text, up to ``limit`` characters, that everything which follows here begins with.

        Empty where there is a choice, where the text may end, and before a gate.
        """
        state = self._state
        parts: list[str] = []
        left = limit
        while left > 0 and not state.complete:
            if literal := state.literal():
                part = literal[:left]
                state = self._after(state.tops[0], len(part), len(literal))
            else:
                nexts = {_only(top) for top in state.tops}
                part = nexts.pop() if len(nexts) == 1 else ""
                if not part:
                    break
                state = self._open(step(state.tops, part))
            parts.append(part)
            left -= len(part)
        return "".join(parts)

    def rest(self) -> dict[str, Node]:
        """Rules of exactly what may still follow, from ``root``: pruned and verified, gates kept.

        Rules of the grammar keep their names, except one called ``root``. Where a text is cut in the middle of a
        rule, what is left of it is in ``root`` and in rules called ``rest…``.
        """
        return rest_of(self._state.places, self._rules)

    def _after(self, top: Cell, count: int, left: int) -> State:
        """The state once ``count`` of the ``left`` characters of the literal at the only top have been matched."""
        if count < left:
            cell = top.below.cell(top.node, top.at + count)
            return State((cell,), (cell,), False)
        return self._open([top.below])

    def _open(self, places: Iterable[Place]) -> State:
        return open_places(places, self._rules, self._through_gates)


def accepts(rules: Mapping[str, Node], text: str, root: str = "root") -> bool:
    """Whether ``text`` as a whole is what ``root`` matches; gates count as the rules they name."""
    walk = Walk(rules, root, through_gates=True)
    return walk.feed(text) and walk.complete


def _only(top: Cell) -> str:
    """The only character that a cell matches, or nothing."""
    node = top.node
    if isinstance(node, Lit):
        return node.text[top.at]
    if (
        isinstance(node, Chars)
        and not node.negated
        and len(node.ranges) == 1
        and node.ranges[0][0] == node.ranges[0][1]
    ):
        return chr(node.ranges[0][0])
    return ""


def _outside(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The complement of sorted ranges, without the surrogates."""
    outside: list[tuple[int, int]] = []
    start = 0
    for low, high in _merged([*ranges, SURROGATES]):
        if start < low:
            outside.append((start, low - 1))
        start = high + 1
    if start <= LAST_POINT:
        outside.append((start, LAST_POINT))
    return outside


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)
