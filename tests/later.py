"""What the cases ask for and a later issue brings, in one place: (case, list, index) to that issue's subject.

Each entry is tried by the tests of its list: one that begins to hold fails there until it is taken out here.
"""

from __future__ import annotations

LATER: dict[tuple[str, str, int], str] = {}

#: Kinds of cases that wait for a part which isn't there yet: the subject of its issue, and the package that brings it.
LATER_KINDS: dict[str, tuple[str, str]] = {
    "mcp.": ("the machine: other people's tools", "tacid.mcp"),
}
