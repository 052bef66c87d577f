"""How long a catalogue takes to compile: ``python -m tests.bench.catalogue_time``.

All tools of the public catalogues in ``tests/cases``, as one catalogue. Cold: nothing is kept of it. Read anew: the same
content, parsed again, as a client's next request brings it. The same: the same object once more. Milliseconds of one
core, the best of several.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tacid.catalogue import Catalogue, Tool, read_tools
from tacid.grammar import compile as compiling
from tacid.grammar import compile_catalogue
from tacid.grammar.cache import Cache

CASES = Path(__file__).parents[1] / "cases"


def tools() -> list[Tool]:
    """All tools of the catalogues; a name that was there already gets a number."""
    found: dict[str, Tool] = {}
    for path in sorted(CASES.glob("catalogue-*.json")):
        given = json.loads(path.read_text(encoding="utf-8"))["input"].get("tools")
        for tool in read_tools(given) if isinstance(given, list) else ():
            name = tool.name if tool.name not in found else f"{tool.name}-{len(found)}"
            found[name] = Tool(name, tool.description, tool.parameters)
    return list(found.values())


def anew(known: list[Tool]) -> Catalogue:
    """The same content in new objects."""
    return Catalogue(tuple(Tool(t.name, t.description, json.loads(json.dumps(t.parameters))) for t in known))


def best(times: int, prepare: Callable[[], Catalogue]) -> float:
    """The least milliseconds that a compile took."""
    least = float("inf")
    for _ in range(times):
        catalogue = prepare()
        began = time.process_time_ns()
        compile_catalogue(catalogue)
        least = min(least, (time.process_time_ns() - began) / 1e6)
    return least


def main() -> int:
    """Measure and print."""
    known = tools()

    def cold() -> Catalogue:
        compiling._CACHE = Cache(compiling.CACHED)
        return anew(known)

    same = anew(known)
    print(f"{len(known)} tools")
    print(f"cold      {best(7, cold):.1f} ms, {len(compile_catalogue(same).text):,} bytes of grammar")
    print(f"read anew {best(50, lambda: anew(known)):.3f} ms")
    print(f"the same  {best(200, lambda: same):.4f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
