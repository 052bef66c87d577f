"""A run: each question is asked once, and its row is kept before the next one is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacid.errors import TacidError
from tacid.evaluation.client import Client
from tacid.evaluation.journal import open_journal
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
    package: Package, chosen: Plan, asked: Asked, *, limit: int | None, pool: int, tools: Path | None, label: str | None
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
        items=chosen.counts,
        ids=chosen.digest,
    )


async def run(
    client: Client, package: Package, chosen: Plan, asked: Asked, settings: Settings, out: Path, watcher: Watcher
) -> Run:
    """Ask what isn't in ``out`` yet. Raises ``InputError``, ``EndpointLost``, and ``TacidError`` where all fails."""
    with open_journal(out, settings) as journal:
        held: list[Item] = []
        groups: dict[str, list[Item]] = {name: [] for name in settings.items}
        proved = bool(journal.items)
        for index, question in enumerate(chosen.questions):
            name = question.category.name
            if question.id in journal.items:
                item = journal.items[question.id]
            else:
                tools = chosen.tools(question)
                reply = await client.ask(asked.body(question, tools))
                item = item_of(question, tools, reply, package)
                held.append(item)
                proved = proved or item.error is None
                if not proved and len(held) == FAILURES:
                    raise TacidError(f"The first {FAILURES} questions all failed, the last with: {item.error}.")
                if proved:
                    for each in held:
                        journal.add(each)
                    held.clear()
            groups[name].append(item)
            watcher.at(index + 1, len(chosen.questions), name, average(list(groups.values())))
            if len(groups[name]) == settings.items[name]:
                watcher.finished(name, groups[name])
        for each in held:
            journal.add(each)
        finished = Run(path=out, settings=settings, items=journal.items)
        journal.close_with(summaries(finished))
        return finished


__all__ = ["Asked", "Watcher", "run", "settings_of"]
