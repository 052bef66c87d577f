"""A catalogue that the prompt doesn't show in full: what it shows instead, and how a schema comes into it.

In ``deferred`` the model asks for a schema by a tool of ours, in ``direct`` the schema is put into the call that it has
begun, as soon as the name is certain. The grammar holds every schema in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from tacid.catalogue import Catalogue, Tool
from tacid.chat import Call, Message, Sampling
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import RequestError
from tacid.grammar import compile_schema
from tacid.grammar.nodes import Node
from tacid.jsontext import dumps, quote
from tacid.prompt.history import with_splice
from tacid.prompt.index import IndexStyle, index_line, index_lines
from tacid.prompt.shown import tool_line
from tacid.prompt.words import INFO, SEARCH, Index
from tacid.search import search_of
from tacid.turn.request import Fetched, Sparing, TurnRequest
from tacid.turn.steps import Begun

#: Schemas that are kept in a prompt from earlier turns; of those that came later only the names are known.
MAX_PINNED = 32
#: Messages of the user for which a search stands in the prompt: up to twice as many.
SEARCHED = 8
#: Tools that one search finds, and characters of what is searched for.
FOUND = 10
#: Characters of what a search gives, so that a few of them stand in a small context.
MAX_FOUND = 1200
MAX_QUERY = 2000
#: Times that an index is cut to its tokens: names have fewer characters a token than the sentences that go first.
_CUTS = 4

_TOOLS = {
    INFO: Tool(
        INFO,
        "Read the parameters of a tool of the index, before it is called.",
        {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    ),
    SEARCH: Tool(
        SEARCH,
        "Find tools by what they are for, in a few words.",
        {"type": "object", "properties": {"query": {"type": "string", "maxLength": 200}}, "required": ["query"]},
    ),
}


@dataclass(frozen=True, slots=True)
class Deferral:
    """How a turn spares the prompt its schemas.

    ``always``: tools that are shown in full all the same. ``style`` of the lines of the index, which has ``tokens`` at
    most. ``max_hops``: calls of our own tools in one turn. ``fetched`` in earlier turns, where the conversation doesn't
    tell. ``temperature`` of the reply before anything was fetched, if another one. ``remind``: a call of a tool whose
    schema wasn't fetched is refused once.
    """

    mode: Sparing
    always: frozenset[str] = frozenset()
    style: IndexStyle = "line"
    tokens: int = 2048
    max_hops: int = 3
    fetched: tuple[Fetched, ...] = ()
    temperature: float | None = None
    remind: bool = False


@dataclass
class Deferring:
    """One turn with an index: `request` is the turn with our own tools in it, `index` what its prompts show.

    Raises ``RequestError`` where a tool of the catalogue is called like one of ours.
    """

    asked: TurnRequest
    how: Deferral
    index: Index = field(init=False)
    request: TurnRequest = field(init=False)
    #: The tools without a schema in the prompt, less those that were left out.
    deferred: dict[str, Tool] = field(init=False)
    #: Deferred tools whose schema is in the prompt by now, in the order in which it came.
    fetched: dict[str, None] = field(init=False, default_factory=dict)
    hops: int = field(init=False, default=0)
    #: What was fetched in this turn.
    new: list[str] = field(init=False, default_factory=list)
    _reminded: bool = field(init=False, default=False)

    @classmethod
    async def begin(cls, endpoint: LocalEndpoint, asked: TurnRequest, how: Deferral) -> Deferring:
        """The turn as it begins; the tokens of the index are counted by the endpoint's tokenizer."""
        self = cls(asked, how)
        tools = asked.catalogue
        self.deferred = {tool.name: tool for tool in tools if tool.name not in how.always}
        lines, missing = await _lines(endpoint, tuple(self.deferred.values()), how)
        ours = [name for name, needed in ((INFO, how.mode == "deferred"), (SEARCH, missing > 0)) if needed]
        for name in ours:
            if name in tools:
                raise RequestError(
                    f'The tool {quote(name)} is called like one that the tool mode "{how.mode}" adds; give it another '
                    "name, or ask in the mode full.",
                    param="tools",
                )
        own = [_TOOLS[name] for name in ours]
        whole = Catalogue((*own, *(tool for tool in tools if tool.name in how.always)))
        self.index = Index(whole, tuple(lines), missing, INFO in ours, SEARCH in ours)
        executors = {INFO: self.info, SEARCH: self.search}
        self.request = replace(
            asked,
            catalogue=Catalogue((*own, *tools), tools.left_out),
            messages=tuple(self._rebuilt(asked.messages)),
            execute={**asked.execute, **{name: executors[name] for name in ours}},
            meta=self,
        )
        return self

    async def leave_out(self, endpoint: LocalEndpoint, names: Collection[str]) -> None:
        """Show nothing of tools that turned out to have no call."""
        if gone := {tool.name for tool in self.index.whole if tool.name in names}:
            whole = Catalogue(tuple(tool for tool in self.index.whole if tool.name not in gone))
            self.index = replace(self.index, whole=whole)
        if gone := self.deferred.keys() & names:
            self.deferred = {name: tool for name, tool in self.deferred.items() if name not in gone}
            self.fetched = {name: None for name in self.fetched if name not in gone}
            lines, missing = await _lines(endpoint, tuple(self.deferred.values()), self.how)
            self.index = replace(self.index, lines=tuple(lines), missing=missing)

    # What the loop asks

    @property
    def names(self) -> frozenset[str]:
        """Our own tools."""
        return frozenset(tool.name for tool in self.index.whole if tool.name in _TOOLS)

    def withheld(self) -> frozenset[str]:
        """Those of our own tools that are no longer offered."""
        if self.hops >= self.how.max_hops:
            return self.names
        return frozenset() if self._unfetched() else frozenset((INFO,)) & self.names

    def reminder(self, call: Call) -> str | None:
        """What a call is answered with whose tool's schema nobody has read, once in a turn; none: it stands."""
        if not self.reminds(call.name):
            return None
        self._reminded = True
        return (
            f"This was not carried out: what {quote(call.name, shown=True)} takes was not read yet; call {INFO} first."
        )

    def reminds(self, name: str) -> bool:
        """Whether a call of this tool would be answered so."""
        able = self.how.remind and self.index.fetch and INFO not in self.withheld()
        return able and not self._reminded and name in self.deferred and name not in self.fetched

    # Our own tools

    async def info(self, call: Call) -> str:
        """A tool's schema as the model reads it, or an error that it can read."""
        self.hops += 1
        name = call.arguments.get("name")
        tool = self.deferred.get(name) if isinstance(name, str) else None
        if tool is None:
            close = get_close_matches(name[:256], self.deferred, 3) if isinstance(name, str) else []
            return dumps({"error": f"there is no tool {quote(str(name)[:256])}", "close": close}, shown=True)
        if tool.name in self.fetched:
            return dumps({"error": f"what {quote(tool.name)} takes is shown above already; call it"}, shown=True)
        self._fetch(tool.name)
        return tool_line(tool)

    async def search(self, call: Call) -> str:
        """The lines of the tools that serve a purpose best."""
        self.hops += 1
        query = call.arguments.get("query")
        return self._found(query if isinstance(query, str) else "")

    def _found(self, query: str) -> str:
        names = search_of(tuple(self.deferred.values())).find(query[:MAX_QUERY], FOUND)
        if not names:
            return dumps({"error": "no tool was found by these words; try others"})
        lines = [index_line(self.deferred[name], "line") for name in names]
        while len(lines) > 1 and sum(map(len, lines)) > MAX_FOUND:
            lines.pop()
        return dumps(lines, shown=True)

    def _fetch(self, name: str) -> None:
        self.fetched[name] = None
        self.new.append(name)

    def _unfetched(self) -> tuple[str, ...]:
        return tuple(name for name in self.deferred if name not in self.fetched)

    # What sampling asks

    def narrowed(self, tool: str) -> Mapping[str, Node] | None:
        """The names that can still be asked for, in place of any."""
        names = self._unfetched()
        return _one_of(names) if tool == INFO and names else None

    def spliced(self, written: str, begun: Sequence[Begun]) -> str:
        """The reply so far with the schemas of the calls that it begins."""
        if self.how.mode != "direct":
            return written
        seen = set(self.fetched)
        starts = [written.rindex('{"tool":', 0, one.at) for one in begun]
        text = written[: starts[0]]
        for one, start, end in zip(begun, starts, [*starts[1:], len(written)], strict=True):
            splice = "" if one.tool in seen or one.tool not in self.deferred else _splice(self.deferred[one.tool])
            seen.add(one.tool)
            text += with_splice(written[start:end], one.tool, splice)
        return text

    def keep(self, begun: Iterable[str]) -> None:
        """Leave the schemas of these calls where they are, should the reply be told to be made again."""
        if self.how.mode == "direct":
            self.fetched.update((name, None) for name in begun if name in self.deferred)

    @property
    def splices(self) -> dict[str, str]:
        """What stands in the calls of earlier turns, by tool."""
        return {name: _splice(self.deferred[name]) for name in self.fetched} if self.how.mode == "direct" else {}

    def sampling(self, settings: Sampling) -> Sampling:
        """How the reply at hand is sampled."""
        first = self.how.temperature is not None and not self.hops
        return replace(settings, temperature=self.how.temperature) if first else settings

    # What earlier turns fetched

    def _rebuilt(self, messages: Sequence[Message]) -> Iterator[Message]:
        """The conversation with what the model read of schemas where it read it."""
        earlier: dict[int, list[str]] = {}
        # What was fetched stands in the prompt only where it is fetched; in `direct` nothing tells of it but calls.
        for one in self.how.fetched if self.index.fetch else ():
            after = min(one.after, len(messages))
            # A client may have cut its history since: never between a call and its result.
            while after < len(messages) and messages[after].role == "tool":
                after += 1
            earlier.setdefault(after, []).append(one.name)
        asks = [index for index, one in enumerate(messages) if one.role == "user"]
        # Dropped in blocks, so that what the engine has read stays what it was for some turns.
        asks = asks[max(0, (len(asks) - 1) // SEARCHED * SEARCHED - SEARCHED) :]
        for index, message in enumerate(messages):
            yield from self._read((*earlier.get(index, ()), *(call.name for call in message.calls)), index)
            yield message
            if index in asks and self.index.search:
                # A search is made for the model: what the user asks is the best query that there is.
                query = message.content[:200]
                yield from _hop(SEARCH, {"query": query}, self._found(message.content), index)
        yield from self._read(earlier.get(len(messages), ()), len(messages))

    def _read(self, names: Iterable[str], index: int) -> Iterator[Message]:
        """What the model read of these tools' schemas before this message; in ``direct`` they stand in the calls."""
        for name in names:
            if name not in self.deferred or name in self.fetched or len(self.fetched) >= MAX_PINNED:
                continue
            self.fetched[name] = None
            if self.index.fetch:
                yield from _hop(INFO, {"name": name}, tool_line(self.deferred[name]), index)


async def _lines(endpoint: LocalEndpoint, tools: tuple[Tool, ...], how: Deferral) -> tuple[list[str], int]:
    lines, missing = index_lines(tools, how.style, None)
    for _ in range(_CUTS):
        count = await _count(endpoint, lines, how.tokens)
        if count <= how.tokens:
            break
        lines, missing = index_lines(tools, how.style, len("\n".join(lines)) * how.tokens // count)
    if missing:
        names, _none = index_lines(tools, "names", None)
        if await _count(endpoint, names, how.tokens) <= how.tokens:
            return names, 0
    return lines, missing


async def _count(endpoint: LocalEndpoint, lines: list[str], most: int) -> int:
    """The tokens of lines, or their bytes where those are no more than ``most``: a token has one at least."""
    text = "\n".join(lines)
    size = len(text.encode("utf-8", "surrogatepass"))
    return size if size <= most else await endpoint.count(text)


def _hop(name: str, arguments: dict[str, Any], result: str, index: int) -> Iterator[Message]:
    call = Call(name, arguments, id=f"hop-{index}-{name}")
    yield Message("assistant", calls=(call,))
    yield Message("tool", result, name=name, call_id=call.id)


def _splice(tool: Tool) -> str:
    """A tool's line as members of a call, less its name."""
    return tool_line(tool)[len('{"name":') + len(dumps(tool.name, shown=True)) + 1 : -1] + ","


@lru_cache(maxsize=16)
def _one_of(names: tuple[str, ...]) -> Mapping[str, Node]:
    schema = {"type": "object", "properties": {"name": {"enum": list(names)}}, "required": ["name"]}
    return compile_schema(schema).rules
