"""Every case is either tested, or waits for a part that is really not there yet."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.case_files import cases
from tests.later import LATER_KINDS

#: Kinds whose cases are judged, and where.
TESTED = {
    "schema.": "tests/grammar/test_cases.py",
    "catalogue": "tests/grammar/test_cases.py",
    "tools.": "tests/grammar/test_cases.py",
    "narrowing": "tests/schema/test_narrow.py",
    "request.": "tests/api/test_server_cases.py",
    "security.": "tests/api/test_server_statements.py",
    "deferred": "tests/api/test_modes.py",
    "nixos.": "tests/nixos/test_cases.py",
}


def test_every_case_is_tested_or_waits_for_a_named_part() -> None:
    for one in cases():
        homes = [kind for kind in (*TESTED, *LATER_KINDS) if one.kind.startswith(kind)]
        assert len(homes) == 1, f"{one.id} ({one.kind}) belongs to {homes or 'nobody'}"


@pytest.mark.parametrize("kind", LATER_KINDS)
def test_what_cases_wait_for_is_not_there_yet(kind: str) -> None:
    subject, part = LATER_KINDS[kind]
    assert not _is_there(part), f"{part} has come ({subject}): test its cases, and take {kind} out of tests/later.py"


def _is_there(part: str) -> bool:
    try:
        if importlib.util.find_spec(part) is not None:
            return True
    except ModuleNotFoundError:
        pass
    return (Path(__file__).parents[1] / part).is_dir()


@pytest.mark.parametrize("kind", TESTED)
def test_where_cases_are_tested_they_are_read(kind: str) -> None:
    text = (Path(__file__).parents[1] / TESTED[kind]).read_text(encoding="utf-8")
    assert kind.rstrip(".") in text
