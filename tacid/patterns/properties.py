"""Properties of Unicode that a pattern may name: ``\\p{L}``, ``\\p{Script=Greek}`` (ECMA-262, 22.2.1, tables 67 to 70).

The table ``properties.txt`` is of Unicode 17; ``python -m tests.bench.unicode_table`` writes it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tacid.patterns.charset import ALL, Ranges, complement, ranges_of, union

#: The categories that others are made of, by their names.
_MAJOR = {
    "L": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    "Letter": ("L",),
    "LC": ("Lu", "Ll", "Lt"),
    "Cased_Letter": ("LC",),
    "M": ("Mn", "Mc", "Me"),
    "Mark": ("M",),
    "Combining_Mark": ("M",),
    "N": ("Nd", "Nl", "No"),
    "Number": ("N",),
    "P": ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    "Punctuation": ("P",),
    "punct": ("P",),
    "S": ("Sm", "Sc", "Sk", "So"),
    "Symbol": ("S",),
    "Z": ("Zs", "Zl", "Zp"),
    "Separator": ("Z",),
}
_ASCII = ((0, 0x7F),)
_HEX = ranges_of([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])


@cache
def property_set(name: str, value: str | None = None) -> Ranges | None:
    """The characters of ``\\p{name}`` or ``\\p{name=value}``; ``None`` for a property that is not in the table."""
    if value is None:
        if name == "Any":
            return ALL
        if name == "ASCII":
            return _ASCII
        if name in ("ASCII_Hex_Digit", "AHex"):
            return _HEX
        if name == "Assigned":
            return complement(_unassigned())
        found = _ranges("is", name)
        return _category(name) if found is None else found
    if name in ("General_Category", "gc"):
        return _category(value)
    return _ranges("sc", value) if name in ("Script", "sc") else None


def _category(name: str) -> Ranges | None:
    if name in _MAJOR:
        return union(*(part for inner in _MAJOR[name] if (part := _category(inner)) is not None))
    if name in ("Cn", "Unassigned"):
        return _unassigned()
    if name in ("Cs", "Surrogate"):
        return ()
    if name in ("C", "Other"):
        return union(_unassigned(), *(part for inner in ("Cc", "Cf", "Co") if (part := _ranges("gc", inner))))
    return _ranges("gc", name)


@cache
def _unassigned() -> Ranges:
    return complement(union(*(_decoded(line) for (kind, _), line in _lines().items() if kind == "gc")))


@cache
def _lines() -> dict[tuple[str, str], str]:
    table = files(__package__).joinpath("properties.txt").read_text(encoding="ascii")
    found = {}
    for line in table.splitlines():
        names, _, ranges = line.partition(" = ")
        kind, *known = names.split()
        for name in known:
            found[kind, name] = ranges
    return found


def _ranges(kind: str, name: str) -> Ranges | None:
    line = _lines().get((kind, name))
    return None if line is None else _decoded(line)


def _decoded(line: str) -> Ranges:
    ranges = []
    start = 0
    for part in line.split():
        gap, _, more = part.partition("+")
        low = start + int(gap, 36)
        high = low + (int(more, 36) if more else 0)
        ranges.append((low, high))
        start = high + 1
    return tuple(ranges)
