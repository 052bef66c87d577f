"""The file of a run: JSON lines, of which the first says what was run, and the others what came out.

``run``: the settings. ``item``: a row for each question, as it was answered. ``summary``: a row for each category,
written when all are there. Only item rows are ever judged; summaries are for people.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacid.errors import InputError

TOOL_MODES = ("full", "deferred", "direct", "auto")
ToolMode = Literal["full", "deferred", "direct", "auto"]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Settings(_Row):
    """What a run is. Two runs can be compared where all but ``tool_mode`` and ``label`` are the same.

    ``package`` is the version of bfcl-eval, ``limit`` the most items of a category, ``pool`` the number of pooled
    tools that every question sees beside its own, ``tools`` the SHA-256 of a catalogue that is pooled too, ``streams``
    how many questions were asked at a time, ``items`` how many items each category has, ``ids`` the SHA-256 of their
    ids.
    """

    kind: Literal["run"] = "run"
    package: str
    model: str
    tool_mode: ToolMode
    label: str | None = None
    seed: int
    limit: int | None
    pool: int
    tools: str | None
    max_tokens: int
    streams: int = 1
    items: dict[str, int]
    ids: str

    def asked(self) -> dict[str, Any]:
        """What both sides of a comparison must have in common."""
        return self.model_dump(exclude={"kind", "tool_mode", "label"})


class Called(_Row):
    """A call as it came: ``arguments`` is their JSON text where that is no object."""

    name: str
    arguments: Any


class Tokens(_Row):
    """Tokens of a request, summed over its hops; ``cached`` are those of the prompt that were not read again."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


class Item(_Row):
    """What came of one question.

    ``right`` is the verdict; ``why`` says what the checker missed. ``valid``: all arguments fit their tool's schema;
    null without a call. ``error``: there was no reply that could be read, which is never right. ``latency`` is in
    seconds. ``hops`` is null where the server doesn't say.
    """

    kind: Literal["item"] = "item"
    id: str
    category: str
    right: bool
    why: str | None = None
    valid: bool | None = None
    error: str | None = None
    latency: float = 0.0
    tokens: Tokens = Tokens()
    hops: Annotated[int, Field(ge=0)] | None = None
    called: tuple[Called, ...] = ()
    said: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it counts as right."""
        return self.right and self.error is None


class Run(_Row):
    """A file that was read: the settings and the items in it, by id."""

    path: Path
    settings: Settings
    items: dict[str, Item]

    @property
    def complete(self) -> bool:
        """Whether every item that was to be asked is there."""
        return len(self.items) == sum(self.settings.items.values())

    @property
    def by_category(self) -> dict[str, list[Item]]:
        """The items of each category, in the order of the settings."""
        grouped: dict[str, list[Item]] = {name: [] for name in self.settings.items}
        for item in self.items.values():
            grouped.setdefault(item.category, []).append(item)
        return grouped


def read_run(path: Path) -> Run:
    """Read a file of a run. Raises ``InputError`` that names the file and the line: unreadable, no run, an id twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"The run {path} does not exist; make it with: tacid eval bfcl --out {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The run {path} can't be read: {error}.") from None
    return parse_run(text, path)


def parse_run(text: str, path: Path) -> Run:
    """A run from the text of its file. Raises ``InputError``, as `read_run` does."""
    settings: Settings | None = None
    items: dict[str, Item] = {}
    for number, line in enumerate(text.splitlines(), 1):
        where = f"The run {path}, line {number}"
        if not line.strip():
            continue
        row = _parsed(line, where)
        kind = row.get("kind")
        try:
            if kind == "run":
                if settings is not None:
                    raise InputError(f"{where}: settings a second time; a file holds one run.")
                settings = Settings.model_validate(row)
            elif kind == "item":
                item = Item.model_validate(row)
                if item.id in items:
                    raise InputError(f"{where}: the item {item.id} stands there twice; each counts once.")
                items[item.id] = item
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InputError(f"{where}: {field}: {first['msg']}.") from None
    if settings is None:
        raise InputError(f"The run {path} doesn't say what was run; is it a file of tacid eval bfcl?")
    return Run(path=path, settings=settings, items=items)


def _parsed(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; take it out.") from None
    if not isinstance(row, dict):
        raise InputError(f"{where} is no object; take it out.")
    return row


def mean(values: Iterable[float]) -> float | None:
    """The mean, or nothing where there are no values."""
    all_values = list(values)
    return sum(all_values) / len(all_values) if all_values else None


__all__ = ["TOOL_MODES", "Called", "Item", "Run", "Settings", "Tokens", "ToolMode", "mean", "parse_run", "read_run"]
