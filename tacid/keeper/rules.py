"""Rules as their file has them, and how one is matched.

A rule is a table ``[[rule]]``. All that it names must fit; what it doesn't name fits anything. Names are compared as
they are, with ``*`` and ``?`` as in file names; an option by its parts, and what lies in it belongs to it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from datetime import datetime, time
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tacid.config.load import parse_toml, read_text
from tacid.errors import InputError
from tacid.jsontext import quote
from tacid.keeper.subject import CALL, View
from tacid.machine.desired import option_path
from tacid.machine.protocol import KINDS as CHANGE_KINDS

MAX_RULES = 1000
KINDS = (CALL, *CHANGE_KINDS)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class Verdict(Enum):
    """What becomes of it. The later ones are stricter."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        return list(Verdict).index(self)


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of them; ``allow`` of none."""
    return max(verdicts, key=lambda verdict: verdict.strictness, default=Verdict.ALLOW)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _kind(text: str) -> str:
    if not fnmatch.filter(KINDS, text):
        raise ValueError(f"no change is of this kind; there are {', '.join(KINDS)}")
    return text


def _hours(text: str) -> str:
    if _HOURS.fullmatch(text) is None:
        raise ValueError('hours are written like "08:00-18:30"')
    return text


def _ports(value: Any) -> Any:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    found = _RANGE.fullmatch(text) if isinstance(text, str) else None
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high <= 65535:
        raise ValueError('a port is 1 to 65535, a range of them "8000-8999"')
    return text


Text = Annotated[str, Field(min_length=1, max_length=256)]
_T = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(min_length=1, max_length=1000)]


class Rule(BaseModel):
    """One rule. A list fits where one of its entries does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    verdict: Verdict
    reason: str = Field("", max_length=400)
    kind: Annotated[tuple[Annotated[Text, AfterValidator(_kind)], ...], BeforeValidator(_listed)] | None = None
    tool: _T | None = None
    server: _T | None = None
    service: _T | None = None
    package: _T | None = None
    account: _T | None = None
    group: _T | None = None
    option: _T | None = None
    port: Annotated[tuple[Annotated[Text, BeforeValidator(_ports)], ...], BeforeValidator(_listed)] | None = None
    protocol: Annotated[tuple[Literal["tcp", "udp"], ...], BeforeValidator(_listed)] | None = None
    value: Any = None
    user: _T | None = None
    days: Annotated[tuple[Literal[DAYS], ...], BeforeValidator(_listed)] | None = None  # type: ignore[valid-type]
    hours: Annotated[tuple[Annotated[Text, AfterValidator(_hours)], ...], BeforeValidator(_listed)] | None = None

    def fits(self, view: View, user: str, at: datetime) -> bool:
        """Whether it is about this. ``user`` is who asks, ``at`` the local time."""
        return (
            all(
                wanted is None or _any(wanted, held)
                for wanted, held in (
                    (self.kind, view.kind),
                    (self.tool, view.tool),
                    (self.server, view.server),
                    (self.service, view.service),
                    (self.package, view.package),
                    (self.account, view.account),
                    (self.group, view.group),
                    (self.protocol, view.protocol),
                    (self.user, user),
                )
            )
            and (self.port is None or _in_range(self.port, view.port))
            and (self.option is None or any(_covers(option_path(each), view.option) for each in self.option))
            and ("value" not in self.model_fields_set or any(_same(each, view.value) for each in _listed(self.value)))
            and (self.days is None or DAYS[at.weekday()] in self.days)
            and (self.hours is None or any(_within(each, at.time()) for each in self.hours))
        )


def _any(patterns: Iterable[str], held: str | None) -> bool:
    return held is not None and any(fnmatch.fnmatchcase(held, pattern) for pattern in patterns)


def _in_range(ranges: Iterable[str], port: int | None) -> bool:
    if port is None:
        return False
    for each in ranges:
        low, _, high = each.partition("-")
        if int(low) <= port <= int(high or low):
            return True
    return False


def _covers(pattern: tuple[str, ...], path: tuple[str, ...] | None) -> bool:
    """Whether an option is the one that is named, or lies in it."""
    return (
        path is not None
        and len(pattern) <= len(path)
        and all(fnmatch.fnmatchcase(part, wanted) for part, wanted in zip(path, pattern, strict=False))
    )


def _same(wanted: Any, held: Any) -> bool:
    """Equality of JSON values: true is no 1, and 1.0 is one."""
    if isinstance(wanted, dict) and isinstance(held, dict):
        return wanted.keys() == held.keys() and all(_same(wanted[key], held[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(held, list):
        return len(wanted) == len(held) and all(map(_same, wanted, held))
    return isinstance(wanted, bool) == isinstance(held, bool) and bool(wanted == held)


def _within(hours: str, at: time) -> bool:
    start, end = (time.fromisoformat(part) for part in hours.split("-"))
    now = at.replace(second=0, microsecond=0)
    return start <= now < end if start <= end else now >= start or now < end


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Read a file of rules. Raises ``InputError`` that names file, line, rule and key."""
    named = f"The file of rules {path}"
    return parse_rules(read_text(path, named, "check keeper.rules"), named)


def parse_rules(text: str, named: str = "The rules") -> tuple[Rule, ...]:
    """The rules in a text. Raises ``InputError`` that begins with ``named`` and has the line, the rule and the key."""
    document = parse_toml(text, named)
    entries = document.pop("rule", [])
    if document:
        raise InputError(f"{named}: there is no {quote(next(iter(document)), shown=True)}; rules begin with [[rule]].")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{named}: a rule begins with [[rule]].")
    if len(entries) > MAX_RULES:
        raise InputError(f"{named} has {len(entries):,} rules; the limit is {MAX_RULES:,}.")
    rules: list[Rule] = []
    for index, entry in enumerate(entries):
        try:
            rule = Rule.model_validate(entry)
        except ValidationError as error:
            raise InputError(_sentence(error, text, index, named)) from None
        if any(rule.name == other.name for other in rules):
            line = _line(text, index, "name")
            raise InputError(f"{named}, line {line}: two rules are called {quote(rule.name, shown=True)}.")
        rules.append(rule)
    return tuple(rules)


def _sentence(error: ValidationError, text: str, index: int, named: str) -> str:
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key = str(first["loc"][0]) if first["loc"] else ""
    words = {"extra_forbidden": "there is no such key", "missing": "it is needed and isn't there"}
    wrong = words.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return f"{named}, line {_line(text, index, key)}, rule {index + 1}, {key}: {wrong}."


def _line(text: str, index: int, key: str) -> int:
    """The line of a key in the rule of this index; that of its ``[[rule]]`` where the key stands on none."""
    found, header = -1, 1
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*rule\s*\]\]", line):
            found += 1
            if found > index:
                break
            header = number
        elif found == index and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
            return number
    return header


__all__ = ["DAYS", "KINDS", "Rule", "Verdict", "load_rules", "parse_rules", "strictest"]
