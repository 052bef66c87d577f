"""What is asked: the questions that were chosen, and the tools that each of them sees."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacid.catalogue import Catalogue, load_catalogue
from tacid.errors import InputError
from tacid.evaluation.categories import CATEGORIES, Category
from tacid.evaluation.convert import tool_name, tool_of
from tacid.evaluation.package import Package

#: Python functions that no question asked here is about: the first that a pool takes from when all are asked.
_FURTHER = ("live_irrelevance",)


@dataclass(frozen=True, slots=True)
class Question:
    """One item: its messages, its functions as the package has them and as tools, and the right calls (if any)."""

    id: str
    category: Category
    messages: tuple[Mapping[str, Any], ...]
    functions: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    answer: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The questions in the order in which they are asked, and the tools that stand before each one's own.

    ``dropped`` are tools of the catalogue that are called like a question's own, and so are left out for all.
    """

    questions: tuple[Question, ...]
    pooled: tuple[Mapping[str, Any], ...]
    dropped: tuple[str, ...]

    def tools(self, question: Question) -> list[Mapping[str, Any]]:
        """What the question sees: first what all see, so that it is read once."""
        return [*self.pooled, *question.tools]

    @property
    def counts(self) -> dict[str, int]:
        """Items by category."""
        counts: dict[str, int] = {}
        for question in self.questions:
            counts[question.category.name] = counts.get(question.category.name, 0) + 1
        return counts

    @property
    def digest(self) -> str:
        """SHA-256 of the ids of the questions and the names of the pooled tools, in their order."""
        parts = [*(question.id for question in self.questions), "", *(_name(tool) for tool in self.pooled)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def plan(
    package: Package,
    categories: Sequence[Category],
    *,
    limit: int | None,
    seed: int,
    pool: int,
    catalogue: Path | None,
) -> Plan:
    """Choose questions and pool.

    ``limit``: so many questions of each category at most, drawn by ``seed``. ``pool``: so many functions of questions
    that aren't asked, drawn by ``seed`` too, none of them called like a function of one that is. Raises ``InputError``
    (not so many functions) or ``CatalogueError``.
    """
    questions = tuple(
        question for category in categories for question in _drawn(_questions(package, category), limit, seed)
    )
    own = {_name(tool) for question in questions for tool in question.tools}
    given = load_catalogue(catalogue) if catalogue is not None else Catalogue()
    first = [_entry(tool.name, tool.description, tool.parameters) for tool in given if tool.name not in own]
    taken = own | {tool.name for tool in given}
    pooled = (*first, *_pool(package, taken, pool, seed))
    return Plan(questions, pooled, tuple(tool.name for tool in given if tool.name in own))


def _questions(package: Package, category: Category) -> Iterable[Question]:
    answers = package.answers(category.name) if category.wants == "calls" else {}
    for row in package.questions(category.name):
        yield Question(
            row["id"],
            category,
            tuple(row["question"][0]),
            tuple(row["function"]),
            tuple(tool_of(function, package.types) for function in row["function"]),
            tuple(answers.get(row["id"], ())),
        )


def _drawn(questions: Iterable[Question], limit: int | None, seed: int) -> list[Question]:
    """At most ``limit`` of them, in their order."""
    there = list(questions)
    if limit is None or limit >= len(there):
        return there
    rng = random.Random(f"{seed} {there[0].category.name}")  # noqa: S311
    return [there[index] for index in sorted(rng.sample(range(len(there)), limit))]


def _pool(package: Package, taken: set[str], count: int, seed: int) -> list[Mapping[str, Any]]:
    if not count:
        return []
    found: dict[str, Mapping[str, Any]] = {}
    for name in (*_FURTHER, *(category.name for category in CATEGORIES)):
        for row in package.questions(name):
            for function in row["function"]:
                found.setdefault(tool_name(function["name"]), function)
    free = [name for name in found if name not in taken]
    if count > len(free):
        raise InputError(
            f"--pool wants {count:,} functions, and {len(free):,} are called like none of the questions that are "
            "asked; give a smaller pool, or a smaller --limit."
        )
    chosen = random.Random(f"{seed} pool").sample(free, count)  # noqa: S311
    return [tool_of(found[name], package.types) for name in chosen]


def _entry(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _name(tool: Mapping[str, Any]) -> str:
    return str(tool["function"]["name"])


__all__ = ["Plan", "Question", "plan"]
