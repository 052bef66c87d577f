"""The file of rules: what it takes, and what it says of what it doesn't take."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tacid.errors import InputError
from tacid.keeper.rules import Rule, Verdict, load_rules, parse_rules, strictest
from tacid.keeper.subject import View

FILE = """
[[rule]]
name = "web"
verdict = "allow"
kind = "service_enable"
service = ["nginx", "caddy*"]

[[rule]]
name = "at night"
verdict = "deny"
hours = "22:00-06:00"
days = ["sat", "sun"]
"""
NOON = datetime(2026, 12, 3, 12, 0)  # a Thursday


def fits(view: View, at: datetime = NOON, **said: Any) -> bool:
    return Rule.model_validate({"name": "r", "verdict": "deny", **said}).fits(view, "anna", at)


def test_a_file_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(FILE, encoding="utf-8")
    web, night = load_rules(path)
    assert (web.name, web.verdict, web.service) == ("web", Verdict.ALLOW, ("nginx", "caddy*"))
    assert night.days == ("sat", "sun")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]]\nname = 'a'\nverdict = 'maybe'\n", "line 3, rule 1, verdict"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\n\n[[rule]]\nname='b'\nverdict='ask'\nservices = 'x'\n", "line 8, rule 2, services: there is no such key"),
        ("[[rule]]\nverdict = 'ask'\n", "line 1, rule 1, name: it is needed"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\nkind = 'service_start'\n", "line 4, rule 1, kind: no change is of this kind"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\nport = '80-70'\n", "line 4, rule 1, port"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\nport = 0\n", "line 4, rule 1, port"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\nhours = '8-18'\n", "line 4, rule 1, hours"),
        ("[[rule]]\nname = 'a'\nverdict = 'ask'\n[[rule]]\nname = 'a'\nverdict = 'ask'\n", 'line 5: two rules are called "a"'),
        ("[rules]\n", 'there is no "rules"; rules begin with [[rule]]'),
        ("rule = 3\n", "a rule begins with [[rule]]"),
        ("[[rule]\n", "at line 1"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_line_rule_and_key(text: str, said: str) -> None:
    with pytest.raises(InputError) as told:
        parse_rules(text, "The file of rules r.toml")
    assert str(told.value).startswith("The file of rules r.toml")
    assert said in str(told.value)


def test_a_file_that_is_not_there_is_told_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"keeper\.rules"):
        load_rules(tmp_path / "none.toml")


def test_all_that_a_rule_names_must_fit() -> None:
    nginx = View("service_enable", service="nginx")
    assert fits(nginx)
    assert fits(nginx, service="ng*", kind="service_*", user="anna")
    assert not fits(nginx, service="ng*", user="bob")
    assert not fits(nginx, package="nginx")
    assert not fits(nginx, service="NGINX")


@pytest.mark.parametrize(
    ("wanted", "path", "fitting"),
    [
        ("services.nginx", ("services", "nginx", "enable"), True),
        ("services.nginx", ("services", "nginx"), True),
        ("services.nginx", ("services",), False),
        ("services.*.enable", ("services", "nginx", "enable"), True),
        ("services.*.enable", ("services", "nginx", "package"), False),
        ('services."a.b"', ("services", "a.b", "x"), True),
        ("services.a.b", ("services", "a.b", "x"), False),
    ],
)
def test_an_option_is_compared_by_its_parts(wanted: str, path: tuple[str, ...], fitting: bool) -> None:
    assert fits(View("option_set", option=path, value=1), option=wanted) is fitting


def test_ports_are_ranges() -> None:
    for port, fitting in ((8000, True), (8999, True), (9000, False), (22, True)):
        assert fits(View("firewall_port_open", port=port, protocol="tcp"), port=["8000-8999", 22]) is fitting
    assert not fits(View("service_enable", service="x"), port=[22])


def test_values_are_compared_as_json() -> None:
    def holds(wanted: Any, held: Any) -> bool:
        return fits(View("option_set", option=("a", "b"), value=held), value=wanted)

    assert holds(True, True)
    assert not holds(1, True)
    assert holds(1, 1.0)
    assert holds([1, 2], 2)
    assert holds([[1, True]], [1, True])
    assert not holds([[1, 1]], [1, True])
    assert holds({"a": 1}, {"a": 1})
    assert not holds({"a": 1}, {"a": True})


def test_hours_may_go_over_midnight_and_days_are_local() -> None:
    view = View("service_enable", service="x")
    assert fits(view, hours="08:00-18:00", days="thu")
    assert not fits(view, days="fri")
    assert not fits(view, hours="22:00-06:00")
    assert fits(view, at=NOON.replace(hour=23), hours="22:00-06:00")
    assert fits(view, at=NOON.replace(hour=5, minute=59), hours="22:00-06:00")
    assert not fits(view, at=NOON.replace(hour=6), hours="22:00-06:00")


def test_the_strictest_of_nothing_is_allow() -> None:
    assert strictest([]) is Verdict.ALLOW
    assert strictest([Verdict.ASK, Verdict.DENY, Verdict.ALLOW]) is Verdict.DENY
