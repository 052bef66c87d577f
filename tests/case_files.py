"""The cases of ``tests/cases``, read once: reduced reports of what broke for users of local tool calling."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tacid.catalogue import Catalogue, Tool, read_tools

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One case: its file's name without ending, its kind, what goes in and what is expected to come out."""

    id: str
    kind: str
    input: dict[str, Any]
    expect: dict[str, Any]

    def items(self, *lists: str) -> list[tuple[str, int, Any]]:
        """The items of these lists of expectations, with list and index."""
        return [(name, index, item) for name in lists for index, item in enumerate(self.expect.get(name, []))]

    @property
    def schema(self) -> Any:
        """The schema; one that is too large to write out is built."""
        schema = self.input["schema"]
        if "$generate" not in schema:
            return schema
        made, order = schema["$generate"]["leaf"], schema["$generate"]
        assert order["nest"] == "object"
        for _ in range(order["levels"]):
            made = {"type": "object", "properties": {"x": made}}
        return made

    @property
    def tools(self) -> Catalogue:
        """The catalogue; one that is too large to write out is built."""
        if "$generate" in self.input:
            return Catalogue(tuple(_generated_tool(index) for index in range(self.input["$generate"]["tools"])))
        return read_tools(self.input["tools"])


@cache
def cases() -> tuple[Case, ...]:
    """All cases in the order of their names."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        assert data["id"] == path.stem
        found.append(Case(path.stem, data["kind"], data["input"], data["expect"]))
    return tuple(found)


def cases_of(*kinds: str) -> list[Case]:
    """The cases of these kinds; ``schema.`` takes every kind that begins so."""
    return [
        case for case in cases() if any(case.kind == k or (k[-1] == "." and case.kind.startswith(k)) for k in kinds)
    ]


def case(name: str) -> Case:
    """The case of this id."""
    return next(one for one in cases() if one.id == name)


def _generated_tool(index: int) -> Tool:
    return Tool(
        f"srv{index % 8}_verb{index}",
        "d",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "mode": {"type": "string", "enum": ["a", "b", "c", "d"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "filter": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string"},
                        "op": {"type": "string", "enum": ["eq", "ne", "lt"]},
                        "value": {},
                    },
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name"],
        },
    )
