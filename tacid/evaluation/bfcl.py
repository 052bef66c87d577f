"""A run: each question is asked once, and its row is kept before its stream asks the next one."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacid.errors import TacidError
from tacid.evaluation.client import Client
from tacid.evaluation.journal import Journal, open_journal
from tacid.evaluation.package import Package
from tacid.evaluation.questions import Plan, Question
from tacid.evaluation.rows import Item, Run, Settings, ToolMode
from tacid.evaluation.summary import average, summaries
from tacid.evaluation.verdict import item_of

#: Replies that may fail at the start before it is taken for a fault of all: nothing is kept then.
FAILURES = 5


class Watcher(Protocol):
    """Hears how a run goes."""

    def at(self, done: int, total: int, category: str, score: float | None) -> None:
        """So many of the items are there; ``score`` is the average so far."""

    def finished(self, category: str, items: list[Item]) -> None:
        """All items of this category are there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a question is asked: what stands in every request."""

    model: str
    tool_mode: ToolMode
    seed: int
    max_tokens: int

    def body(self, question: Question, tools: list[Mapping[str, Any]]) -> dict[str, Any]:
        """The request; ``tool_mode`` stands in it only where that isn't ``full``, so that any endpoint takes it."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(question.messages),
            "tools": tools,
            "temperature": 0,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }
        if question.category.parallel:
            body["parallel_tool_calls"] = True
        if self.tool_mode != "full":
            body["tool_mode"] = self.tool_mode
        return body


def settings_of(
    package: Package,
    chosen: Plan,
    asked: Asked,
    *,
    limit: int | None,
    pool: int,
    tools: Path | None,
    label: str | None,
    streams: int = 1,
) -> Settings:
    """What the file of the run says first."""
    return Settings(
        package=package.version,
        model=asked.model,
        tool_mode=asked.tool_mode,
        label=label,
        seed=asked.seed,
        limit=limit,
        pool=pool,
        tools=hashlib.sha256(tools.read_bytes()).hexdigest() if tools is not None else None,
        max_tokens=asked.max_tokens,
        streams=streams,
        items=chosen.counts,
        ids=chosen.digest,
    )


async def run(
    client: Client,
    package: Package,
    chosen: Plan,
    asked: Asked,
    settings: Settings,
    out: Path,
    watcher: Watcher,
) -> Run:
    """Ask what isn't in ``out`` yet, ``settings.streams`` questions at a time.

    Raises ``InputError``, ``EndpointLost``, and ``TacidError`` where all fails.
    """
    with open_journal(out, settings) as journal:
        kept = _Kept(journal, settings, watcher, len(chosen.questions))
        for question in chosen.questions:
            if question.id in journal.items:
                kept.show(journal.items[question.id])
        waiting = iter([question for question in chosen.questions if question.id not in journal.items])

        async def stream() -> None:
            for question in waiting:
                tools = chosen.tools(question)
                kept.add(item_of(question, tools, await client.ask(asked.body(question, tools)), package))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(settings.streams):
                    group.create_task(stream())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        kept.end()
        finished = Run(path=out, settings=settings, items=journal.items)
        journal.close_with(summaries(finished))
        return finished


class _Kept:
    """Rows as they come; the first are held back until one of them shows that the endpoint answers at all."""

    def __init__(self, journal: Journal, settings: Settings, watcher: Watcher, total: int) -> None:
        self._journal = journal
        self._wanted = settings.items
        self._watcher = watcher
        self._total = total
        self._held: list[Item] = []
        self._groups: dict[str, list[Item]] = {name: [] for name in settings.items}
        self._proved = bool(journal.items)

    def add(self, item: Item) -> None:
        """Keep it. Raises ``TacidError`` where the first all failed."""
        self._held.append(item)
        self._proved = self._proved or item.error is None
        if not self._proved and len(self._held) == FAILURES:
            raise TacidError(f"The first {FAILURES} questions all failed, the last with: {item.error}.")
        if self._proved:
            self.end()
        self.show(item)

    def show(self, item: Item) -> None:
        """Count it."""
        group = self._groups[item.category]
        group.append(item)
        done = sum(len(each) for each in self._groups.values())
        self._watcher.at(done, self._total, item.category, average(list(self._groups.values())))
        if len(group) == self._wanted[item.category]:
            self._watcher.finished(item.category, group)

    def end(self) -> None:
        """Write what was held back."""
        for each in self._held:
            self._journal.add(each)
        self._held.clear()


__all__ = ["Asked", "Watcher", "run", "settings_of"]
