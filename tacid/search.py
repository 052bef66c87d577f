"""temporary"""

from __future__ import annotations

from collections.abc import Iterable

from tacid.catalogue import Tool


class Search:
    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = list(tools)

    def find(self, query: str, limit: int) -> list[str]:
        words = set(query.lower().replace("_", " ").split())
        return sorted(
            (t.name for t in self.tools), key=lambda n: -len(words & set(n.lower().replace("_", " ").split()))
        )[:limit]
