"""``not``, ``if``, dependent schemas and unions as alternatives: together they admit what the schema admits."""

from __future__ import annotations

from typing import Any

import pytest

from tacid.schema.alternatives import MAX_ALTERNATIVES, expand, split, with_formulas
from tacid.schema.keywords import LATE, LOST, OPEN, PRESENCE
from tests.schema.plain_words import fitting, flattener

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
A, B, C = ({"required": [name]} for name in "abc")
#: All of them about something else than members alone, so that no formula will do.
A1, B1 = ({"properties": {name: {"const": 1}}, "required": [name]} for name in "ab")
SCHEMAS: tuple[Any, ...] = (
    *(True, False, {}, TEXT, {"minimum": 1}, {**A, "minProperties": 2}),
    *({"not": TEXT}, {"not": {"minimum": 2}}, {"not": A1}, {"not": {"anyOf": [TEXT, {"minimum": 2}]}}, {"not": {"not": TEXT}}),
    *({"not": True}, {"not": False}, {"type": "string", "not": {"minLength": 2}}, {"not": {"enum": [1, "a", None]}}),
    *({"if": TEXT, "then": {"minLength": 2}}, {"if": TEXT, "else": {"minimum": 2}}, {"if": TEXT, "then": {"minLength": 2}, "else": {"minimum": 2}}),
    *({"if": TEXT}, {"if": True, "then": WHOLE}, {"if": False, "then": TEXT, "else": WHOLE}, {"if": A1, "then": B, "else": {"maxProperties": 1}}),
    *({"if": A, "then": B1}, {"if": A, "then": B1, "properties": {"a": WHOLE}}, {"type": "object", "if": A1, "then": {"properties": {"b": TEXT}}}),
    *({"dependentSchemas": {"a": B1}}, {"dependentSchemas": {"a": B1, "b": {"maxProperties": 2}}}, {"dependencies": {"a": B1, "b": ["c"]}}),
    *({"dependentSchemas": {"a": False}}, {"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"], "b": ["c"]}, "maxProperties": 2}),
    *({"type": "string", "dependentSchemas": {"a": B1}}, {"type": ["object", "null"], "dependentSchemas": {"a": B1}}, {**A, "dependentSchemas": {"a": B1}}),
    *({"dependentSchemas": {"a": {"properties": {"b": WHOLE}}}, "properties": {"c": WHOLE}},),
    *({"allOf": [{"not": TEXT}, {"not": WHOLE}]}, {"not": TEXT, "allOf": [{"not": WHOLE}, {"if": A1, "then": B}]}),
    *({"allOf": [{"if": A1, "then": B}, {"if": B1, "then": C}]}, {"if": A, "then": B}, {"not": A}, {"anyOf": [A, B]}, {"oneOf": [A, B]}),
    *({"type": "object", "oneOf": [A, B], "maxProperties": 1}, {"anyOf": [{**A, "type": "object"}, {**B, "type": "object"}]}),
    *({"not": {"type": "object"}, "minimum": 1}, {"type": ["object", "array"], "anyOf": [A, {"type": "object", "maxProperties": 0}]}),
)  # fmt: skip
UNIONS: tuple[Any, ...] = (
    *({"anyOf": [TEXT, WHOLE]}, {"oneOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, {"minLength": 2}]}, {"anyOf": [A1, B1]}, {"anyOf": [TEXT, True]}),
    *({"anyOf": [TEXT, {"minimum": 2}], "minLength": 2}, {"anyOf": [False, TEXT]}, {"anyOf": [TEXT], "oneOf": [{"minLength": 2}]}),
    *({"anyOf": [{"not": TEXT}, {"minLength": 2}]}, {"anyOf": [{"if": TEXT, "then": {"minLength": 2}}]}, {"anyOf": [{"anyOf": [TEXT, WHOLE]}, {"type": "null"}]}),
    *({"anyOf": [WHOLE, {"minimum": 3}, {"multipleOf": 2}, {"const": 0.5}], "type": "number"}, {"anyOf": [TEXT, WHOLE], "not": {"const": 1}}),
    *({"allOf": [{"anyOf": [TEXT, WHOLE]}, {"anyOf": [{"minLength": 2}, {"minimum": 2}]}]},),
    *({"anyOf": [{"if": {"const": 1}, "else": kind} for kind in (TEXT, {"type": "boolean"})]},),
)  # fmt: skip
UNEVALUATED: tuple[Any, ...] = (
    {"unevaluatedProperties": False, "properties": {"a": True}},
    {"unevaluatedProperties": WHOLE, "properties": {"a": True}, "type": "object"},
    {"unevaluatedProperties": False, "anyOf": [A1, B1]},
    {"unevaluatedProperties": False, "properties": {"c": True}, "anyOf": [A1, B1]},
    {
        "unevaluatedProperties": WHOLE,
        "anyOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}, "required": ["b"]}],
    },
    {"unevaluatedProperties": False, "allOf": [{"anyOf": [A1, {**B1, "maxProperties": 2}]}]},
    {"unevaluatedItems": False, "prefixItems": [True, True]},
    {"unevaluatedItems": WHOLE, "anyOf": [{"minItems": 2}, {"maxItems": 1}], "type": "array"},
    {"allOf": [{"unevaluatedProperties": False, "properties": {"a": True}}], "properties": {"b": True}},
    {"allOf": [{"unevaluatedProperties": False, "anyOf": [A1, B1]}], "minProperties": 2},
    {"allOf": [{"unevaluatedProperties": False, "properties": {"a": True}, "minimum": 1}, {"anyOf": [TEXT, A]}]},
    {"allOf": [{"unevaluatedProperties": False, "anyOf": [A1, B1]}], "properties": {"c": True}},
    {"allOf": [{"unevaluatedProperties": WHOLE, "anyOf": [A1, B1]}], "properties": {"c": TEXT}},
    {"allOf": [{"unevaluatedProperties": False, "anyOf": [A1, B1]}], "anyOf": [{"properties": {"c": True}}, TEXT]},
    {"allOf": [{"unevaluatedProperties": False, "anyOf": [A1, B1]}, {"unevaluatedProperties": False, "anyOf": [A1]}]},
    {"allOf": [{"unevaluatedProperties": False, "dependentSchemas": {"a": B1}, "properties": {"a": True}}]},
)


def alternatives(schema: Any, way: Any) -> tuple[list[Any], list[str]]:
    """The alternatives of a schema, and what was lost."""
    lost: list[str] = []
    flat = flattener().flat
    return way(flat(schema), flat, lost.append), lost


@pytest.mark.parametrize("schema", [*SCHEMAS, *UNIONS], ids=str)
def test_what_a_schema_admits_one_of_its_alternatives_admits_and_no_more(schema: Any) -> None:
    found, lost = alternatives(schema, split)
    assert lost == []
    fits = [fitting(one) for one in found]
    wanted = fitting(schema)
    assert [v for v in fitting(True) if any(v is w for w in wanted)] == wanted
    assert [v for v in fitting(True) if any(v is f for some in fits for f in some)] == wanted
    assert not any(
        word in one
        for one in found
        if isinstance(one, dict)
        for word in ("not", "if", "then", "else", "dependentSchemas", "dependencies", "dependentRequired")
    )


@pytest.mark.parametrize("schema", [*SCHEMAS, *UNIONS, *UNEVALUATED], ids=str)
def test_alternatives_without_unions_admit_together_what_the_schema_admits(schema: Any) -> None:
    found, lost = alternatives(schema, expand)
    assert lost == []
    wanted = fitting(schema)
    fits = [fitting(one) for one in found]
    assert [v for v in fitting(True) if any(v is f for some in fits for f in some)] == wanted
    words = ("not", "if", "anyOf", "oneOf", "allOf", "unevaluatedProperties", "unevaluatedItems")
    assert not any(word in one for one in found if isinstance(one, dict) for word in words)


def test_what_anyone_fits_is_the_only_alternative() -> None:
    assert alternatives(True, split) == alternatives(True, expand) == ([True], [])
    assert alternatives(False, split) == alternatives(False, expand) == ([], [])
    assert alternatives({"not": {"minimum": 1}, "type": "string"}, split) == ([], [])


def test_alternatives_come_in_the_order_in_which_they_are_said_and_each_once() -> None:
    assert alternatives({"anyOf": [TEXT, WHOLE, {"type": "null"}]}, expand)[0] == [TEXT, WHOLE, {"type": "null"}]
    assert alternatives({"anyOf": [TEXT, WHOLE, TEXT, WHOLE]}, expand)[0] == [TEXT, WHOLE]
    then, other = {"type": "string", "minLength": 2}, {"type": ["object", "array", "number", "boolean", "null"]}
    assert alternatives({"if": TEXT, "then": {"minLength": 2}}, split)[0] == [
        {"minLength": 2, **then, OPEN: True},
        {**other, OPEN: True},
    ]
    found, _ = alternatives({"type": ["number", "string"], "if": TEXT, "then": {"minLength": 2}}, split)
    assert [one["type"] for one in found] == ["string", "number"]


def test_members_of_a_condition_leave_open_what_was_open_and_have_no_place_in_the_order() -> None:
    schema = {
        "type": "object",
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"properties": {"b": TEXT}},
    }
    met, *unmet = alternatives(schema, split)[0]
    assert met[OPEN] is True
    assert met[LATE] == ["a"]
    assert all(one[OPEN] is True for one in unmet)
    declared = {**schema, "properties": {"a": WHOLE}}
    met, *unmet = alternatives(declared, split)[0]
    assert OPEN not in met
    assert LATE not in met
    assert not any(LATE in one for one in unmet)
    beside = {**schema, "then": {"properties": {"a": WHOLE, "b": TEXT}}}
    met, *unmet = alternatives(beside, split)[0]
    assert LATE not in met
    (refused,) = alternatives(
        {"type": "object", "not": {"properties": {"z": {"not": WHOLE}}}, "required": ["a"]}, split
    )[0]
    assert refused[LATE] == ["z"]
    assert OPEN not in refused
    met, *_ = alternatives({**schema, "properties": {"q": TEXT}}, split)[0]
    assert met[LATE] == ["a"]
    late = {**schema, "properties": {"a": WHOLE, "q": TEXT}, LATE: ["a", "q"]}
    met, *_ = split(late, flattener().flat, [].append)
    assert sorted(met[LATE]) == ["a", "q"]


def test_a_member_that_brings_a_schema_is_there_or_is_not() -> None:
    schema = {"type": "object", "properties": {"a": WHOLE}, "dependentSchemas": {"a": {"properties": {"b": WHOLE}}}}
    without, together = alternatives(schema, split)[0]
    assert without == {"type": "object", "properties": {"a": WHOLE}, PRESENCE: ["not", ["key", "a"]]}
    assert together == {"type": "object", "properties": {"a": WHOLE, "b": WHOLE}, "required": ["a"]}
    bare = {"type": "object", "dependentSchemas": {"a": {"properties": {"b": WHOLE}}}}
    assert [one.get(OPEN) for one in alternatives(bare, split)[0]] == [None, True]
    assert alternatives({**bare, **A}, split)[0] == [
        {"type": "object", "required": ["a"], "properties": {"b": WHOLE}, OPEN: True}
    ]
    (only,) = alternatives({"type": ["string", "null"], "dependentSchemas": {"a": B1}, "minLength": 1}, split)[0]
    assert only == {"type": ["string", "null"], "minLength": 1}


@pytest.mark.parametrize(
    ("schema", "lost"),
    [
        ({"not": {"pattern": "a", "format": "date"}, "minLength": 1}, ["not"]),
        ({"not": 5, "minLength": 1}, ["not"]),
        ({"if": {"format": "date"}, "then": {"minLength": 2}, "else": {"type": "number"}}, ["if"]),
        ({"dependentSchemas": 5, "minLength": 1}, ["dependentSchemas"]),
        ({"dependencies": [1], "minLength": 1}, ["dependencies"]),
    ],
    ids=str,
)
def test_what_cannot_be_turned_round_is_told_and_leaves_the_object_open(schema: Any, lost: list[str]) -> None:
    for way in (split, expand):
        found, told = alternatives(schema, way)
        assert told == lost
        assert all(LOST not in one for one in found)
    assert all(one.get(OPEN) is True for one in found)


def test_a_condition_that_cannot_be_turned_round_still_holds_on_one_side_or_the_other() -> None:
    found, lost = alternatives(
        {"if": {"format": "date"}, "then": {"type": "string"}, "else": {"type": "number"}}, split
    )
    assert lost == ["if"]
    assert [one["type"] for one in found] == ["string", "number"]


@pytest.mark.parametrize(
    ("schema", "lost"),
    [
        ({"anyOf": []}, "anyOf"),
        ({"anyOf": "x"}, "anyOf"),
        ({"oneOf": {}}, "oneOf"),
        ({"$dynamicRef": "#x"}, "$dynamicRef"),
        ({"$recursiveRef": "#"}, "$recursiveRef"),
    ],
)
def test_unions_that_are_none_are_told(schema: Any, lost: str) -> None:
    assert alternatives({"minLength": 1, **schema}, expand) == ([{"minLength": 1, LOST: [lost]}], [lost])
    assert alternatives({"minLength": 1, **schema, "$ref": "#/nowhere"}, expand)[0][0][LOST] == ["$ref", lost]


def test_one_of_branches_that_may_fit_together_is_told() -> None:
    found, lost = alternatives({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, expand)
    assert lost == ["oneOf"]
    assert found == [{"minimum": 1}, {"maximum": 3}]
    assert alternatives({"oneOf": [TEXT, WHOLE]}, expand) == ([TEXT, WHOLE], [])


def test_branches_that_may_fit_together_are_combined_up_to_four() -> None:
    branches = [{"minimum": 1}, {"maximum": 3}, {"multipleOf": 2}, {"multipleOf": 3}]
    found, lost = alternatives({"anyOf": branches}, expand)
    assert lost == []
    assert len(found) == 15
    assert {"minimum": 1, "maximum": 3, "multipleOf": 6} in found
    with pytest.raises(OverflowError):
        alternatives({"anyOf": [*branches, {"minimum": 9}]}, expand)
    five = [{"const": index} for index in range(5)]
    assert [one["const"] for one in alternatives({"anyOf": five}, expand)[0]] == [0, 1, 2, 3, 4]


def _many(count: int) -> Any:
    return {
        "allOf": [
            {"anyOf": [{"type": "object", "properties": {f"{i}": {"const": v}}, "required": [f"{i}"]} for v in (0, 1)]}
            for i in range(count)
        ]
    }


def test_as_many_alternatives_as_there_may_be() -> None:
    assert MAX_ALTERNATIVES == 128
    many = [{"type": "object", "properties": {"a": {"const": index}}, "required": ["a"]} for index in range(129)]
    assert alternatives({"anyOf": many[:128]}, expand) == (many[:128], [])
    with pytest.raises(OverflowError):
        alternatives({"anyOf": many}, expand)
    assert len(alternatives(_many(6), expand)[0]) == 64
    with pytest.raises(OverflowError):
        alternatives(_many(8), expand)


def test_an_alternative_that_is_reached_in_many_ways_counts_once() -> None:
    unions = [{"anyOf": [{"minLength": size}, {"minimum": size}]} for size in range(8, 0, -1)]
    found, lost = alternatives({"allOf": unions}, expand)
    assert lost == []
    assert len(found) == 17
    assert {"minLength": 8, "minimum": 3} in found


def test_too_many_conditions_are_told_and_the_rest_still_holds() -> None:
    parts = [
        {"if": {"properties": {f"{i}": {"const": 1}}, "required": [f"{i}"]}, "then": {"properties": {f"x{i}": WHOLE}}}
        for i in range(12)
    ]
    found, lost = alternatives({"type": "object", "allOf": parts}, split)
    assert set(lost) == {"if"}
    assert 32 < len(found) <= MAX_ALTERNATIVES
    one = {"1": 1, "x1": 2}
    assert any(fitting(alternative, (one,)) for alternative in found)
    dependent = {"type": "object", "dependentSchemas": {f"{i}": {"properties": {f"x{i}": WHOLE}} for i in range(12)}}
    found, lost = alternatives(dependent, split)
    assert set(lost) == {"dependentSchemas"}
    assert 32 < len(found) <= MAX_ALTERNATIVES


def test_unevaluated_members_beside_what_is_turned_round_are_told() -> None:
    for inner in ({"not": A1}, {"if": A1, "then": B1}, {"anyOf": [{"not": A1}, B1]}):
        schema = {"type": "object", "unevaluatedProperties": False, **inner}
        assert "unevaluatedProperties" in alternatives(schema, expand)[1]
    schema = {"type": "array", "unevaluatedItems": False, "not": {"maxItems": 1}}
    assert alternatives(schema, expand)[1] == ["unevaluatedItems"]
    assert alternatives({"type": "object", "anyOf": [{"not": A1}, B1], "maxProperties": 2}, expand)[1] == []


def test_the_test_of_a_condition_without_consequence_evaluates() -> None:
    schema = {
        "type": "object",
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "unevaluatedProperties": False,
    }
    found, lost = alternatives(schema, split)
    assert lost == []
    assert len(found) > 1
    assert [one for one in found if one.get("required") == ["a"]]
    assert len(alternatives({k: v for k, v in schema.items() if k != "unevaluatedProperties"}, split)[0]) == 1


def test_what_speaks_of_members_alone_becomes_one_formula() -> None:
    # What is no object fits any list of required members.
    assert with_formulas({"not": A}) == {"type": "object", PRESENCE: ["not", ["key", "a"]]}
    assert with_formulas({"not": {"type": "object", **A}, "minimum": 1}) == {
        "minimum": 1,
        PRESENCE: ["not", ["key", "a"]],
    }
    assert with_formulas({"type": "object", "anyOf": [A, {"minimum": 1}]}) == {
        "type": "object",
        "anyOf": [A, {"minimum": 1}],
    }
    nullable = {"type": ["object", "null"], **A}
    assert "anyOf" not in with_formulas({"type": "object", "anyOf": [nullable, B]})  # type: ignore[operator]
    assert "anyOf" in with_formulas({"anyOf": [nullable, B]})  # type: ignore[operator]
    held = with_formulas({"type": "object", "dependentRequired": {"a": ["b"]}, "dependencies": {"a": B1, "c": ["b"]}})
    assert held["dependencies"] == {"a": B1}  # type: ignore[index]
    assert "dependentRequired" not in held  # type: ignore[operator]
    assert with_formulas({"dependentRequired": 5, "dependencies": {}}) == {"dependentRequired": 5}
    both = with_formulas({"anyOf": [A, B], "allOf": [{"not": A1}, {"not": {**C, "type": "object"}}]})
    assert both == {
        PRESENCE: ["and", ["not", ["and", ["not", ["key", "a"]], ["not", ["key", "b"]]]], ["not", ["key", "c"]]],
        "not": A1,
    }
    only = with_formulas({"oneOf": [{**A, "type": "object"}, {**B, "type": "object"}]})
    assert only["type"] == "object"  # type: ignore[index]
    assert "oneOf" not in only  # type: ignore[operator]
