"""temporary"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from tacid.catalogue import Tool

IndexStyle: TypeAlias = Literal["names", "args", "line", "signature"]


def index_line(tool: Tool, style: IndexStyle) -> str:
    props = tool.parameters.get("properties", {})
    req = tool.parameters.get("required", [])
    first = tool.description.split(". ")[0].split("\n")[0][:160]
    args = ", ".join(props)
    sig = ", ".join(
        f"{k}{'' if k in req else '?'}: {v.get('type', 'any') if isinstance(v, dict) else 'any'}"
        for k, v in props.items()
    )
    return {
        "names": tool.name,
        "args": f"{tool.name}({args})",
        "line": f"{tool.name}: {first}",
        "signature": f"{tool.name}({sig}): {first}",
    }[style]


def index_lines(tools: Iterable[Tool], style: IndexStyle, budget: int | None) -> tuple[list[str], int]:
    tools = sorted(tools, key=lambda t: t.name)
    lines = [index_line(t, style) for t in tools]
    if budget is None or len("\n".join(lines)) <= budget:
        return lines, 0
    out, left = [], budget
    for t in tools:
        if left < len(t.name) + 1:
            break
        out.append(t.name)
        left -= len(t.name) + 1
    return out, len(tools) - len(out)
