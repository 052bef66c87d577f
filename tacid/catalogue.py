"""The catalogue: an ordered list of tools with unique names, and how it is read from what people have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tacid.errors import CatalogueError
from tacid.jsontext import load_file, quote

#: A JSON Schema: an object of keywords, or ``True``/``False``.
Schema: TypeAlias = Mapping[str, Any] | bool

MAX_TOOLS = 4096
MAX_NAME = 256
MAX_DESCRIPTION = 65_536


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may call. ``parameters`` is the JSON Schema of the arguments, always an object's schema.

    ``deferred``: its schema is to be shown only when it is needed.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What a turn may be: a call or an answer (``auto``), a call, an answer only (``none``), or one named tool."""

    mode: Literal["auto", "required", "none", "named"] = "auto"
    name: str | None = None


AUTO = Choice()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tool that is not offered: the field that is to blame (a JSON Pointer into its parameters), and why."""

    tool: str
    pointer: str
    reason: str


@dataclass(frozen=True)
class Catalogue:
    """An ordered list of tools with unique names; iterates over its tools, indexes by name.

    ``left_out`` are those that came with them and are no tools, so that somebody can be told.
    Raises ``CatalogueError`` where a name occurs twice.
    """

    tools: tuple[Tool, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tools) > MAX_TOOLS:
            raise CatalogueError(f"The catalogue has {len(self.tools):,} tools; the limit is {MAX_TOOLS:,}.")
        seen: dict[str, int] = {}
        for index, tool in enumerate(self.tools):
            if tool.name in seen:
                raise CatalogueError(
                    f"Tools {seen[tool.name]} and {index} are both called {quote(tool.name, shown=True)}; rename one."
                )
            seen[tool.name] = index

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)

    def __getitem__(self, name: str) -> Tool:
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise KeyError(name)

    def __add__(self, other: Iterable[Tool]) -> Catalogue:
        return Catalogue((*self.tools, *other), self.left_out)


def read_tools(document: Any, what: str = "The catalogue") -> Catalogue:
    """A catalogue from parsed JSON: OpenAI ``tools``, an MCP ``tools/list`` result, or a plain list of tools.

    ``document`` may be the list, an object with a ``tools`` list, or an MCP message with ``result.tools``.
    Missing or null parameters, an empty ``type`` and a missing description are honest variants.
    Raises ``CatalogueError`` that names the tool by name or index. Sources: OpenAI API reference (tools);
    MCP specification 2025-06-18, tools/list.
    """
    if isinstance(document, Mapping) and isinstance(document.get("result"), Mapping):
        document = document["result"]
    if isinstance(document, Mapping):
        if "tools" not in document:
            raise CatalogueError(
                f'{what} is an object without "tools"; give a list of tools, or an object that has one.'
            )
        document = document["tools"]
    if not isinstance(document, list):
        raise CatalogueError(f"{what} holds no list of tools but {_kind(document)}.")
    if len(document) > MAX_TOOLS:
        raise CatalogueError(f"{what} has {len(document):,} tools; the limit is {MAX_TOOLS:,}.")
    return Catalogue(tuple(read_tool(entry, f"{what}, tool {index}") for index, entry in enumerate(document)))


def read_tool(entry: Any, what: str) -> Tool:
    """One tool from one JSON entry (see `read_tools`). ``what`` names the entry in the error."""
    if not isinstance(entry, Mapping):
        raise CatalogueError(f"{what} is {_kind(entry)}, not an object.")
    kind = entry.get("type")
    marks = [entry.get("defer_loading")]
    if "function" in entry:
        entry = entry["function"]
        if not isinstance(entry, Mapping):
            raise CatalogueError(f'{what}: "function" is {_kind(entry)}, not an object.')
        marks.append(entry.get("defer_loading"))
    elif kind is not None and kind != "function":
        raise CatalogueError(f"{what} has the type {_brief(kind)}; only functions can be offered.")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise CatalogueError(f'{what} has no "name"; a tool needs one.')
    if len(name) > MAX_NAME:
        raise CatalogueError(f"{what} has a name of {len(name):,} characters; the limit is {MAX_NAME}.")
    named = f"{what} ({quote(name, shown=True)})"
    description = entry.get("description")
    if description is None:
        description = ""
    if not isinstance(description, str):
        raise CatalogueError(f'{named}: "description" is {_kind(description)}, not text.')
    if len(description) > MAX_DESCRIPTION:
        raise CatalogueError(
            f'{named}: "description" has {len(description):,} characters; the limit is {MAX_DESCRIPTION:,}.'
        )
    for mark in marks:
        if mark is not None and not isinstance(mark, bool):
            raise CatalogueError(f'{named}: "defer_loading" is {_kind(mark)}, not true or false.')
    deferred = True in marks
    for key in ("parameters", "inputSchema", "input_schema"):
        if entry.get(key) is not None:
            return Tool(name, description, _parameters(entry[key], f'{named}: "{key}"'), deferred)
    return Tool(name, description, deferred=deferred)


def load_catalogue(path: Path) -> Catalogue:
    """Read a catalogue file. Raises ``InputError`` (missing, unreadable, not JSON) or ``CatalogueError``."""
    return read_tools(load_file(path, "catalogue"), f"The catalogue {path}")


def _parameters(schema: Any, what: str) -> Mapping[str, Any]:
    if schema is True:
        return {"type": "object"}
    if not isinstance(schema, Mapping):
        raise CatalogueError(f"{what} is {_kind(schema)}, not a JSON Schema of an object.")
    # What typed clients re-serialise: {"type": "", "properties": null}; PHP writes an empty object as a list.
    cleaned = {k: v for k, v in schema.items() if v is not None or k in ("const", "default")}
    if cleaned.get("type") == "":
        del cleaned["type"]
    if cleaned.get("properties") == []:
        del cleaned["properties"]
    kind = cleaned.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise CatalogueError(f"{what} describes the type {_brief(kind)}; the arguments of a tool are an object.")
    if not cleaned:
        return {"type": "object", "properties": {}}
    return {"type": "object", **cleaned, **({"type": "object"} if isinstance(kind, list) else {})}


def _brief(value: Any) -> str:
    text = str(value)
    return quote(text if len(text) <= 60 else text[:59] + "…", shown=True)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names: list[tuple[type | tuple[type, ...], str]] = [
        (bool, "a boolean"), ((int, float), "a number"), (str, "a string"), (list, "a list"), (Mapping, "an object"),
    ]  # fmt: skip
    return next((name for types, name in names if isinstance(value, types)), type(value).__name__)


__all__ = [
    "AUTO",
    "MAX_TOOLS",
    "Catalogue",
    "Choice",
    "LeftOut",
    "Schema",
    "Tool",
    "load_catalogue",
    "read_tool",
    "read_tools",
]
