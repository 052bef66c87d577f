"""Verdicts: the first rule that fits decides, and no spelling gets around one."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.keeper.judge import Keeper
from tacid.keeper.rules import Verdict, parse_rules, strictest
from tacid.machine.protocol import ChangeItem, parse_proposal

NOW = datetime(2026, 12, 3, 12, 0)


def keeper(*rules: dict[str, Any]) -> Keeper:
    lines = []
    for index, rule in enumerate(rules):
        lines += ["[[rule]]", *(f"{key} = {json.dumps(value)}" for key, value in {"name": f"r{index}", **rule}.items())]
    return Keeper(parse_rules("\n".join(lines)))


def change(**said: Any) -> ChangeItem:
    return parse_proposal({"changes": [said]}).changes[0]


def verdict(judge: Keeper, user: str = "anna", **said: Any) -> Verdict:
    return judge.change(change(**said), user, NOW).verdict


ENABLE = {"kind": "service_enable", "name": "openssh"}


def test_without_a_rule_a_person_decides() -> None:
    judged = Keeper().change(change(**ENABLE), "anna", NOW)
    assert (judged.verdict, judged.rule) == (Verdict.ASK, None)


def test_the_first_rule_that_fits_decides_and_is_named() -> None:
    judge = keeper(
        {"verdict": "allow", "service": "openssh"}, {"verdict": "deny", "kind": "service_enable", "reason": "never"}
    )
    judged = judge.change(change(**ENABLE), "anna", NOW)
    assert (judged.verdict, judged.rule) == (Verdict.ALLOW, "r0")
    judged = judge.change(change(kind="service_enable", name="nginx"), "anna", NOW)
    assert (judged.verdict, judged.rule) == (Verdict.DENY, "r1")
    assert judged.why == 'The rule "r1" denies it: never.'


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "option_set", "option": "services.openssh.enable", "value": True},
        {"kind": "option_set", "option": 'services."openssh".enable', "value": True},
        {"kind": "option_set", "option": "services.openssh", "value": {"enable": True}},
        {"kind": "option_set", "option": "services.openssh", "value": {"ports": [22], "enable": True}},
        {"kind": "option_set", "option": "services.openssh.enable", "value": 1},
    ],
)
def test_a_service_that_is_denied_is_denied_however_it_is_spelled(said: dict[str, Any]) -> None:
    for rule in ({"service": "openssh"}, {"kind": "service_enable"}, {"option": "services.openssh.enable"}):
        judge = keeper({"verdict": "deny", **rule}, {"verdict": "allow"})
        assert verdict(judge, **said) is Verdict.DENY, rule
    assert verdict(keeper({"verdict": "allow", "service": "openssh"}), **said) is Verdict.ASK


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ({"kind": "service_enable", "name": "openssh"}, {"option": "services.openssh"}),
        ({"kind": "service_disable", "name": "openssh"}, {"option": "services.openssh", "value": False}),
        ({"kind": "user_add", "name": "eve"}, {"option": "users"}),
        ({"kind": "group_add", "name": "wheel"}, {"option": "users.groups.wheel"}),
        ({"kind": "package_add", "name": "nmap"}, {"option": "environment.systemPackages"}),
        (
            {"kind": "firewall_port_open", "port": 22, "protocol": "tcp"},
            {"option": "networking.firewall.allowedTCPPorts"},
        ),
    ],
)
def test_an_option_that_is_denied_is_denied_to_the_change_that_sets_it(
    typed: dict[str, Any], rule: dict[str, Any]
) -> None:
    assert verdict(keeper({"verdict": "deny", **rule}, {"verdict": "allow"}), **typed) is Verdict.DENY


@pytest.mark.parametrize(
    ("rule", "option", "value"),
    [
        ({"account": "eve"}, "users.users.eve.isNormalUser", True),
        ({"account": "eve"}, "users.users", {"eve": {"isNormalUser": True}}),
        ({"group": "wheel"}, "users.groups.wheel.members", ["eve"]),
        ({"package": "nmap"}, "environment.systemPackages", ["ripgrep", "nmap"]),
        ({"port": 22, "protocol": "tcp"}, "networking.firewall", {"allowedTCPPorts": [80, 22]}),
        ({"port": 22}, "networking.firewall.allowedUDPPorts", [22.0]),
    ],
)
def test_what_an_option_comes_to_is_judged(rule: dict[str, Any], option: str, value: Any) -> None:
    judge = keeper({"verdict": "deny", **rule}, {"verdict": "allow"})
    assert verdict(judge, kind="option_set", option=option, value=value) is Verdict.DENY
    assert verdict(judge, kind="option_set", option="networking.hostName", value="x") is Verdict.ALLOW


CHANGES = st.sampled_from([
    {"kind": "service_enable", "name": "nginx"},
    {"kind": "service_enable", "name": "openssh"},
    {"kind": "option_set", "option": "services.openssh", "value": {"enable": True}},
    {"kind": "package_add", "name": "nmap"},
    {"kind": "firewall_port_open", "port": 22, "protocol": "tcp"},
    {"kind": "user_add", "name": "eve"},
])  # fmt: skip
RULES = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["allow", "ask", "deny"])},
    optional={
        "kind": st.sampled_from(["service_enable", "option_set", "*_add", "*"]),
        "service": st.sampled_from(["nginx", "open*", "*"]),
        "option": st.sampled_from(["services", "services.openssh.enable", "users"]),
        "user": st.sampled_from(["anna", "bob"]),
    },
)


@given(st.lists(CHANGES, min_size=1, max_size=5), st.lists(RULES, max_size=5), st.randoms())
def test_no_order_of_items_loosens_a_verdict(
    items: list[dict[str, Any]], rules: list[dict[str, Any]], order: Any
) -> None:
    judge = keeper(*rules)

    def whole(said: list[dict[str, Any]]) -> Verdict:
        judged = judge.changes(parse_proposal({"changes": said}).changes, "anna", NOW)
        return strictest(each.verdict for each in judged)

    shuffled = list(items)
    order.shuffle(shuffled)
    assert whole(items) is whole(shuffled)
    singly = strictest(whole([item]) for item in items)
    assert whole(items) is singly


@given(st.lists(RULES, max_size=5))
def test_no_other_spelling_is_judged_milder_than_the_plain_one_is_denied(rules: list[dict[str, Any]]) -> None:
    judge = keeper(*rules)
    if verdict(judge, **ENABLE) is Verdict.DENY:
        for option, value in (("services.openssh.enable", True), ("services.openssh", {"enable": True})):
            assert verdict(judge, kind="option_set", option=option, value=value) is Verdict.DENY


def test_a_call_that_no_rule_names_is_asked_about_only_where_a_person_is() -> None:
    assert Keeper().call("read", "anna", NOW, server="files", person=True).verdict is Verdict.ASK
    judged = Keeper().call("read", "anna", NOW, server="files", person=False)
    assert judged.verdict is Verdict.DENY
    assert "Nobody is there" in judged.why
    allowed = keeper({"verdict": "allow", "server": "files", "tool": "re*"})
    assert allowed.call("read", "anna", NOW, server="files", person=False).verdict is Verdict.ALLOW
    assert allowed.call("read", "anna", NOW, server="web", person=False).verdict is Verdict.DENY


def test_a_clients_own_tools_are_judged_only_where_a_rule_names_them() -> None:
    judge = keeper({"verdict": "deny", "tool": "rm"}, {"verdict": "deny"})
    assert judge.client_call("ls", "anna", NOW) is None
    judged = judge.client_call("rm", "anna", NOW)
    assert judged is not None
    assert judged.verdict is Verdict.DENY
