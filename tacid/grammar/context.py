"""What the handlers of keywords share while a schema is compiled: rules, references, widenings, bounds.

A `Builder` holds the rules of a whole grammar; a `Scope` compiles the one schema of one tool into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any, NamedTuple, TypeAlias

from tacid.catalogue import Schema
from tacid.deadline import OutOfTime, check
from tacid.grammar.content import content_key
from tacid.grammar.look import look_of
from tacid.grammar.nodes import Gate, Lit, Node, Ref, Seq
from tacid.grammar.primitives import OBJECT, PRIMITIVES, VALUE
from tacid.grammar.report import Widening
from tacid.grammar.shapes import alt, weight
from tacid.grammar.tidy import tidied
from tacid.patterns.regions import Regions
from tacid.schema.flat import Flattener
from tacid.schema.keywords import ASSERTING, OURS
from tacid.schema.refs import Resolver
from tacid.schema.resources import standalone

#: Schemas within schemas that are compiled; below it stands any JSON. Each level is a handful of Python frames.
MAX_SCHEMA_DEPTH = 64
#: Schemas that the compiler looks at for one tool, those made by merging included.
MAX_WORK = 20_000

NOT_HELD = "the grammar doesn't hold this keyword; arguments are checked against it afterwards"


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value fits the schema at ``pointer``, because of ``reason`` (a clause, without a full stop)."""

    pointer: str
    reason: str


Compiled: TypeAlias = Node | Nothing


@dataclass(slots=True)
class Cost:
    """The work and text, and the seconds, that the schema at one pointer took."""

    schema: Schema
    work: int = 0
    seconds: float = 0.0


class TooLarge(Exception):
    """A schema went over a bound of one tool; some part of it must be widened."""


def _any_of(schema: Mapping[str, Any]) -> Ref:
    """Any JSON; any object where the schema says that it is one, as the arguments of a tool always are."""
    return OBJECT if schema.get("type") == "object" else VALUE


class _Pending:
    """A rule whose name is taken while its schema is still being compiled."""

    __slots__ = ("name", "used")

    def __init__(self) -> None:
        self.name = ""
        self.used = False


class Mark(NamedTuple):
    """How much a builder held at one time: the number of its rules, and what it counts."""

    rules: int
    bytes: int
    squares: int
    ways: int
    pattern_cost: int


class Builder:
    """The rules of one grammar; equal rules are one, under the name of the first that needed it."""

    def __init__(self) -> None:
        self.rules: dict[str, Node] = dict(PRIMITIVES)
        self.bytes = 0
        #: Squares of the numbers of optional members (see `tacid.grammar.objects`).
        self.squares = 0
        #: Ways between the states of lists (see `tacid.grammar.tally`).
        self.ways = 0
        #: Work that patterns have taken.
        self.pattern_cost = 0
        #: Nodes of lists of values, and of patterns.
        self.lists: dict[tuple[str, ...], Node] = {}
        self._by_node: dict[Node, Ref] = {}

    def rule(self, name: str, node: Node) -> Ref:
        """A reference to a rule that is this node."""
        if isinstance(node, Ref):
            return node
        if self.rules.get(name) is node:
            return Ref(name)
        made = Ref(name)
        known = self._by_node.setdefault(node, made)
        if known is made:
            self.put(name, node)
        return known

    def have(self, name: str, node: Node) -> None:
        """Make sure that there is the rule of this name, which is the same in every grammar."""
        if self.rules.get(name) is not node:
            self._by_node.setdefault(node, Ref(name))
            self.put(name, node)

    def put(self, name: str, node: Node) -> None:
        """Set the rule of a name that was taken before."""
        self.rules[name] = node
        self.bytes += len(name) + 6 + weight(node)

    def drop(self, names: list[str]) -> None:
        """Forget rules that nothing refers to any more."""
        for name in names:
            node = self.rules.pop(name, None)
            if node is not None and self._by_node.get(node) == Ref(name):
                del self._by_node[node]

    def mark(self) -> Mark:
        """Where the builder stands, to come back to."""
        return Mark(len(self.rules), self.bytes, self.squares, self.ways, self.pattern_cost)

    def back_to(self, mark: Mark) -> None:
        """Forget what was made, and counted, since the builder stood at a mark."""
        self.drop(self.since(mark.rules))
        _, self.bytes, self.squares, self.ways, self.pattern_cost = mark

    def since(self, mark: int) -> list[str]:
        """Names of the rules made since there were ``mark`` rules."""
        return list(self.rules)[mark:]


class Scope:
    """Compiles one schema document into a builder's rules.

    ``forced`` are pointers of schemas that are to be widened to any JSON, because the whole was too large.
    """

    def __init__(
        self,
        builder: Builder,
        root: Schema,
        dispatch: Handler,
        *,
        index: int,
        tool: str | None,
        open_objects: bool,
        forced: frozenset[str] = frozenset(),
        max_bytes: int,
        gate_bytes: int,
    ) -> None:
        self.builder = builder
        self.root = root = standalone(root)
        self.dispatch = dispatch
        self.index = index
        self.tool = tool
        self.open_objects = open_objects
        self.forced = forced
        self.resolver = Resolver(root)
        self.flattener = Flattener(self.resolver, self.tick)
        self.widenings: dict[tuple[str, str], Widening] = {}
        #: How much work and text each schema took, and what it says; for choosing what to widen.
        self.costs: dict[str, Cost] = {}
        #: Printed bytes of one list of values from which it becomes a gate.
        self.gate_bytes = gate_bytes
        self.depth = 0
        self.work = 0
        self.stop = builder.bytes + max_bytes
        self._made = 0
        self._memo: dict[str | bytes, Compiled | _Pending] = {}
        self._discarded = False
        self._looped = False
        #: Names of members, parted by the patterns that they fit; by these and the names that are declared.
        self.parted: dict[tuple[tuple[str, ...], frozenset[str]], Regions | None] = {}
        #: Pointers of schemas that are being compiled.
        self._within: set[str] = set()

    def compile(self) -> Compiled:
        """The node of the whole document. Rules that a dead end left behind are gone again.

        Raises `TooLarge` where the schema goes over a bound, `OutOfTime` within a deadline, ``RecursionError`` where it
        nests too deep; its rules are gone then too.
        """
        mark = self.builder.mark()
        try:
            compiled = self.node(self.root, "")
            if self.builder.bytes + (0 if isinstance(compiled, Nothing) else weight(compiled)) > self.stop:
                raise TooLarge
            if isinstance(compiled, Nothing):
                self.builder.back_to(mark)
            elif self._looped or self._discarded:
                compiled = self._tidy(compiled, mark.rules)
        except (TooLarge, OutOfTime, RecursionError):
            self.builder.back_to(mark)
            raise
        return compiled

    def node(self, schema: Any, pointer: str) -> Compiled:
        """The node of one schema; ``pointer`` is where it stands."""
        if schema is True:
            return VALUE
        if schema is False:
            return Nothing(pointer, "the schema is false")
        if not isinstance(schema, Mapping):
            self.widen(pointer, "", "this is no JSON Schema, so any JSON is admitted")
            return VALUE
        if pointer in self.forced:
            self.widen(pointer, "", "the schema is too large here, so any JSON is admitted")
            return _any_of(schema)
        if self.depth >= MAX_SCHEMA_DEPTH:
            self.widen(pointer, "", f"schemas nest deeper than {MAX_SCHEMA_DEPTH} here, so any JSON is admitted")
            return _any_of(schema)
        self.tick()
        if self.builder.bytes > self.stop:
            raise TooLarge
        before, rules = self.work + self.builder.bytes, len(self.builder.rules)
        started = thread_time()
        outermost = pointer not in self._within
        self._within.add(pointer)
        self.depth += 1
        try:
            compiled = self.dispatch(self, schema, pointer)
            if isinstance(compiled, Nothing) and len(self.builder.rules) > rules:
                self.discard()
            return compiled
        finally:
            self.depth -= 1
            cost = self.work + self.builder.bytes - before
            seconds = thread_time() - started
            if outermost:
                self._within.discard(pointer)
            if outermost and (cost > 200 or seconds > 0.002):
                known = self.costs.setdefault(pointer, Cost(schema))
                known.work += cost
                known.seconds += seconds

    def once(self, key: str | bytes, schema: Schema, pointer: str) -> Compiled:
        """The node of a schema that may come to itself again: its rule's name is taken before it is compiled."""
        known = self._memo.get(key)
        if isinstance(known, _Pending):
            known.used = self._looped = True
            if not known.name:
                known.name = self.name("ref")
                # Holds the rule's place among the rules, so that the order is that of first need.
                self.builder.rules[known.name] = Lit("")
            return Ref(known.name)
        if known is not None:
            return known
        pending = self._memo[key] = _Pending()
        compiled = self.node(schema, pointer)
        if pending.used:
            self.builder.put(pending.name, alt(()) if isinstance(compiled, Nothing) else compiled)
            compiled = Ref(pending.name)
        elif not isinstance(compiled, (Nothing, Ref, Lit, Gate)):
            compiled = self.rule("ref", compiled)
        self._memo[key] = compiled
        return compiled

    def merged(self, schema: Schema, pointer: str) -> Compiled:
        """The node of a schema made by merging; the same content is compiled once, so that recursion ends."""
        key = content_key(schema)
        if key is None:
            raise TooLarge
        return self.once(key, schema, pointer)

    def name(self, kind: str) -> str:
        """A fresh rule name."""
        self._made += 1
        return f"{kind}-{self.index}-{self._made}"

    def rule(self, kind: str, node: Node) -> Ref:
        """A reference to a rule with this node, new or known."""
        return self.builder.rule(self.name(kind), node)

    def small(self, kind: str, node: Node) -> Node:
        """The node itself where it is about as short as a reference, else a reference to its rule."""
        if isinstance(node, (Ref, Lit, Gate)) or (isinstance(node, Seq) and not node.items):
            return node
        return self.rule(kind, node)

    def listed(self, node: Node, parts: Mapping[str, Node]) -> Ref:
        """A reference to a rule with this node, which needs further rules ``parts``."""
        for name, part in parts.items():
            self.builder.put(name, part)
        return self.rule("enum", node)

    def gate(self, node: Node, parts: Mapping[str, Node]) -> Gate:
        """A choice of its own; its text isn't part of the whole grammar's and doesn't count for its size."""
        size = self.builder.bytes
        gate = Gate(self.listed(node, parts).name)
        self.builder.bytes = size
        return gate

    def widen(self, pointer: str, keyword: str, reason: str) -> None:
        """Record that the grammar admits more here than ``keyword`` does."""
        self.widenings.setdefault((pointer, keyword), Widening(self.tool, pointer, keyword, reason))

    def discard(self) -> None:
        """Say that something compiled won't be used, so that its rules are looked for at the end."""
        self._discarded = True

    def flat(self, schema: Any) -> Schema:
        """The schema with no reference and no ``allOf`` of its own at its top (see `tacid.schema.flat`).

        Raises `TooLarge` where parts multiply.
        """
        return self.flattener.flat(schema)

    def tick(self) -> None:
        """Count one more schema looked at. Raises `TooLarge` where these are too many, `OutOfTime` past a deadline."""
        check()
        self.work += 1
        if self.work > MAX_WORK:
            raise TooLarge

    def lose(self, pointer: str) -> Callable[[str], None]:
        """What records a keyword at a pointer as not held."""
        return lambda keyword: self.widen(pointer, keyword, NOT_HELD)

    def target(self, ref: Any) -> tuple[str, Schema] | None:
        """The pointer and schema that a reference leads to, or ``None``."""
        return self.resolver.resolve(ref) if isinstance(ref, str) else None

    def _tidy(self, compiled: Node, mark: int) -> Compiled:
        names = self.builder.since(mark)
        made = {name: self.builder.rules[name] for name in names}
        kept, start = tidied(made, compiled) if self._looped else (made, compiled)
        if start is None:
            self.builder.drop(names)
            return Nothing("", "every value that fits would have to hold another one without end")
        reached: set[str] = set()
        waiting = list(look_of("root", start).names)
        while waiting:
            name = waiting.pop()
            if name in kept and name not in reached:
                reached.add(name)
                waiting.extend(look_of(name, kept[name]).names)
        self.builder.drop([name for name in names if name not in reached])
        for name in names:
            if name in reached and kept[name] is not made[name]:
                self.builder.rules[name] = kept[name]
        return start


def assertions(schema: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The keywords of a schema that can refuse an instance, less those named."""
    return {k: v for k, v in schema.items() if (k in ASSERTING or k in OURS) and k not in without}


#: Compiles one schema, which stands at a pointer.
Handler: TypeAlias = "Callable[[Scope, Mapping[str, Any], str], Compiled]"
