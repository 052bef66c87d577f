from __future__ import annotations

import pytest
from pydantic import ValidationError

from tacid.jsontext import dumps
from tacid.schema.validate import Validators
from tests.bench.callset import DATA, CallSet, load_callset, value_matches


def test_the_set_has_twelve_tools_thirty_requests_and_twenty_that_want_words() -> None:
    calls = load_callset()
    assert (len(calls.catalogue), len(calls.requests), len(calls.answers)) == (12, 30, 20)
    assert {call.tool for request in calls.requests for call in request.calls} == {t.name for t in calls.catalogue}


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("Oslo", "oslo "),
        ("good morning", "Good morning."),
        (21, 21.0),
        (True, True),
        (["milk", "eggs"], ["Eggs", "milk"]),
        ({"any_of": ["06:45", "6:45"]}, "6:45"),
        ({"contains": ["report", "ready"]}, "The report is ready!"),
        ({"any_of": [["Priya"], []]}, []),
    ],
)
def test_what_a_person_would_take_as_the_same_matches(expected: object, actual: object) -> None:
    assert value_matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("Oslo", "Bergen"),
        (1, True),
        (True, 1),
        (21, "21"),
        ("21", 21),
        (["milk", "eggs"], ["milk"]),
        (["milk"], ["milk", "milk"]),
        (["milk"], "milk"),
        ({"contains": ["late"]}, 5),
        (None, False),
    ],
)
def test_another_value_or_another_type_does_not_match(expected: object, actual: object) -> None:
    assert not value_matches(expected, actual)


def test_a_call_needs_each_expected_argument_and_no_other() -> None:
    request = next(r for r in load_callset().requests if r.text.startswith("Set the thermostat"))
    assert request.right_call("thermostat_set", {"celsius": 21})
    assert request.right_call("thermostat_set", {"celsius": 21, "mode": "auto"})
    assert not request.right_call("thermostat_set", {"celsius": 21, "mode": "cool"})
    assert not request.right_call("thermostat_set", {})
    assert not request.right_call("thermostat_set", {"celsius": 21, "room": "office"})
    assert not request.right_call("light_set", {"celsius": 21})
    assert not request.right_call("thermostat_set", [21])


def test_a_set_that_expects_what_no_tool_takes_is_refused() -> None:
    calls = load_callset().model_dump()
    calls["requests"] = [{"text": "x", "calls": [{"tool": "light_set", "arguments": {"colour": "red"}}]}]
    with pytest.raises(ValidationError, match="colour"):
        CallSet.model_validate(calls)


@pytest.mark.parametrize("name", ["calls.json", "heldout.json"])
def test_expected_plain_values_are_valid_for_their_tools(name: str) -> None:
    calls = load_callset(DATA.with_name(name))
    validators = Validators(calls.catalogue)
    for request in calls.requests:
        for call in request.calls:
            plain = {k: _plain(v) for k, v in call.arguments.items()}
            assert not validators.problems(call.tool, plain), dumps(plain)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return _plain(value["any_of"][0]) if "any_of" in value else " ".join(value["contains"])
    return value
