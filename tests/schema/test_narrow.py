"""Allow-lists in schemas: by the tag and not by the place, exactly, and never in silence."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Catalogue, Tool, read_tools
from tacid.errors import CatalogueError
from tacid.grammar.compile import compile_catalogue, compile_schema
from tacid.grammar.walk import accepts
from tacid.jsontext import dumps
from tacid.schema.narrow import Narrowing, narrow
from tacid.schema.validate import Validators, compile_validator

CASES = Path(__file__).parent.parent / "cases"
NAMES = ("nginx", "sshd", "postgresql")
ON = Narrowing("name", NAMES, {"op": "on"}, required=True)

TEXT = {"type": "string"}
OTHER = {
    "type": "object",
    "properties": {"op": {"const": "add"}, "name": TEXT},
    "required": ["op", "name"],
    "additionalProperties": False,
}


def tagged(tag: dict[str, Any], name: Any = TEXT, *, closed: bool = True) -> dict[str, Any]:
    closing = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": {"op": tag, "name": name}, "required": ["op"], **closing}


def listed(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"changes": {"type": "array", "items": item}},
        "required": ["changes"],
        **more,
    }


ONE = {"const": "on", "type": "string"}
NAMED = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
REF = {"$ref": "#/$defs/Named"}
OPEN_OTHER = {"properties": {"op": {"const": "add"}}, "required": ["op"]}

#: Schemas that all mean: changes, each of them on or add, each with a name. Some leave more open than others.
FORMS: dict[str, dict[str, Any]] = {
    "inline oneOf": listed({"oneOf": [tagged(ONE), OTHER]}),
    "inline anyOf": listed({"anyOf": [OTHER, tagged(ONE)]}),
    "enum of one": listed({"oneOf": [tagged({"enum": ["on"]}), OTHER]}),
    "const without type": listed({"oneOf": [tagged({"const": "on"}), OTHER]}),
    "type before and after const": listed({"oneOf": [tagged({"type": "string", "title": "t", "const": "on"}), OTHER]}),
    "name before the tag": listed(
        {"oneOf": [{"type": "object", "properties": {"name": TEXT, "op": ONE}, "required": ["op"]}, OTHER]}
    ),
    "refs in $defs": listed(
        {"$ref": "#/$defs/C"},
        **{"$defs": {"C": {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, "A": tagged(ONE), "B": OTHER}},
    ),
    "definitions": listed({"$ref": "#/definitions/C"}, definitions={"C": {"anyOf": [tagged(ONE), OTHER]}}),
    "components elsewhere": listed({"$ref": "#/components/schemas/C"}, components={"schemas": {"C": {"anyOf": [tagged(ONE), OTHER]}}}),
    "anchor": listed({"$ref": "#c"}, **{"$defs": {"X": {"$anchor": "c", "anyOf": [tagged(ONE), OTHER]}}}),
    "allOf around a ref": listed({"allOf": [{"$ref": "#/$defs/C"}]}, **{"$defs": {"C": {"oneOf": [tagged(ONE), OTHER]}}}),
    "a shared name": listed(
        {"oneOf": [tagged(ONE, {"$ref": "#/$defs/ServiceName"}), tagged({"const": "add"}, {"$ref": "#/$defs/ServiceName"})]},
        **{"$defs": {"ServiceName": {"type": "string", "description": "Its name."}}},
    ),
    "name in allOf of a shared ref": listed(
        {"oneOf": [tagged(ONE, {"allOf": [{"$ref": "#/$defs/N"}], "description": "d"}), tagged({"const": "add"}, {"$ref": "#/$defs/N"})]},
        **{"$defs": {"N": TEXT}},
    ),
    "tag beside a shared ref": listed(
        {"oneOf": [{**REF, "properties": {"op": ONE}, "required": ["op"]}, {**REF, **OPEN_OTHER}]}, **{"$defs": {"Named": NAMED}}
    ),
    "tag and shared ref in allOf": listed(
        {"oneOf": [{"allOf": [REF, {"properties": {"op": ONE}, "required": ["op"]}]}, {"allOf": [REF, OPEN_OTHER]}]},
        **{"$defs": {"Named": NAMED}},
    ),
    "tag behind a ref of its own": listed(
        {"oneOf": [tagged({"$ref": "#/$defs/On"}), OTHER]}, **{"$defs": {"On": {"const": "on"}}}
    ),
    "tag outside, field in branches": listed(
        {
            "oneOf": [
                {"properties": {"op": ONE}, "required": ["op"], "anyOf": [NAMED, {"properties": {"name": {"type": "null"}}, "required": ["name"]}]},
                OTHER,
            ]
        }
    ),
    "tag in branches, field outside": listed(
        {"type": "object", "properties": {"name": TEXT}, "oneOf": [{"properties": {"op": ONE}, "required": ["op"]}, OPEN_OTHER]}
    ),
    "tag in branches, field behind a ref": listed(
        {**REF, "oneOf": [{"properties": {"op": ONE}, "required": ["op"]}, OPEN_OTHER]}, **{"$defs": {"Named": NAMED}}
    ),
    "branches behind a ref, tag beside it": listed(
        {"oneOf": [{"$ref": "#/$defs/U", "properties": {"op": ONE}, "required": ["op"]}, OTHER]},
        **{"$defs": {"U": {"anyOf": [NAMED, {"required": ["nothing"]}]}}},
    ),
    "if and then": listed(
        {
            "type": "object",
            "properties": {"op": {"enum": ["on", "add"]}},
            "required": ["op"],
            "if": {"properties": {"op": {"const": "on"}}},
            "then": {"properties": {"name": TEXT}},
        }
    ),
    "several values in one tag": listed(tagged({"enum": ["on", "add"]})),
    "several values, in $defs": listed({"$ref": "#/$defs/C"}, **{"$defs": {"C": tagged({"type": "string", "enum": ["add", "on"]})}}),
    "several values, in a union": listed(
        {"oneOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]}, **{"$defs": {"C": tagged({"enum": ["add", "on"]})}}
    ),
    "several values with null": listed(tagged({"enum": ["add", "on", None]})),
    "union of tags": listed(tagged({"anyOf": [{"const": "on"}, {"const": "add"}]})),
    "map of changes": {
        "type": "object",
        "properties": {"changes": {"type": "array", "prefixItems": [{"oneOf": [tagged(ONE), OTHER]}], "items": {"oneOf": [tagged(ONE), OTHER]}}},
    },
    "optional union of lists": {
        "type": "object",
        "properties": {"changes": {"anyOf": [{"type": "array", "items": {"oneOf": [tagged(ONE), OTHER]}}, {"type": "null"}]}},
    },
    "closed shared ref": listed(
        {"oneOf": [{"$ref": "#/$defs/Both", "properties": {"op": {"const": "on"}}}, {"$ref": "#/$defs/Both", "properties": {"op": {"const": "add"}}}]},
        **{"$defs": {"Both": tagged(TEXT)}},
    ),
    "nullable name": listed({"oneOf": [tagged(ONE, {"anyOf": [TEXT, {"type": "null"}], "default": None}), OTHER]}),
    "nullable by type": listed({"oneOf": [tagged(ONE, {"type": ["string", "null"]}), OTHER]}),
    "untyped name": listed({"oneOf": [tagged(ONE, {}), OTHER]}),
    "name as a true schema": listed({"oneOf": [tagged(ONE, True), OTHER]}),
    "draft 7": listed(
        {"$ref": "#/definitions/C"}, **{"$schema": "http://json-schema.org/draft-07/schema#"}, definitions={"C": {"oneOf": [tagged(ONE), OTHER]}}
    ),
    "with an id": listed({"$ref": "#/$defs/C"}, **{"$id": "https://example.invalid/a.json", "$defs": {"C": {"oneOf": [tagged(ONE), OTHER]}}}),
    "recursive": listed(
        {"$ref": "#/$defs/C"},
        **{
            "$defs": {
                "C": {"oneOf": [{"$ref": "#/$defs/A"}, OTHER, {"type": "object", "properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/C"}}}, "required": ["all"]}]},
                "A": tagged(ONE),
            }
        },
    ),
}  # fmt: skip

ITEMS = [
    {k: v for k, v in (("op", op), ("name", name)) if v != "-"}
    for op, name in itertools.product(
        ["on", "add", "off", None, "-"],
        ["nginx", "postgresql", "apache", "ngin", "nginx2", "", None, 1, ["nginx"], "-"],
    )
]


def narrowed(schema: dict[str, Any], *narrowings: Narrowing) -> dict[str, Any]:
    before = copy.deepcopy(schema)
    result = narrow(Catalogue((Tool("t", "", schema),)), narrowings)["t"].parameters
    assert schema == before, "the input is not changed"
    return dict(result)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_name_is_narrowed_where_the_tag_says_so_and_nowhere_else(form: str) -> None:
    schema = FORMS[form]
    was, now = compile_validator(schema), compile_validator(narrowed(schema, ON))
    admitted = refused = 0
    for item in ITEMS:
        arguments = {"changes": [item]}
        before, after = was.is_valid(arguments), now.is_valid(arguments)
        outside = item.get("op") == "on" and "name" in item and item["name"] not in (*NAMES, None)
        if not outside:
            if (
                item.get("op") == "on"
                and item.get("name", "-") is None
                and form in ("untyped name", "name as a true schema")
            ):
                continue
            assert after == before, (item, "was", before)
            admitted += after
        else:
            assert not after, item
            refused += before
    assert admitted
    assert refused


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_narrowing_twice_is_narrowing_once(form: str) -> None:
    once = narrowed(FORMS[form], ON)
    twice = compile_validator(narrowed(once, ON))
    for item in ITEMS:
        assert twice.is_valid({"changes": [item]}) == compile_validator(once).is_valid({"changes": [item]})


def test_a_recursive_union_is_narrowed_at_every_depth() -> None:
    now = compile_validator(narrowed(FORMS["recursive"], ON))
    deep: Any = {"op": "on", "name": "apache"}
    for _ in range(5):
        deep = {"all": [deep]}
    assert not now.is_valid({"changes": [deep]})


def cases() -> list[Any]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.json"))]
    return [pytest.param(case, id=case["id"]) for case in found if case["kind"] == "narrowing"]


def of_case(given_: Any) -> list[Narrowing]:
    entries = given_ if isinstance(given_, list) else [given_]
    return [Narrowing(e["field"], tuple(e["to"]), e.get("when", {}), e.get("tool"), required=True) for e in entries]


@pytest.mark.parametrize("case", cases())
def test_the_cases(case: Any) -> None:
    validators = Validators(narrow(read_tools(case["input"]["tools"]), of_case(case["input"]["narrow"])))
    for call in case["expect"]["calls_accept"]:
        assert validators.problems(call["name"], call["arguments"]) == (), call
    for call in case["expect"]["calls_refuse"]:
        assert validators.problems(call["name"], call["arguments"]) != (), call
    assert validators.unchecked == {}


@pytest.mark.parametrize("case", cases())
def test_the_cases_in_the_grammar(case: Any) -> None:
    tools = narrow(read_tools(case["input"]["tools"]), of_case(case["input"]["narrow"]))
    rules = compile_catalogue(tools).rules
    for key, admitted in (("calls_accept", True), ("calls_refuse", False)):
        for call in case["expect"][key]:
            text = dumps({"tool": call["name"], "arguments": call["arguments"]})
            assert accepts(rules, text) is admitted, call


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_grammar_never_widens_a_narrowed_field(form: str) -> None:
    grammar = compile_schema(narrowed(FORMS[form], ON))
    for name in (*NAMES, "apache", "ngin", "nginx2", ""):
        texts = [dumps({"changes": [item]}) for item in ({"op": "on", "name": name}, {"name": name, "op": "on"})]
        assert any(accepts(grammar.rules, text) for text in texts) is (name in NAMES), (name, grammar.report)


def test_there_are_cases() -> None:
    assert len(cases()) >= 3


def test_an_empty_list_narrows_nothing() -> None:
    catalogue = Catalogue((Tool("t", "", FORMS["inline oneOf"]),))
    assert narrow(catalogue, [Narrowing("name", (), {"op": "on"}, required=True)]) == catalogue


def test_a_required_narrowing_without_a_place_is_an_error() -> None:
    schema = listed({"oneOf": [{"properties": {"kind": {"const": "on"}, "name": TEXT}}, OTHER]})
    with pytest.raises(CatalogueError, match=r'"name" \(op is on\) fits no place in the tool "t"'):
        narrow(Catalogue((Tool("t", "", schema),)), [Narrowing("name", NAMES, {"op": "on"}, "t", required=True)])
    with pytest.raises(CatalogueError, match="fits no tool"):
        narrow(Catalogue((Tool("t", "", schema),)), [ON])


_ON, _ADD = {"const": "on"}, {"const": "add"}
_IF_ON: dict[str, Any] = {"if": {"properties": {"op": _ON}}, "then": {"properties": {"name": TEXT}}}

#: Objects with room for an operation and any name, most of them by other keywords than ``properties``; and whether
#: they can be narrowed: else the tag isn't known where the field is, or the field is behind what no grammar holds.
ELSEWHERE: dict[str, tuple[dict[str, Any], bool]] = {
    "name in then": ({"properties": {"op": _ON}, "required": ["op"], **_IF_ON}, True),
    "name in then, others described": ({"properties": {"op": _ON}, "additionalProperties": TEXT, **_IF_ON}, True),
    "name in then, others unevaluated": ({"properties": {"op": _ON}, "unevaluatedProperties": False, **_IF_ON}, True),
    "name in then, two operations": (
        {"properties": {"op": {"enum": ["on", "add"]}}, "required": ["op"], "additionalProperties": TEXT, **_IF_ON},
        True,
    ),
    "name in dependencies": (
        {"properties": {"op": _ON}, "required": ["op"], "dependencies": {"op": {"properties": {"name": TEXT}}}},
        True,
    ),
    "name in dependentSchemas": (
        {"properties": {"op": _ON}, "dependentSchemas": {"op": {"properties": {"name": TEXT}}}},
        True,
    ),
    "name required, undeclared": ({"properties": {"op": _ON}, "required": ["op", "name"]}, True),
    "name required in an alternative": (
        {"properties": {"op": _ON}, "additionalProperties": True, "anyOf": [{"required": ["name"]}, {"required": ["op"]}]},
        True,
    ),
    "others allowed": ({"properties": {"op": _ON}, "additionalProperties": True}, True),
    "others described": ({"properties": {"op": _ON}, "additionalProperties": TEXT}, True),
    "others unevaluated, allowed": ({"properties": {"op": _ON}, "unevaluatedProperties": TEXT}, True),
    "two operations, name undeclared": ({"properties": {"op": {"enum": ["on", "add"]}}, "required": ["op", "name"]}, True),
    "name by a pattern": ({"properties": {"op": _ON}, "required": ["op"], "patternProperties": {"^name$": TEXT}}, True),
    "one alternative, without a tag": (
        {"properties": {"op": _ON, "name": TEXT}, "required": ["name"], "anyOf": [{"required": ["op"]}, {"properties": {"x": TEXT}}]},
        True,
    ),
    "tag in dependentSchemas": (
        {"properties": {"name": TEXT}, "required": ["name", "op"], "dependentSchemas": {"op": {"properties": {"op": _ON, "name": TEXT}}}},
        False,
    ),
    "tag required, undeclared": ({"properties": {"name": TEXT}, "required": ["name", "op"]}, False),
    "tag among others": ({"properties": {"name": TEXT}, "additionalProperties": True}, False),
    "tag any text": ({"properties": {"op": TEXT, "name": TEXT}, "required": ["op", "name"]}, False),
    "tag by a pattern": ({"properties": {"op": {"type": "string", "pattern": "^on$"}, "name": TEXT}}, False),
    "tag and name by a pattern of names": ({"patternProperties": {"^(op|name)$": TEXT}}, False),
    "both required, undeclared": ({"required": ["op", "name"]}, False),
    "a tag for some, none for others": (
        {"properties": {"name": TEXT}, "required": ["op"], "anyOf": [{"properties": {"op": _ADD}}, {"properties": {"x": TEXT}}]},
        False,
    ),
    "beside a reference that leads nowhere": ({"properties": {"op": _ON, "name": TEXT}, "$ref": "#/$defs/None"}, False),
    "listed as a value": ({"enum": [{"op": "on", "name": "evil"}, {"op": "on", "name": "nginx"}]}, False),
}  # fmt: skip


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside one that is narrowed"])
@pytest.mark.parametrize("form", ELSEWHERE, ids=str)
def test_no_object_that_speaks_of_tag_and_field_is_passed_over(form: str, beside: bool) -> None:
    said, can_be_narrowed = ELSEWHERE[form]
    item: dict[str, Any] = {"type": "object", **said}
    schema = listed({"anyOf": [tagged(ONE), item]} if beside else item)
    if not can_be_narrowed:
        with pytest.raises(
            CatalogueError, match=r'the field "name" of the tool "t": in "changes/\*" it can\'t be told'
        ):
            narrowed(schema, ON)
        return
    now = narrowed(schema, ON)
    rules, validator = compile_schema(now).rules, compile_validator(now)
    for change in ({"op": "on", "name": "evil"}, {"name": "evil", "op": "on"}):
        assert compile_validator(schema).is_valid({"changes": [change]})
        assert not validator.is_valid({"changes": [change]})
        assert not accepts(rules, dumps({"changes": [change]}))
    good = [{"op": "on", "name": "nginx"}, {"name": "nginx", "op": "on"}]
    assert all(validator.is_valid({"changes": [change]}) for change in good)
    assert any(accepts(rules, dumps({"changes": [change]})) for change in good)
    # Whoever doesn't insist is not refused.
    narrowed(schema, Narrowing("name", NAMES, {"op": "on"}))


@pytest.mark.parametrize(
    "other",
    [
        {}, {"type": "object"}, {"type": "object", "additionalProperties": True}, {"$ref": "#/$defs/Any"},
        {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        {"type": "object", "properties": {"op": TEXT}, "additionalProperties": False},
        {"type": "object", "properties": {"op": {"type": "integer"}, "name": TEXT}},
        {"type": "object", "properties": {"op": {"type": "string", "pattern": "^add"}, "name": TEXT}},
        {"type": "object", "properties": {"op": TEXT, "name": {"type": "integer"}}},
        {"type": "object", "properties": {"name": TEXT}, "required": ["op"], "anyOf": [{"properties": {"op": _ADD}}, OTHER]},
        {"enum": [{"op": "add", "name": "evil"}, {"op": "on", "name": "nginx"}, 1]},
        {"type": "array", "items": {"type": "object", "properties": {"op": _ADD, "name": TEXT}}},
    ],
)  # fmt: skip
def test_objects_that_are_others_are_left_as_they_are(other: dict[str, Any]) -> None:
    any_value = {"anyOf": [TEXT, {"type": "null"}, {"type": "object", "additionalProperties": {"$ref": "#/$defs/Any"}}]}
    schema = listed({"anyOf": [tagged(ONE), other]}, **{"$defs": {"Any": any_value}})
    now = narrowed(schema, ON)
    assert now["properties"]["changes"]["items"]["anyOf"][1] == other
    assert now["$defs"] == schema["$defs"]


def test_what_two_parts_say_of_one_member_is_looked_at_together() -> None:
    halves = [{"properties": {"x": {"properties": {"op": ONE}}}}, {"properties": {"x": {"properties": {"name": TEXT}}}}]
    with pytest.raises(CatalogueError, match='"name" of the tool "t": in "x" it can\'t be told whether "op" is "on"'):
        narrowed({"type": "object", "allOf": halves}, ON)


def test_alternatives_past_counting_are_an_error() -> None:
    choices = [{"anyOf": [{"properties": {f"a{n}": ONE}}, {"properties": {f"b{n}": ONE}}]} for n in range(20)]
    with pytest.raises(CatalogueError, match=r'the tool "t": .*too many alternatives'):
        narrowed(listed({"anyOf": [tagged(ONE), {"type": "object", "allOf": choices}]}), ON)


def test_a_required_narrowing_of_a_tool_that_is_not_offered_is_none() -> None:
    catalogue = Catalogue((Tool("t"),))
    assert narrow(catalogue, [Narrowing("name", NAMES, {"op": "on"}, "other", required=True)]) == catalogue


def test_a_definition_that_nothing_reaches_is_no_place() -> None:
    schema = listed(OTHER, **{"$defs": {"Old": tagged(ONE)}})
    with pytest.raises(CatalogueError, match="fits no"):
        narrowed(schema, ON)


def test_no_name_that_fits_is_an_error_that_names_tool_and_field() -> None:
    schema = listed({"oneOf": [tagged(ONE, {"type": "string", "maxLength": 2}), OTHER]})
    with pytest.raises(CatalogueError, match='the field "name" of the tool "t": none of the 3 names fits'):
        narrowed(schema, ON)


def test_names_that_the_field_does_not_admit_are_left_out() -> None:
    field = {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$", "description": "d", "default": "postgresql"}
    now = narrowed({"type": "object", "properties": {"name": field}}, Narrowing("name", (*NAMES, "a-b", "nginx")))
    assert now["properties"]["name"] == {
        "type": "string",
        "enum": ["nginx", "sshd"],
        "maxLength": 5,
        "pattern": "^[a-z]+$",
        "description": "d",
    }


def test_an_enum_that_stands_there_is_never_widened() -> None:
    schema = {"type": "object", "properties": {"name": {"enum": ["sshd", "apache", "nginx"]}}}
    assert narrowed(schema, Narrowing("name", NAMES))["properties"]["name"]["enum"] == ["nginx", "sshd"]
    unknown = {**schema, "$schema": "https://example.invalid/own-draft"}
    assert narrowed(unknown, Narrowing("name", NAMES))["properties"]["name"]["enum"] == ["nginx", "sshd"]


def test_two_lists_for_one_field_leave_what_both_hold() -> None:
    schema = {"type": "object", "properties": {"name": TEXT}}
    now = narrowed(schema, Narrowing("name", ("a", "b")), Narrowing("name", ("b", "c")))
    assert now["properties"]["name"]["enum"] == ["b"]


def test_alternatives_of_other_types_go_and_null_stays() -> None:
    field = {"oneOf": [{"type": "integer"}, {"type": "string", "minLength": 1}, {"type": "null"}], "description": "d"}
    now = narrowed({"type": "object", "properties": {"name": field}}, Narrowing("name", NAMES))
    assert now["properties"]["name"] == {
        "anyOf": [{"type": "string", "enum": list(NAMES), "minLength": 1}, {"type": "null"}],
        "description": "d",
    }


def test_without_tags_only_the_arguments_themselves_are_meant() -> None:
    inner = {"type": "object", "properties": {"name": TEXT}}
    schema = {"type": "object", "properties": {"name": TEXT, "inner": inner}}
    now = narrowed(schema, Narrowing("name", NAMES))
    assert now["properties"]["inner"] == inner
    assert now["properties"]["name"]["enum"] == list(NAMES)


def test_arguments_behind_a_ref_that_refers_to_itself_are_narrowed_at_the_root_only() -> None:
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {"name": TEXT, "below": {"$ref": "#/$defs/Node"}}}},
    }
    now = compile_validator(narrowed(schema, Narrowing("name", NAMES, required=True)))
    assert now.is_valid({"name": "nginx", "below": {"name": "free"}})
    assert not now.is_valid({"name": "free"})


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ({"type": "array", "items": TEXT}, [[], ["nginx"], ["nginx", "sshd"]], [["apache"], "nginx", ["nginx", "x"]]),
        ({"type": "array"}, [[], ["nginx"]], [["apache"], [1]]),
        ({"type": "array", "items": {"$ref": "#/$defs/N"}, "maxItems": 1}, [["nginx"]], [["x"], ["nginx", "sshd"]]),
        ({"type": ["array", "null"], "items": TEXT}, [None, ["nginx"]], [["x"], 1]),
        ({"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}, [None, ["nginx"]], [["x"], 1]),
        ({"anyOf": [{"type": "array", "items": TEXT}, TEXT]}, [["nginx"]], [["x"], "x"]),
        ({"anyOf": [{"type": "array", "items": TEXT, "maxItems": 1}, {"type": "array", "minItems": 3}]},
         [["nginx"], ["nginx"] * 3], [["x"], ["nginx"] * 2, ["x"] * 3]),
        ({"type": "array", "prefixItems": [TEXT], "items": TEXT}, [["nginx", "sshd"]], [["x"], ["nginx", "x"]]),
        ({"enum": [["nginx"], ["x"]]}, [["nginx"]], [["x"]]),
        ({"$ref": "#/$defs/L"}, [["nginx"]], [["x"]]),
    ],
)  # fmt: skip
def test_a_list_field_is_narrowed_in_its_items(field: Any, good: list[Any], bad: list[Any]) -> None:
    schema = {
        "type": "object",
        "properties": {"names": field},
        "$defs": {"N": TEXT, "L": {"type": "array", "items": TEXT}},
    }
    now = compile_validator(narrowed(schema, Narrowing("names[]", NAMES, required=True)))
    for value in good:
        assert now.is_valid({"names": value}), value
    for value in bad:
        assert not now.is_valid({"names": value}), value


def test_lists_of_lists() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "array", "items": TEXT}}}}
    now = compile_validator(narrowed(schema, Narrowing("n[][]", NAMES, required=True)))
    assert now.is_valid({"n": [["nginx"], []]})
    assert not now.is_valid({"n": [["x"]]})


def test_every_other_keyword_stays() -> None:
    schema = listed(
        {"oneOf": [{**tagged(ONE), "x-own": [1], "title": "T"}, OTHER], "discriminator": {"propertyName": "op"}},
        **{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-more": {"a": None}, "$comment": "c"},
    )
    now = narrowed(schema, ON)
    expected = copy.deepcopy(schema)
    expected["properties"]["changes"]["items"]["oneOf"][0]["properties"]["name"] = {
        "type": "string",
        "enum": list(NAMES),
    }
    assert now == expected
    assert json.dumps(now) == json.dumps(expected), "and in its order"


def test_a_shared_definition_stays_for_the_others_and_goes_when_nobody_is_left() -> None:
    shared = FORMS["a shared name"]
    assert narrowed(shared, ON)["$defs"] == shared["$defs"]
    alone = listed(tagged(ONE, {"$ref": "#/$defs/N"}), **{"$defs": {"N": TEXT, "Never": TEXT}})
    assert narrowed(alone, ON)["$defs"] == {"Never": TEXT}


def test_alike_tags_are_narrowed_together_without_splitting() -> None:
    schema = listed(tagged({"enum": ["on", "off"]}))
    now = narrowed(schema, ON, Narrowing("name", NAMES, {"op": "off"}, required=True))
    item = now["properties"]["changes"]["items"]
    assert "anyOf" not in item
    assert item["properties"]["name"]["enum"] == list(NAMES)


def test_two_tags_must_both_hold() -> None:
    def change(op: str, scope: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"op": {"const": op}, "scope": {"const": scope}, "name": TEXT},
            "required": ["op", "scope", "name"],
        }

    schema = listed({"oneOf": [change("on", "user"), change("on", "system"), change("add", "system")]})
    now = compile_validator(narrowed(schema, Narrowing("name", NAMES, {"scope": "system", "op": "on"}, required=True)))
    assert not now.is_valid({"changes": [{"op": "on", "scope": "system", "name": "x"}]})
    assert now.is_valid({"changes": [{"op": "on", "scope": "user", "name": "x"}]})
    assert now.is_valid({"changes": [{"op": "add", "scope": "system", "name": "x"}]})


def test_only_the_named_tool_is_narrowed() -> None:
    schema = {"type": "object", "properties": {"name": TEXT}}
    catalogue = Catalogue((Tool("a", "", schema), Tool("b", "", schema)))
    now = narrow(catalogue, [Narrowing("name", NAMES, tool="b")])
    assert now["a"] is catalogue["a"]
    assert now["b"].parameters["properties"]["name"]["enum"] == list(NAMES)


def test_a_schema_that_shares_objects_with_itself_is_narrowed_in_one_place() -> None:
    name = {"type": "string"}
    schema = listed({"oneOf": [tagged(ONE, name), tagged({"const": "add"}, name)]})
    now = compile_validator(narrowed(schema, ON))
    assert now.is_valid({"changes": [{"op": "add", "name": "free"}]})
    assert not now.is_valid({"changes": [{"op": "on", "name": "free"}]})


def test_what_is_excluded_is_not_narrowed() -> None:
    schema = {
        "type": "object",
        "properties": {"name": TEXT},
        "not": {"properties": {"name": {"type": "string", "minLength": 9}}},
    }
    assert narrowed(schema, Narrowing("name", NAMES))["not"] == schema["not"]


def test_schemas_too_deep_or_that_only_refer_to_themselves_end() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {"name": TEXT}}
    for _ in range(1000):
        deep = {"type": "object", "properties": {"x": deep}}
    with pytest.raises(CatalogueError, match="too deep"):
        narrow(Catalogue((Tool("t", "", deep),)), [Narrowing("name", NAMES)])
    for schema in (
        {"type": "object", "$ref": "#"},
        {"type": "object", "allOf": [{"$ref": "#"}], "properties": {"name": TEXT}},
        {"type": "object", "anyOf": [{"$ref": "#"}], "properties": {"name": TEXT, "op": ONE}},
        {"type": "object", "properties": {"op": {"$ref": "#/properties/op"}, "name": {"$ref": "#/properties/name"}}},
    ):
        for narrowing in (Narrowing("name", NAMES), Narrowing("name", NAMES, {"op": "on"})):
            narrow(Catalogue((Tool("t", "", schema),)), [narrowing])


@pytest.mark.parametrize(
    "junk",
    [
        {"properties": []}, {"properties": {"name": 1}}, {"properties": {"name": None, "op": 5}}, {"allOf": {}},
        {"anyOf": [1, None, []]}, {"$ref": 7}, {"$ref": "#/%ZZ"}, {"$ref": "http://x.invalid/"}, {"items": 3},
        {"properties": {"name": {"enum": 4, "type": []}}}, {"if": 1, "then": 2}, {"$defs": 3}, {"required": 1, "allOf": [{}]},
        {"properties": {"op": {"enum": []}, "name": TEXT}}, {"dependentSchemas": []}, {"type": 9, "properties": {"name": TEXT}},
    ],
)  # fmt: skip
def test_schemas_that_are_none_do_not_break_it(junk: dict[str, Any]) -> None:
    for narrowing in (Narrowing("name", NAMES), Narrowing("name[]", NAMES), Narrowing("name", NAMES, {"op": "on"})):
        for schema in (junk, {"properties": {"a": junk}}, {"allOf": [junk, {"properties": {"op": ONE, "name": TEXT}}]}):
            with contextlib.suppress(CatalogueError):
                narrow(Catalogue((Tool("t", "", schema),)), [narrowing])


def test_a_long_list_is_put_in_quickly_and_whole() -> None:
    names = tuple(f"service-{n}" for n in range(100_000))
    schema = listed(
        {"oneOf": [tagged({"const": f"op{n}"}, {"$ref": "#/$defs/N"}) for n in range(30)]},
        **{"$defs": {"N": {"type": "string", "maxLength": 256}}},
    )
    start = time.monotonic()
    now = narrowed(schema, *(Narrowing("name", names, {"op": f"op{n}"}, required=True) for n in range(3)))
    assert time.monotonic() - start < 10
    branches = now["properties"]["changes"]["items"]["oneOf"]
    assert [len(branch["properties"]["name"].get("enum", ())) for branch in branches[:4]] == [100_000] * 3 + [0]


@given(
    st.lists(st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable()), min_size=1, max_size=6, unique=True),
    st.sampled_from(sorted(FORMS)),
)
def test_any_names_in_any_form(names: list[str], form: str) -> None:
    now = compile_validator(narrowed(FORMS[form], Narrowing("name", tuple(names), {"op": "on"}, required=True)))
    for name in names:
        assert now.is_valid({"changes": [{"op": "on", "name": name}]})
        assert not now.is_valid({"changes": [{"op": "on", "name": name + "\x7f"}]})
        assert now.is_valid({"changes": [{"op": "add", "name": name + "\x7f"}]})
