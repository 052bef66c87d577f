"""From a schema, or a catalogue of tools, to a grammar that admits what fits, with a report of where it admits more.

>>> from tacid.grammar import compile_schema
>>> compile_schema({"type": "boolean"}).text.splitlines()
['root ::= boolean', 'boolean ::= "true" | "false"']
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tacid.catalogue import AUTO, Catalogue, Choice, Schema, Tool
from tacid.errors import GrammarError
from tacid.grammar.cache import Cache, Settings
from tacid.grammar.content import content_key
from tacid.grammar.context import Builder, Compiled, Nothing
from tacid.grammar.envelope import envelope, put_call, set_apart
from tacid.grammar.fit import MAX_BYTES, MAX_SECONDS, Bounds, fitted
from tacid.grammar.look import look_of
from tacid.grammar.nodes import Alt, Node, Ref
from tacid.grammar.primitives import OBJECT, PRIMITIVES, STRING, VALUE
from tacid.grammar.printer import print_rules
from tacid.grammar.report import LeftOut, Report, Widening
from tacid.grammar.shapes import alt
from tacid.grammar.verify import verify
from tacid.jsontext import quote

#: Grammars kept.
CACHED = 64
#: Tools set apart for which together there is as much time and text as for one grammar.
APART = 100
#: Printed bytes above which a call is taken in two: its name under one grammar, its arguments under that tool's.
TWO_STEPS_BYTES = 128 * 1024


@dataclass(frozen=True)
class Grammar:
    """A verified grammar: GBNF ``text``, the ``rules`` it prints, a ``report``, and names of rules behind a `Gate`.

    ``apart``: which of these are the arguments of a tool, and of which.
    """

    text: str
    rules: Mapping[str, Node]
    report: Report
    gates: frozenset[str]
    apart: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> tuple[str, ...]:
        """Every text that an engine is given for this grammar: the whole, and the tree behind each gate."""
        return (self.text, *(print_rules(self.rules, gate) for gate in sorted(self.gates)))


def compile_schema(
    schema: Schema, *, open_objects: bool = False, max_seconds: float = MAX_SECONDS, max_bytes: int = MAX_BYTES
) -> Grammar:
    """The grammar of the canonical texts of what fits ``schema``.

    Within about ``max_seconds`` of processor time, less what its lists of values take, and ``max_bytes`` of text (at
    most `MAX_GRAMMAR_BYTES`): what would go beyond is widened, the costliest parts first, and reported.

    Objects that declare ``properties`` and say nothing of others are closed, or with ``open_objects`` open. Raises
    ``GrammarError`` for a schema that nothing fits, ``CompilerBug`` where the result doesn't verify.
    """
    builder = Builder()
    compiled, widenings = fitted(builder, schema, 0, None, open_objects, Bounds(max_seconds, max_bytes).share(builder))
    if isinstance(compiled, Nothing):
        raise GrammarError(f"Nothing fits the schema: at {_shown(compiled.pointer)} {compiled.reason}.")
    return _finish(builder, compiled, widenings, (), {})


def compile_catalogue(
    tools: Catalogue | Iterable[Tool],
    *,
    choice: Choice = AUTO,
    open_objects: bool = False,
    max_calls: int = 1,
    alone: Collection[str] = (),
    answer: Schema | None = None,
    max_seconds: float = MAX_SECONDS,
    max_bytes: int = MAX_BYTES,
    apart: bool = False,
) -> Grammar:
    """The grammar of one call of one of ``tools``, or of an answer, as ``choice`` lets it be.

    With ``max_calls`` above 1 it also admits a list of two to so many calls, of tools that are not in ``alone``. An
    answer is text, or, with the schema ``answer``, what fits it. A tool that no call fits is left out and reported.
    Above `TWO_STEPS_BYTES`, or with ``apart``, the arguments of each tool stand behind a `Gate`.
    ``max_seconds`` and ``max_bytes`` are bounds of the whole as in `compile_schema`, of which each tool has a share;
    with ``apart`` of each `APART` tools.
    Raises ``GrammarError``: a call is demanded and none can be made, the tool named isn't there, no answer fits;
    ``CatalogueError``: two tools of one name; ``CompilerBug``.
    """
    catalogue = tools if isinstance(tools, Catalogue) else Catalogue(tuple(tools))
    settings = Settings(choice, open_objects, max_calls, frozenset(alone), answer, max_seconds, max_bytes, apart)
    cached = _CACHE.get(catalogue, settings)
    if cached is None:
        cached = _compile_catalogue(catalogue, settings)
        _CACHE.put(catalogue, settings, cached)
    return cached


def compiled_catalogue(
    tools: Catalogue,
    *,
    choice: Choice = AUTO,
    open_objects: bool = False,
    max_calls: int = 1,
    alone: Collection[str] = (),
    answer: Schema | None = None,
    max_seconds: float = MAX_SECONDS,
    max_bytes: int = MAX_BYTES,
    apart: bool = False,
) -> Grammar | None:
    """What `compile_catalogue` would give, if it is kept from an earlier time."""
    return _CACHE.get(
        tools, Settings(choice, open_objects, max_calls, frozenset(alone), answer, max_seconds, max_bytes, apart)
    )


def _compile_catalogue(catalogue: Catalogue, settings: Settings) -> Grammar:
    choice, open_objects, answer = settings.choice, settings.open_objects, settings.answer
    if choice.mode == "named" and (choice.name is None or choice.name not in catalogue):
        raise GrammarError(f"There is no tool {_shown(choice.name or '')} to choose; choose one that is offered.")
    builder = Builder()
    calls: dict[str, Node] = {}
    arguments: list[tuple[int, str, Node]] = []
    widenings: list[Widening] = []
    left_out: list[LeftOut] = []
    owners: dict[str, str] = {}
    same: dict[bytes, tuple[Compiled, tuple[Widening, ...]]] = {}
    offered = [
        (index, tool, content_key(tool.parameters))
        for index, tool in enumerate(catalogue)
        if choice.mode != "none" and (choice.mode != "named" or tool.name == choice.name)
    ]
    grammars = max(1, len(offered) / APART) if settings.apart else 1
    bounds = Bounds(settings.max_seconds, settings.max_bytes, grammars)
    sizes = [_size(key) for _, _, key in offered]
    coming = sum(sizes) + (_size(content_key(answer)) if answer is not None else 0)
    for (index, tool, key), size in zip(offered, sizes, strict=True):
        mark = len(builder.rules)
        if key is not None and key in same:
            compiled, found = same[key]
        else:
            share = bounds.share(builder, size / coming)
            compiled, found = fitted(builder, tool.parameters, index, tool.name, open_objects, share)
            if any(not widening.keyword for widening in found) and not isinstance(compiled, Nothing):
                compiled = _object(builder, compiled, frozenset())
            if key is not None:
                same[key] = (compiled, found)
        coming -= size
        if isinstance(compiled, Nothing):
            left_out.append(LeftOut(tool.name, compiled.pointer, compiled.reason))
            continue
        widenings.extend(
            found if not found or found[0].tool == tool.name else [replace(w, tool=tool.name) for w in found]
        )
        calls[tool.name] = put_call(builder, index, tool.name, compiled)
        arguments.append((index, tool.name, compiled))
        owners.update(dict.fromkeys(builder.since(mark), tool.name))
    if not calls and choice.mode in ("required", "named"):
        why = f" ({_shown(left_out[0].tool)}: {left_out[0].reason})" if left_out else ""
        raise GrammarError(f"A call is demanded and no tool can be called{why}; offer a tool that has a legal call.")
    say: Node | None = STRING if choice.mode in ("auto", "none") else None
    if say is not None and answer is not None:
        compiled, found = fitted(builder, answer, len(catalogue), None, open_objects, bounds.share(builder))
        if isinstance(compiled, Nothing):
            raise GrammarError(f"No answer fits the schema: at {_shown(compiled.pointer)} {compiled.reason}.")
        say = compiled
        widenings.extend(found)
    apart: dict[str, str] = {}
    if settings.apart or (builder.bytes > TWO_STEPS_BYTES and len(calls) + (say is not None) > 1):
        apart = {set_apart(builder, index, name, held): name for index, name, held in arguments}
        owners |= apart
    root = envelope(builder, calls, say=say, max_calls=settings.max_calls, alone=settings.alone)
    return replace(_finish(builder, root, widenings, left_out, owners), apart=MappingProxyType(apart))


def _object(builder: Builder, node: Node, within: frozenset[str]) -> Node:
    """The node with any object where it admits any JSON by itself: what a tool takes is an object, however widened."""
    if node == VALUE:
        return OBJECT
    if isinstance(node, Alt):
        return alt(_object(builder, option, within) for option in node.options)
    if isinstance(node, Ref) and node.name in builder.rules and node.name not in within:
        meant = builder.rules[node.name]
        held = _object(builder, meant, within | {node.name})
        return node if held == meant else held
    return node


def _size(key: bytes | None) -> int:
    """About how much a schema says; one that nests too deep for a key, as much as it may."""
    return MAX_BYTES if key is None else len(key)


def _finish(
    builder: Builder,
    root: Node,
    widenings: Iterable[Widening],
    left_out: Iterable[LeftOut],
    owners: Mapping[str, str],
) -> Grammar:
    rules = _used({"root": root, **builder.rules})
    looks = verify(rules)
    text = print_rules(rules)
    gates = frozenset([name for look in looks.values() for name in look.gates])
    report = Report(tuple(widenings), tuple(left_out), MappingProxyType(_sizes(text, owners)))
    return Grammar(text, MappingProxyType(rules), report, gates)


def _used(rules: Mapping[str, Node]) -> dict[str, Node]:
    """The rules less the primitives that rules of the schema don't lead to, directly or through other primitives."""
    reached: set[str] = set()
    waiting = [
        name
        for rule, node in rules.items()
        if rule not in PRIMITIVES
        for name in look_of(rule, node).names
        if name in PRIMITIVES
    ]
    while waiting:
        name = waiting.pop()
        if name in PRIMITIVES and name not in reached:
            reached.add(name)
            waiting.extend(look_of(name, rules[name]).names)
    return {name: node for name, node in rules.items() if name not in PRIMITIVES or name in reached}


def _sizes(text: str, owners: Mapping[str, str]) -> dict[str, int]:
    """Bytes of a printed grammar by who its rules belong to."""
    sizes = dict.fromkeys(("", *owners.values()), 0)
    plain = text.isascii()
    if not owners:
        return {"": len(text) if plain else len(text.encode())}
    for line in text.split("\n")[:-1]:
        sizes[owners.get(line.partition(" ")[0], "")] += 1 + (len(line) if plain else len(line.encode()))
    return sizes


_CACHE = Cache(CACHED)


def _shown(text: str) -> str:
    return quote(text, shown=True)
