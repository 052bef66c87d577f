"""Two schemas as one, pair by pair of all keywords, against what `jsonschema-rs` says of both."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tacid.schema.keywords import ALSO, EXCEPT, FRACTION, LATE, LOST, OPEN, PRESENCE
from tacid.schema.merge import both, contained, fits_ours, fits_type, join, merge, settled, without_objects
from tests.schema.plain_words import fitting

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
SCHEMAS: tuple[Any, ...] = (
    *(True, False, {}, TEXT, WHOLE, {"type": "number"}, {"type": ["integer", "string"]}, {"type": ["number", "null"]}),
    *({"type": ["object", "array"]}, {"type": "object"}, {"type": "string", "nullable": True}, {"nullable": True}),
    *({"enum": [1, "a", None]}, {"enum": [1.0, 2, {"a": 1}]}, {"const": 1}, {"const": "a"}, {"const": {"a": 1}}),
    *({"minimum": 1}, {"minimum": 3}, {"maximum": 4}, {"maximum": 2.5}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 4}),
    *({"multipleOf": 2}, {"multipleOf": 3}, {"multipleOf": 0.5}, {"multipleOf": 1.5}),
    *({"minLength": 1}, {"minLength": 3}, {"maxLength": 1}, {"maxLength": 3}, {"pattern": "a"}, {"pattern": "b|x"}),
    *({"minItems": 1}, {"minItems": 3}, {"maxItems": 1}, {"maxItems": 3}, {"uniqueItems": True}, {"uniqueItems": False}),
    *({"items": WHOLE}, {"items": TEXT}, {"items": False}, {"items": True}, {"prefixItems": [WHOLE]}, {"items": [TEXT]}),
    *({"prefixItems": [WHOLE, TEXT], "items": False}, {"items": [WHOLE, {"minimum": 2}], "additionalItems": WHOLE}),
    *({"contains": {"const": 1}}, {"contains": WHOLE, "minContains": 2}, {"contains": WHOLE, "maxContains": 2}),
    *({"contains": {"const": 1}, "minContains": 0, "maxContains": 1}, {"contains": TEXT}),
    *({"properties": {"a": WHOLE}}, {"properties": {"a": {"minimum": 3}, "b": TEXT}}, {"properties": {"a": False}}),
    *({"additionalProperties": False}, {"additionalProperties": WHOLE}, {"additionalProperties": {"minimum": 3}}),
    *({"properties": {"a": True}, "additionalProperties": False}, {"properties": {"b": True}, "additionalProperties": TEXT}),
    *({"patternProperties": {"^x": WHOLE}}, {"patternProperties": {"^x": {"minimum": 3}, "b": TEXT}}),
    *({"patternProperties": {"^x": True}, "additionalProperties": False}, {"patternProperties": {"a": WHOLE}, "additionalProperties": TEXT}),
    *({"properties": {"a": True, "x1": WHOLE}, "patternProperties": {"b": True}, "additionalProperties": False},),
    *({"required": ["a"]}, {"required": ["b", "a"]}, {"minProperties": 1}, {"minProperties": 2}, {"maxProperties": 1}),
    *({"maxProperties": 2}, {"propertyNames": {"maxLength": 1}}, {"propertyNames": {"pattern": "a|x"}}),
    *({"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"a": ["c"], "b": ["c"]}}),
    *({"dependentSchemas": {"a": {"required": ["b"]}}}, {"dependentSchemas": {"a": {"maxProperties": 1}, "b": False}}),
    *({"dependencies": {"a": ["b"]}}, {"dependencies": {"a": {"minProperties": 2}, "c": ["b"]}}, {"dependencies": {"a": ["c"]}}),
    *({"not": TEXT}, {"not": {"required": ["a"]}}, {"anyOf": [TEXT, {"minimum": 3}]}, {"anyOf": [{"required": ["a"]}, WHOLE]}),
    *({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"oneOf": [WHOLE, {"minimum": 3}]}, {"allOf": [{"minLength": 1}]}),
    *({"allOf": [{"minimum": 1}, {"type": "number"}]}, {"if": TEXT, "then": {"minLength": 2}}, {"if": TEXT, "else": WHOLE}),
    *({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}},),
    *({EXCEPT: [1, "a"]}, {EXCEPT: [2, {"a": 1}]}, {FRACTION: True}, {PRESENCE: ["key", "a"]}, {PRESENCE: ["not", ["key", "b"]]}),
    *({PRESENCE: ["other", ["a", "b"]]}, {"type": "object", "required": ["a"], "properties": {"a": False}}),
    *({ALSO: [{"contains": TEXT}]}, {"contains": WHOLE, ALSO: [{"contains": TEXT, "maxContains": 1}]}),
    *({"type": "integer", "minimum": 2, "maximum": 6, "multipleOf": 2}, {"type": "string", "minLength": 1, "pattern": "a"}),
)  # fmt: skip


@pytest.mark.parametrize("one", SCHEMAS, ids=str)
def test_a_join_admits_what_both_admit_and_no_more(one: Any) -> None:
    left = fitting(one)
    for other in SCHEMAS:
        right = fitting(other)
        joined = join(one, other)
        wanted = [value for value in left if value in right and any(value is v for v in right)]
        found = fitting(joined)
        assert [v for v in wanted if not any(v is f for f in found)] == [], (other, joined)
        if not isinstance(joined, dict) or LOST not in joined:
            assert [v for v in found if not any(v is w for w in wanted)] == [], (other, joined)
        together = both(one, other)
        if not isinstance(together, dict) or LOST not in together:
            assert fitting(together) == wanted, (other, together)


@pytest.mark.parametrize("one", SCHEMAS, ids=str)
def test_a_merge_says_it_all_or_nothing(one: Any) -> None:
    left = fitting(one)
    for other in SCHEMAS:
        merged = merge(one, other)
        if merged is not None:
            wanted = [value for value in left if any(value is v for v in fitting(other))]
            assert fitting(merged) == wanted, (other, merged)


def test_what_is_lost_in_a_join_is_named_and_nothing_else_is() -> None:
    lossy = [
        (one, other, joined[LOST])
        for one, other in product(SCHEMAS, SCHEMAS)
        if isinstance(joined := join(one, other), dict) and LOST in joined
    ]
    assert lossy == []
    assert join({"format": "date"}, {"format": "time"}) == {"format": "date", LOST: ["format"]}
    assert join({"format": "date", LOST: ["x"]}, {"format": "time"}) == {"format": "date", LOST: ["x", "format"]}
    assert join({LOST: ["x", "y"]}, {LOST: ["y", "z"]}) == {LOST: ["x", "y", "z"]}
    assert join({"minimum": "a"}, {"minimum": 1}) == {"minimum": "a", LOST: ["minimum"]}
    assert join({"minimum": 1}, {"minimum": "a"}) == {"minimum": 1, LOST: ["minimum"]}
    assert join({"maximum": 1}, {"maximum": True}) == {"maximum": 1, LOST: ["maximum"]}
    assert join({"maxLength": None}, {"maxLength": 3}) == {"maxLength": None, LOST: ["maxLength"]}
    assert join({"pattern": 1}, {"pattern": "a"}) == {"pattern": 1, LOST: ["pattern"]}
    assert join({"pattern": "a"}, {"pattern": 1}) == {"pattern": "a", LOST: ["pattern"]}
    assert join({"required": "a"}, {"required": ["a"]}) == {"required": "a", LOST: ["required"]}
    assert join({"required": ["a"]}, {"required": "a"}) == {"required": ["a"], LOST: ["required"]}
    assert join({"dependentRequired": 1}, {"dependentRequired": {}}) == {
        "dependentRequired": 1,
        LOST: ["dependentRequired"],
    }
    assert join({"dependentRequired": {}}, {"dependentRequired": 1}) == {
        "dependentRequired": {},
        LOST: ["dependentRequired"],
    }
    for step in (0, -1, "x", True):
        assert join({"multipleOf": step}, {"multipleOf": 2}) == {"multipleOf": step, LOST: ["multipleOf"]}
        assert join({"multipleOf": 2}, {"multipleOf": step}) == {"multipleOf": 2, LOST: ["multipleOf"]}
    # The least that is a multiple of both has more digits than a double.
    assert join({"multipleOf": 0.1111111111111111}, {"multipleOf": 0.1234567890123457})[LOST] == ["multipleOf"]
    assert join({"properties": 1, "minimum": 2}, {"properties": {"a": True}}) == {
        "properties": {"a": True},
        "minimum": 2,
        LOST: ["properties"],
    }
    assert join({"patternProperties": 1}, {"properties": {"a": True}}) == {
        "properties": {"a": True},
        LOST: ["patternProperties"],
    }
    unsure = join(
        {"patternProperties": {r"^(a+)\1$": True}, "additionalProperties": False}, {"properties": {"b": True}}
    )
    assert unsure[LOST] == ["additionalProperties"]
    assert unsure["properties"] == {"b": True}
    for one, other, word in (
        ({"unevaluatedProperties": False}, {"additionalProperties": True}, "unevaluatedProperties"),
        ({"properties": {}}, {"unevaluatedProperties": False}, "unevaluatedProperties"),
        ({"unevaluatedItems": False}, {"items": {"minimum": 1}}, "unevaluatedItems"),
        ({"items": {"minimum": 1}}, {"unevaluatedItems": False}, "unevaluatedItems"),
    ):
        assert join(one, other)[LOST] == [word]
        assert merge(one, other) is None


def test_bounds_of_one_kind_stay_and_of_two_the_narrower_is_taken() -> None:
    assert join({"minimum": 2}, {"minimum": 3, "maximum": 9}) == {"minimum": 3, "maximum": 9}
    assert join({"maxItems": 2, "minItems": 1}, {"maxItems": 3, "minItems": 2}) == {"maxItems": 2, "minItems": 2}
    old = {"minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}
    assert join(old, {"minimum": 0}) == {"exclusiveMinimum": 1, "maximum": 5, "minimum": 0}
    assert join({"maximum": 1, "exclusiveMaximum": True}, {"maximum": 3}) == {"exclusiveMaximum": 1, "maximum": 3}
    assert join({"exclusiveMaximum": True}, {"maximum": 3}) == {"maximum": 3}


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        (4, 6, 12),
        (0.5, 0.75, 1.5),
        (0.1, 0.25, 0.5),
        (2.5, 5, 5),
        (1e20, 3, 3 * 10**20),
        (0.3, 0.2, 0.6),
        (7, 7.0, 7),
        (1.5, 1, 3),
    ],
)
def test_a_multiple_of_both(one: float, other: float, least: float) -> None:
    for a, b in ((one, other), (other, one)):
        merged = merge({"multipleOf": a, "type": "number"}, {"multipleOf": b})
        assert merged is not None
        assert merged["multipleOf"] == least  # type: ignore[index]
        assert type(merged["multipleOf"]) is (type(least) if one != other else type(a))  # type: ignore[index]


def test_lists_have_each_name_once_and_values_keep_their_order() -> None:
    assert sorted(join({"required": ["b", "a"]}, {"required": ["c", "b", "d"]})["required"]) == ["a", "b", "c", "d"]
    assert join({"required": ["b", "a"]}, {"required": ["d", "c"]}) == {"required": ["b", "a", "d", "c"]}
    assert sorted(join({LATE: ["x"]}, {LATE: ["y", "x"]})[LATE]) == ["x", "y"]
    assert join({"enum": [3, 1, 2]}, {"enum": [2, 3]}) == {"enum": [3, 2]}
    assert join({"type": ["string", "integer", "null"]}, {"type": ["number", "null", "string"]}) == {
        "type": ["string", "integer", "null"]
    }
    assert join({"type": ["number", "string"]}, {"type": ["null", "integer", "string"]}) == {
        "type": ["string", "integer"]
    }
    assert join({"allOf": [{"not": TEXT}]}, {"allOf": [{"not": TEXT}, {"not": WHOLE}]}) == {
        "allOf": [{"not": TEXT}, {"not": WHOLE}]
    }
    assert [*join({"title": "x", "minimum": 1, "type": "integer"}, {"maximum": 2, "required": ["a"]})] == [
        "type",
        "minimum",
        "maximum",
        "required",
    ]


def test_values_of_both_sides_that_fit_what_stands_beside() -> None:
    assert join({"enum": [1, "a", None]}, {"type": ["string", "null"]}) == {
        "enum": ["a", None],
        "type": ["string", "null"],
    }
    assert join({"enum": [1.0, 1.5]}, {"type": "integer"}) == {"enum": [1.0], "type": "integer"}
    assert join({"enum": [1, 1.5, "a"]}, {FRACTION: True}) == {"enum": [1.5, "a"], FRACTION: True}
    assert join({FRACTION: True}, {"enum": [1, 1.5, "a"]}) == {FRACTION: True, "enum": [1.5, "a"]}
    assert join({"enum": [{"a": 1}, {"b": 1}, "a"]}, {PRESENCE: ["key", "a"]})["enum"] == [{"a": 1}, "a"]
    assert join({PRESENCE: ["key", "a"]}, {"enum": [{"a": 1}, {"b": 1}, "a"]})["enum"] == [{"a": 1}, "a"]
    assert join({"enum": [1, 2]}, {EXCEPT: [1.0]})["enum"] == [2]
    assert join({EXCEPT: [1.0]}, {"const": 1}) is False
    assert join({"const": 1, "enum": [1, 2]}, {"minimum": 0}) == {"enum": [1], "minimum": 0}
    assert join({"enum": "x"}, {"minimum": 0}) == {"minimum": 0}


def test_a_value_and_what_only_the_compiler_says() -> None:
    assert fits_type(1.0, ("integer",))
    assert fits_type(1.5, ("number",))
    assert not fits_type(1.5, ("integer", "string"))
    assert not fits_type(True, ("integer", "number"))
    assert not fits_type("1", ("integer",))
    assert [v for v in (1, 1.0, 1.5, "a", True) if fits_ours(v, {}, {FRACTION: True})] == [1.5, "a", True]
    assert [v for v in ({}, {"a": 1}, "a") if fits_ours(v, {PRESENCE: ["key", "a"]}, {})] == [{"a": 1}, "a"]
    assert [v for v in (1, 2.0, "a") if fits_ours(v, {EXCEPT: [2, "b"]})] == [1, "a"]


def test_conditions_that_meet_stand_side_by_side() -> None:
    one, other = (
        {"if": TEXT, "then": {"minLength": 1}},
        {"if": WHOLE, "then": {"minimum": 1}, "else": {"type": "string"}},
    )
    assert join(one, other) == {**one, "allOf": [other]}
    assert join(other, one) == {**other, "allOf": [one]}
    assert join(one, {**one, "maxLength": 3}) == {**one, "maxLength": 3}
    assert join({"minLength": 1}, other) == {"minLength": 1, **other}
    assert join({**one, "allOf": [{"not": TEXT}]}, other) == {**one, "allOf": [{"not": TEXT}, other]}
    assert join(one, {"if": TEXT, "then": {"minLength": 1}, "else": True, "x": 1}) == {**one, "else": True}
    assert join({"then": WHOLE}, {"if": TEXT}) == {"if": TEXT}
    assert merge(one, other) is None
    assert merge(one, {**one, "maxLength": 3}) == {**one, "maxLength": 3}


def test_applicators_that_meet_stand_side_by_side() -> None:
    assert join({"not": TEXT}, {"not": WHOLE}) == {"not": TEXT, "allOf": [{"not": WHOLE}]}
    assert join({"anyOf": [TEXT], "minLength": 1}, {"anyOf": [WHOLE]}) == {
        "anyOf": [TEXT],
        "minLength": 1,
        "allOf": [{"anyOf": [WHOLE]}],
    }
    assert join({"oneOf": [TEXT]}, {"oneOf": [TEXT]}) == {"oneOf": [TEXT]}


def test_unions_that_meet_become_all_pairs_up_to_a_number_of_them() -> None:
    eight = {"anyOf": [{"minimum": n} for n in range(8)]}
    other = {"anyOf": [{"maximum": n} for n in range(8)]}
    merged = merge(eight, other)
    assert merged is not None
    assert len(merged["anyOf"]) == 64  # type: ignore[index]
    assert merge(eight, {"anyOf": [{"maximum": n} for n in range(9)]}) is None
    assert merge({"oneOf": "x"}, {"oneOf": [TEXT]}) is None
    assert merge({"oneOf": [TEXT]}, {"oneOf": "x"}) is None
    assert merge({"oneOf": [TEXT], "minLength": 2}, {"oneOf": [TEXT], "minLength": 1}) == {
        "oneOf": [TEXT],
        "minLength": 2,
    }
    assert merge({"anyOf": [TEXT], "oneOf": [WHOLE]}, {"anyOf": [{"minLength": 1}]}) == {
        "oneOf": [WHOLE],
        "anyOf": [{"type": "string", "minLength": 1}],
    }
    assert merge({"not": TEXT, "minimum": 1}, {"not": TEXT}) == {"not": TEXT, "minimum": 1}


def test_both_is_one_schema_where_neither_holds_others_and_else_each_once() -> None:
    assert both({"minimum": 1}, {"maximum": 2}) == {"minimum": 1, "maximum": 2}
    assert both(TEXT, WHOLE) is False
    assert both({"format": "date"}, {"format": "time"}) == {"allOf": [{"format": "date"}, {"format": "time"}]}
    held = {"properties": {"a": TEXT}}
    assert both(held, {"properties": {"a": {"type": "string"}}}) is held
    pair = {"allOf": [{"minimum": 1}, held]}
    assert both(held, {"minimum": 1}) == both({"minimum": 1}, held) == pair
    assert both(pair, {"minimum": 1}) == pair
    assert both({"allOf": [held]}, held) == held
    assert both({"allOf": "x"}, held) == {"allOf": [{"allOf": "x"}, held]}
    assert both({"allOf": [held], "minimum": 1}, held)["allOf"][0] in ({"allOf": [held], "minimum": 1}, held)
    assert both(3, held) == {"allOf": [3, held]}
    assert both(held, 3) == {"allOf": [held, 3]}
    assert (both(True, held), both(held, True), both(False, held), both(held, False)) == (held, held, False, False)


def test_contains_that_meet_are_counted_together_where_they_are_one() -> None:
    one = {"contains": WHOLE, "minContains": 2, "maxContains": 5}
    assert join(one, {"contains": {"type": "integer"}, "maxContains": 3}) == {
        "contains": WHOLE,
        "minContains": 2,
        "maxContains": 3,
    }
    assert join(one, {"contains": WHOLE, "minContains": 4}) == {"contains": WHOLE, "minContains": 4, "maxContains": 5}
    assert join({"contains": WHOLE, "minContains": 0}, {"contains": WHOLE}) == {"contains": WHOLE, "minContains": 1}
    assert join(one, {"contains": TEXT}) == {**one, ALSO: [{"contains": TEXT}]}
    assert join({**one, ALSO: [{"contains": TEXT}]}, {"contains": TEXT, "maxContains": 1})[ALSO] == [
        {"contains": TEXT, "minContains": 1, "maxContains": 1}
    ]
    assert join(one, {"contains": WHOLE, "maxContains": "x"})["maxContains"] == "x"
    assert join(one, {"contains": WHOLE, "minContains": None})["minContains"] is None
    assert join(one, {"minContains": 7}) == one
    assert contained({"minContains": 2}) == []
    assert contained({"contains": TEXT, "minItems": 1, ALSO: [{"contains": WHOLE}]}) == [
        {"contains": TEXT},
        {"contains": WHOLE},
    ]
    assert merge(one, {"contains": TEXT}) is None


def test_what_nothing_or_no_object_can_fit_is_seen() -> None:
    assert settled({"type": []}) is False
    assert settled({"enum": []}) is False
    assert settled({"enum": [1]}) == {"enum": [1]}
    contrary = {"required": ["a"], "properties": {"a": False, "b": True}}
    others = ["array", "string", "number", "boolean", "null"]
    assert settled({**contrary, "minimum": 1}) == {"minimum": 1, "type": others}
    assert settled({**contrary, "type": ["object", "integer"], "additionalProperties": False, "minLength": 1}) == {
        "type": ["integer"],
        "minLength": 1,
    }
    assert settled({**contrary, "type": "object"}) is False
    assert settled({**contrary, "type": "string", "nullable": True}) == {"type": ["string", "null"]}
    for kept in (
        {**contrary, "required": ["b"]},
        {**contrary, "required": "a"},
        {**contrary, "properties": 1},
        {"required": ["a"]},
    ):
        assert settled(kept) == kept
    assert settled({"required": [1, "a"], "properties": {"a": False}})["type"] == others
    for formula in (["not", ["key", "a"]], ["and", ["key", "b"], ["not", ["key", "a"]]], False, ["and", False]):
        assert settled({"required": ["a"], PRESENCE: formula}) == {"type": others}
    for formula in (["not", ["key", "b"]], ["or", ["not", ["key", "a"]], ["key", "b"]], ["key", "a"], True):
        assert settled({"required": ["a"], PRESENCE: formula}) == {"required": ["a"], PRESENCE: formula}
    assert without_objects({"type": "object", "minLength": 1}, None) == {"minLength": 1, "type": others}
    assert without_objects({"minimum": 1, "nullable": True}, ("object", "integer")) == {
        "minimum": 1,
        "type": ["integer"],
    }
    assert without_objects({}, ("object",)) is False


def test_marks_stay_in_a_join() -> None:
    assert join({OPEN: True, "minimum": 1}, {"maximum": 2}) == {OPEN: True, "minimum": 1, "maximum": 2}
    assert join({OPEN: True}, {OPEN: True, "maximum": 2}) == {OPEN: True, "maximum": 2}
    assert join({FRACTION: True}, {FRACTION: True, "maximum": 2}) == {FRACTION: True, "maximum": 2}
    assert join({PRESENCE: ["key", "a"]}, {PRESENCE: ["key", "b"]}) == {PRESENCE: ["and", ["key", "a"], ["key", "b"]]}


def test_members_that_one_declares_have_what_the_other_says_of_undeclared_ones() -> None:
    closed = {"properties": {"a": TEXT}, "additionalProperties": False}
    assert join(closed, {"properties": {"b": WHOLE}}) == {
        "properties": {"a": TEXT, "b": False},
        "additionalProperties": False,
    }
    assert join({"properties": {"b": WHOLE}}, closed)["properties"] == {"b": False, "a": TEXT}
    named = {"patternProperties": {"^b": {"minimum": 2}}, "additionalProperties": TEXT}
    assert join(named, {"properties": {"b": WHOLE, "c": True}})["properties"] == {"b": WHOLE, "c": TEXT}
    assert join({"additionalProperties": TEXT}, {"patternProperties": {"^b": True}}) == {
        "patternProperties": {"^b": TEXT},
        "additionalProperties": TEXT,
    }
    assert join(named, {"patternProperties": {"^b": {"maximum": 5}}})["patternProperties"] == {
        "^b": {"minimum": 2, "maximum": 5}
    }
    assert (
        join({"additionalProperties": True, "properties": {"a": TEXT}}, {"properties": {"a": TEXT}, "minimum": 1})[
            "additionalProperties"
        ]
        is True
    )
    kept = {"properties": {"a": TEXT}, "unevaluatedProperties": False}
    assert join(kept, {"properties": {"b": True}, "minimum": 1}) == {
        "properties": {"a": TEXT, "b": True},
        "unevaluatedProperties": False,
        "minimum": 1,
    }


@pytest.mark.parametrize("name", [".", "a.b", "(", "[x]", "a|b", "^", "$", "\\", "{1}", "*", "+?", "/"])
def test_names_that_look_like_patterns_are_names(name: str) -> None:
    one = {"patternProperties": {"^[a-z.]": {"minimum": 3}}}
    other = {"properties": {name: True}, "additionalProperties": WHOLE}
    values = ({name: 5}, {name: "x"}, {name: 1}, {"abc": "x"}, {"abc": 1}, {"abc": 5}, {"axb": "x"}, {"axb": 5})
    wanted = [value for value in fitting(one, values) if any(value is v for v in fitting(other, values))]
    assert fitting(join(one, other), values) == wanted
    assert fitting(join(other, one), values) == wanted


def test_items_of_both_one_by_one_and_then_all_further() -> None:
    assert join({"prefixItems": [TEXT]}, {"prefixItems": [{"minLength": 1}, WHOLE]}) == {
        "prefixItems": [{"type": "string", "minLength": 1}, WHOLE]
    }
    assert join({"prefixItems": [TEXT], "items": WHOLE}, {"prefixItems": [True, {"minimum": 1}]}) == {
        "prefixItems": [TEXT, {"type": "integer", "minimum": 1}],
        "items": WHOLE,
    }
    assert join({"items": [TEXT]}, {"items": [True, WHOLE], "additionalItems": False}) == {
        "items": [TEXT, WHOLE],
        "additionalItems": False,
    }
    assert join({"items": TEXT}, {"items": {"minLength": 1}, "minItems": 1}) == {
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
    }
    assert join({"prefixItems": [TEXT], "items": True}, {"prefixItems": [{"minLength": 1}]}) == {
        "prefixItems": [{"type": "string", "minLength": 1}],
        "items": True,
    }
    assert join({"prefixItems": [TEXT], "additionalItems": False}, {"prefixItems": [{"minLength": 1}]}) == {
        "prefixItems": [{"type": "string", "minLength": 1}]
    }
