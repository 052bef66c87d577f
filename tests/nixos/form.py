"""The form of Nix files (RFC 166, which nixfmt writes), as far as brackets and lines tell it.

nixfmt itself is on no registry; on machines with Nix it is the flake's formatter, and a check of the flake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Columns that a line may have, unless a string or a comment makes it longer.
WIDTH = 100
#: Names that a pattern (which may have ... beside them), and an inherit, may have on one line.
NAMES, INHERITED = 2, 3

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*|/\*.*?\*/)|(?P<text>''(?:''['$\\]|'[^']|[^'])*''|"(?:\\.|\$\{[^{}]*\}|[^"\\])*")"""
    r"""|(?P<space>\s+)|(?P<open>[\[({]|\$\{)|(?P<close>[\])}])|(?P<mark>[;,:=])|(?P<word>[^\s\[\](){};,:=]+)""",
    re.DOTALL,
)
_CLOSES = {"[": "]", "(": ")", "{": "}", "${": "}"}


@dataclass
class _Group:
    """What stands between two brackets; ``parts`` are its tokens at this depth, an inner group counts as one."""

    opened: str
    line: int
    parts: list[str] = field(default_factory=list)
    apart: bool = True
    last: int = 0


def faults(text: str) -> Iterator[tuple[int, str]]:
    """What isn't as RFC 166 has it: a line's number, and a clause."""
    if not text.endswith("\n") or text.endswith("\n\n") or "\n\n\n" in text:
        yield 1, "blank lines, or no end of the last line"
    within: set[int] = set()
    groups = [_Group("", 0)]
    line = 1
    for token in _TOKEN.finditer(text):
        kind, word = str(token.lastgroup), token[0]
        last = line + word.count("\n")
        if kind in ("comment", "text"):
            within.update(range(line, last + 1))
        if kind == "open":
            groups.append(_Group(word, line))
        elif kind == "close":
            group = groups.pop()
            if not groups or _CLOSES.get(group.opened) != word:
                yield line, "brackets that don't fit"
                return
            pattern = text[token.end() :].lstrip().startswith(":") and text[token.end() :][:1] == ":"
            if group.line == line and (found := _crowded(group, pattern)):
                yield line, found
            _add(groups[-1], f"{group.opened}{word}", glued=False)
        elif kind == "space":
            groups[-1].apart = True
        elif kind != "comment":
            _add(groups[-1], word, glued=True)
        line = last
    if len(groups) > 1:
        yield line, "a bracket that is never closed"
    yield from _lines(text, within)


def _add(group: _Group, word: str, *, glued: bool) -> None:
    # What follows without a space goes on: a.b, ./${x}, f.${name}.
    if not group.apart and group.parts and word not in ";,:":
        group.parts[-1] += word
    else:
        group.parts.append(word)
    group.apart = False


def _crowded(group: _Group, pattern: bool) -> str | None:
    """Why a group is too full for the one line that it is on."""
    if group.opened == "[" and len(group.parts) > 1:
        return "a list of several items on one line"
    if group.opened == "{" and pattern:
        names = [part for part in group.parts if part not in (",", "...")]
        return "a pattern of more than two names, or with a default, on one line" if len(names) > NAMES else None
    if group.opened == "{" and group.parts.count(";") > 1:
        return "several bindings on one line"
    if group.opened == "{" and group.parts[:1] == ["inherit"]:
        names = [part for part in group.parts[1:] if part not in (";", "()")]
        return "an inherit of more than three names on one line" if len(names) > INHERITED else None
    return None


def _lines(text: str, within: set[int]) -> Iterator[tuple[int, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        indent = len(line) - len(line.lstrip(" "))
        after = lines[number].strip() if number < len(lines) else ""
        if "\t" in line or line != line.rstrip():
            yield number, "a tab, or spaces at the end"
        elif number not in within and indent % 2:
            yield number, "an indentation of an odd number"
        elif number not in within and len(line) > WIDTH:
            yield number, "a line of more than 100 columns"
        elif number in within and line.lstrip().startswith("#"):
            continue
        elif re.search(r"(^|=\s*)\{[^{};=]*\}:\s*\S", line):
            yield number, "a pattern that begins on the line of its =, or has its body there"
        elif re.search(r"\w = (rec )?\{ [^{}]+ \};", line):
            yield number, "a value that is a set, on the line of its ="
        elif re.search(r"(\b[\w']+: ){3,}(?![\w']+:$|[{\[])\S", line):
            yield number, "a function of three arguments with its body on the same line"
        elif line.endswith(" =") and after.endswith(";") and after[0] != "{" and len(f"{line} {after}") <= WIDTH:
            yield number, "a value that would fit on the line of its ="
        elif re.fullmatch(r" *\{", line) and _short_pattern(lines[number - 1 :]):
            yield number, "a pattern of two names or fewer on several lines"


def _short_pattern(lines: list[str]) -> bool:
    names = []
    for line in lines[1:5]:
        if re.match(r" *\}:", line):
            return 0 < len([name for name in names if name != "..."]) <= NAMES
        if not re.fullmatch(r" *([\w'-]+,|\.\.\.)", line):
            return False
        names.append(line.strip(" ,"))
    return False


def nix_faults(path: Path) -> list[str]:
    """The faults of a file, as FILE:LINE and a clause."""
    return [f"{path.name}:{number}: {found}" for number, found in faults(path.read_text(encoding="utf-8"))]


__all__ = ["faults", "nix_faults"]
