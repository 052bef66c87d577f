"""The ten categories of BFCL that are asked, as one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tacid.errors import InputError
from tacid.jsontext import quote


@dataclass(frozen=True, slots=True)
class Category:
    """One category, by the name that bfcl-eval gives it.

    ``wants`` is what makes an item right: ``calls`` that the AST checker takes, ``any`` call, or ``none``.
    ``parallel`` categories want several calls in one reply, and are asked with ``parallel_tool_calls``.
    """

    name: str
    wants: Literal["calls", "any", "none"] = "calls"
    parallel: bool = False


CATEGORIES: tuple[Category, ...] = (
    Category("simple_python"),
    Category("multiple"),
    Category("parallel", parallel=True),
    Category("parallel_multiple", parallel=True),
    Category("irrelevance", wants="none"),
    Category("live_simple"),
    Category("live_multiple"),
    Category("live_parallel", parallel=True),
    Category("live_parallel_multiple", parallel=True),
    Category("live_relevance", wants="any"),
)
BY_NAME = {category.name: category for category in CATEGORIES}

#: What bfcl-eval called them before.
OLD_NAMES = {"simple": "simple_python", "relevance": "live_relevance"}


def find_category(name: str) -> Category:
    """The category of this name, old names included. Raises ``InputError`` that gives the nearest."""
    found = BY_NAME.get(OLD_NAMES.get(name, name))
    if found is None:
        near = difflib.get_close_matches(name[:100], [*BY_NAME, *OLD_NAMES], n=1, cutoff=0.0)
        raise InputError(
            f"There is no category {quote(name[:100], shown=True)}; did you mean {OLD_NAMES.get(near[0], near[0])}? "
            f"There are {', '.join(BY_NAME)}."
        )
    return found


def read_categories(text: str | None) -> tuple[Category, ...]:
    """The categories of a list with commas, in the table's order, each once; all of them where nothing is said.

    Raises ``InputError``.
    """
    if text is None:
        return CATEGORIES
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise InputError(f"--categories names none; there are {', '.join(BY_NAME)}.")
    return in_order({find_category(name).name for name in names})


def in_order(names: Iterable[str]) -> tuple[Category, ...]:
    """The categories of these names in the table's order."""
    wanted = set(names)
    return tuple(category for category in CATEGORIES if category.name in wanted)


__all__ = ["BY_NAME", "CATEGORIES", "OLD_NAMES", "Category", "find_category", "in_order", "read_categories"]
