"""The typed protocol: a closed union told apart by its constant, and errors that name the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Catalogue, read_tools
from tacid.errors import ProposalInvalid
from tacid.machine.protocol import (
    CHANGES,
    FACTS_GET,
    MAX_CHANGES,
    MAX_VALUE_DEPTH,
    PROPOSE_CHANGES,
    PROTOCOL_TOOLS,
    parse_proposal,
    protocol_problems,
    protocol_tools,
)
from tacid.schema.validate import Validators

SCHEMA = PROTOCOL_TOOLS[1].parameters
GOOD: list[dict[str, Any]] = [
    {"kind": "service_enable", "name": "nginx"},
    {"kind": "service_disable", "name": "getty@tty1"},
    {"kind": "service_restart", "name": "dev-disk-by\\x2dlabel-a.device"},
    {"kind": "package_add", "name": "ripgrep"},
    {"kind": "package_remove", "name": "python3Packages.requests"},
    {"kind": "option_set", "option": "services.openssh.enable", "value": True},
    {"kind": "option_set", "option": 'fileSystems."/".device', "value": {"a": [1, 2.5, None, "x", {"b": []}]}},
    {"kind": "user_add", "name": "ada"},
    {"kind": "user_remove", "name": "_apt"},
    {"kind": "group_add", "name": "web-team"},
    {"kind": "group_remove", "name": "g1"},
    {"kind": "firewall_port_open", "port": 443, "protocol": "tcp"},
    {"kind": "firewall_port_close", "port": 65535, "protocol": "udp"},
]


def proposal(*changes: Any) -> dict[str, Any]:
    return {"changes": list(changes)}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_every_kind_is_taken_by_type_and_by_schema() -> None:
    validators = Validators(Catalogue(PROTOCOL_TOOLS))
    kinds = set()
    for change in GOOD:
        [parsed] = parse_proposal(proposal(change)).changes
        assert parsed.model_dump() == change
        assert validators.problems(PROPOSE_CHANGES, proposal(change)) == ()
        kinds.add(change["kind"])
    assert len(parse_proposal(proposal(*GOOD)).changes) == len(GOOD)
    assert len(kinds) == len(CHANGES)
    assert validators.unchecked == {}


def test_the_schema_is_a_closed_union_behind_references_with_the_tag_first() -> None:
    definitions = SCHEMA["$defs"]
    assert list(SCHEMA) == ["type", "properties", "required", "additionalProperties", "$defs"]
    assert SCHEMA["properties"]["changes"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/ChangeItem"},
        "minItems": 1,
        "maxItems": MAX_CHANGES,
    }
    branches = [branch["$ref"].rpartition("/")[2] for branch in definitions["ChangeItem"]["oneOf"]]
    assert branches == [model.__name__ for model in CHANGES]
    for name in branches:
        item = definitions[name]
        tag, *_ = item["properties"]
        assert tag == "kind"
        assert item["properties"]["kind"]["const"] in {change["kind"] for change in GOOD}
        assert item["additionalProperties"] is False
        assert item["required"] == list(item["properties"])
        assert len(item["description"]) < 40


def test_the_value_of_an_option_is_recursive() -> None:
    value = SCHEMA["$defs"]["NixValue"]["anyOf"]
    assert {branch["type"] for branch in value} == {"null", "boolean", "integer", "number", "string", "array", "object"}
    text = json.dumps(value)
    assert text.count("#/$defs/NixValue") == 2


def test_the_schema_has_no_words_that_say_nothing() -> None:
    text = json.dumps(SCHEMA)
    assert '"title"' not in text
    assert "discriminator" not in text
    assert "pattern" not in text


def test_the_tools_are_offered_in_order_and_read_like_any_other() -> None:
    assert [tool.name for tool in protocol_tools()] == [FACTS_GET, PROPOSE_CHANGES]
    assert [tool.name for tool in protocol_tools(propose=False)] == [FACTS_GET]
    entries = [{"name": t.name, "description": t.description, "inputSchema": t.parameters} for t in PROTOCOL_TOOLS]
    assert read_tools(json.loads(json.dumps(entries))) == Catalogue(PROTOCOL_TOOLS)
    for tool in PROTOCOL_TOOLS:
        assert tool.description.count(".") == 1


@pytest.mark.parametrize(
    ("arguments", "pointer", "words"),
    [
        ({}, "/changes", "required"),
        (None, "", "dictionary"),
        ([], "", "dictionary"),
        (proposal(), "/changes", "at least 1"),
        (proposal(*GOOD * 3), "/changes", "at most 32"),
        ({"changes": {}}, "/changes", "list"),
        ({**proposal(GOOD[0]), "why": "x"}, "/why", "not permitted"),
        (proposal(1), "/changes/0", "dictionary"),
        (proposal(GOOD[0], {}), "/changes/1", 'has no "kind"'),
        (proposal({"kind": "service_start", "name": "a"}), "/changes/0", 'another "kind" than "service_enable"'),
        (proposal({"kind": "service_enable"}), "/changes/0/name", "required"),
        (proposal({"kind": "service_enable", "name": 5}), "/changes/0/name", "string"),
        (proposal({"kind": "service_enable", "name": ""}), "/changes/0/name", "at least 1"),
        (proposal({"kind": "service_enable", "name": "a" * 257}), "/changes/0/name", "at most 256"),
        (proposal({"kind": "service_enable", "name": "a\nb"}), "/changes/0/name", "control characters"),
        (proposal({"kind": "service_enable", "name": "\ud800"}), "/changes/0/name", "unicode"),
        (proposal({**GOOD[0], "a/b": 1}), "/changes/0/a~1b", "not permitted"),
        (proposal({**GOOD[0], "service_enable": 1}), "/changes/0/service_enable", "not permitted"),
        (proposal({"kind": "package_add", "name": "a; rm -rf /"}), "/changes/0/name", "no package name"),
        (proposal({"kind": "package_add", "name": "${x}"}), "/changes/0/name", "no package name"),
        (proposal({"kind": "package_add", "name": "a."}), "/changes/0/name", "no package name"),
        (proposal({"kind": "user_add", "name": "Bob Smith"}), "/changes/0/name", "no user or group name"),
        (proposal({"kind": "group_add", "name": "-x"}), "/changes/0/name", "no user or group name"),
        (proposal({"kind": "user_add", "name": "a\n"}), "/changes/0/name", "no user or group name"),
        (proposal({"kind": "option_set", "option": "nginx", "value": 1}), "/changes/0/option", "no path"),
        (proposal({"kind": "option_set", "option": 'a."${b}"', "value": 1}), "/changes/0/option", "no path"),
        (proposal({"kind": "option_set", "option": "a.b"}), "/changes/0/value", "required"),
        (proposal({"kind": "option_set", "option": "a.b", "value": float("nan")}), "/changes/0/value", "no value"),
        (proposal({"kind": "option_set", "option": "a.b", "value": [1, {"x": 2**63}]}), "/changes/0/value", "64 bits"),
        (proposal({"kind": "option_set", "option": "a.b", "value": deep(17)}), "/changes/0/value", "deeper than 16"),
        (proposal({"kind": "option_set", "option": "a.b", "value": deep(5000)}), "/changes/0/value", "deeper than 16"),
        (proposal({"kind": "option_set", "option": "a.b", "value": [0] * 1001}), "/changes/0/value", "1,000 parts"),
        (proposal({"kind": "option_set", "option": "a.b", "value": "x" * 65537}), "/changes/0/value", "65,536"),
        (proposal({"kind": "option_set", "option": "a.b", "value": {"x": [object()]}}), "/changes/0/value", "no value"),
        (proposal({"kind": "firewall_port_open", "port": 0, "protocol": "tcp"}), "/changes/0/port", "greater"),
        (proposal({"kind": "firewall_port_open", "port": 65536, "protocol": "tcp"}), "/changes/0/port", "less"),
        (proposal({"kind": "firewall_port_open", "port": "80", "protocol": "tcp"}), "/changes/0/port", "integer"),
        (proposal({"kind": "firewall_port_open", "port": True, "protocol": "tcp"}), "/changes/0/port", "integer"),
        (proposal({"kind": "firewall_port_open", "port": 80, "protocol": "icmp"}), "/changes/0/protocol", "tcp"),
    ],
)
def test_a_bad_proposal_names_the_field_in_one_short_sentence(arguments: Any, pointer: str, words: str) -> None:
    [first, *_] = protocol_problems(PROPOSE_CHANGES, arguments)
    assert first.pointer == pointer
    assert words in first.message
    with pytest.raises(ProposalInvalid) as caught:
        parse_proposal(arguments)
    assert caught.value.pointer == pointer
    message = str(caught.value)
    assert message.startswith("The proposal can't be taken: ")
    assert len(message) < 400
    assert "\n" not in message


def test_all_fields_that_are_wrong_are_told_at_once_up_to_a_bound() -> None:
    found = protocol_problems(
        PROPOSE_CHANGES, proposal({"kind": "firewall_port_open", "port": 0, "protocol": 1, "x": 2})
    )
    assert [problem.pointer for problem in found] == ["/changes/0/port", "/changes/0/protocol", "/changes/0/x"]
    assert len(protocol_problems(PROPOSE_CHANGES, proposal(*[{"kind": "user_add", "name": "X"}] * 32))) == 8


def test_facts_get_takes_nothing() -> None:
    assert protocol_problems(FACTS_GET, {}) == ()
    assert [p.pointer for p in protocol_problems(FACTS_GET, {"name": "hostname"})] == ["/name"]
    assert Validators(Catalogue(PROTOCOL_TOOLS)).problems(FACTS_GET, {"x": 1})


def test_tools_of_others_have_no_types_here() -> None:
    assert protocol_problems("light_set", {"anything": 1}) == ()


def test_whole_numbers_and_texts_keep_their_type() -> None:
    for value in (1, 1.0, True, "1", None, [1, 1.0, True], {"a": {"b": False}}):
        [change] = parse_proposal(proposal({"kind": "option_set", "option": "a.b", "value": value})).changes
        kept = change.model_dump()["value"]
        assert kept == value
        assert json.dumps(kept) == json.dumps(value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_json_value_is_a_value_of_an_option(value: Any) -> None:
    arguments = proposal({"kind": "option_set", "option": "a.b", "value": value})
    assert protocol_problems(PROPOSE_CHANGES, arguments) == ()
    assert Validators(Catalogue(PROTOCOL_TOOLS)).problems(PROPOSE_CHANGES, arguments) == ()


@given(JSON)
def test_anything_at_all_is_answered_with_problems_not_with_a_crash(value: Any) -> None:
    for arguments in (
        value,
        {"changes": value},
        proposal(value),
        proposal({"kind": "option_set", "option": value, "value": 1}),
    ):
        for problem in protocol_problems(PROPOSE_CHANGES, arguments):
            str(problem)


def test_a_value_may_nest_as_deep_as_it_says() -> None:
    arguments = proposal({"kind": "option_set", "option": "a.b", "value": deep(MAX_VALUE_DEPTH)})
    assert protocol_problems(PROPOSE_CHANGES, arguments) == ()
