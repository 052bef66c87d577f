"""Formulas over the members of an object: read from schemas, turned round, and as diagrams, on every set of members."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.schema.keywords import OPEN, PRESENCE
from tacid.schema.presence import Diagram, all_of, any_of, holds, keys_in, negation, only_one_of, presence_of
from tests.schema.plain_words import formula as in_words
from tests.schema.plain_words import in_plain_words

NAMES = ("a", "b", "c")
#: Every set of three names and one that no formula knows.
SETS = [set(names) for size in range(5) for names in combinations((*NAMES, "z"), size)]

A, B, C = ({"required": [name]} for name in NAMES)
READABLE: tuple[Any, ...] = (
    *(True, False, {}, {"title": "x"}, {"type": "object"}, A, {"required": []}, {"required": ["a", "b"]}, {**A, "type": "object"}),
    *({"properties": {"a": False}}, {"properties": {}}, {"properties": {"a": False, "b": False}, "required": ["c"]}),
    *({"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"a": ["b", "c"], "b": []}}, {"dependencies": {"a": ["b"], "b": C}}),
    *({"dependentSchemas": {"a": B, "c": False}}, {"dependencies": {"a": True}, "dependentRequired": {"b": ["c"]}}),
    *({"allOf": [A, B]}, {"anyOf": [A, B]}, {"oneOf": [A, B]}, {"oneOf": [A, B, C]}, {"oneOf": [A, True]}, {"oneOf": [A, A]}),
    *({"anyOf": [A, {"type": "object"}]}, {"anyOf": [{**A, "type": "object"}, {**B, "type": "object"}]}, {"allOf": [True, {**A, "type": "object"}]}),
    *({"oneOf": [{**A, "type": "object"}, B]}, {"oneOf": [{**A, "type": "object"}, {"type": "object"}]}, {"anyOf": [A, False]}, {"anyOf": [False]}),
    *({"not": A}, {"not": {"type": "object"}}, {"not": {"not": A}}, {"not": {"anyOf": [A, B]}}, {"not": {**A, "type": "object"}}),
    *({"if": A, "then": B}, {"if": A, "then": B, "else": C}, {"if": A, "else": C}, {"if": A}, {"if": {"type": "object"}, "else": False}),
    *({"if": {**A, "type": "object"}, "then": B, "else": {"type": "object"}}, {"if": {"type": "object"}, "then": A}),
    *({"if": A, "then": {"type": "object", **B}}, {"if": {"type": "object"}, "then": B, "else": {"type": "object"}}),
    *({PRESENCE: ["key", "a"]}, {PRESENCE: ["or", ["other", ["a"]], ["key", "a"]], "required": ["b"]}, {"then": A}, {"else": A, "required": ["b"]}),
    *({"anyOf": [{"allOf": [A, {"not": B}]}, {"oneOf": [B, C]}]},),
)  # fmt: skip


@pytest.mark.parametrize("schema", READABLE, ids=str)
def test_a_schema_about_members_alone_is_a_formula(schema: Any) -> None:
    found = presence_of(schema)
    assert found is not None
    formula, other = found
    oracle = jsonschema_rs.validator_for(in_plain_words(schema))
    assert [holds(formula, names) for names in SETS] == [oracle.is_valid(dict.fromkeys(names, 1)) for names in SETS]
    assert {oracle.is_valid(value) for value in (None, True, 1, "a", ["a"])} == {other}
    turned = presence_of({"not": schema})
    assert turned is not None
    assert [holds(turned[0], names) for names in SETS] == [not holds(formula, names) for names in SETS]
    assert turned[1] is not other


@pytest.mark.parametrize(
    "schema",
    [
        *(1, None, "a", [], {"minimum": 1}, {"type": "string"}, {"type": ["object", "null"]}, {"type": []}, {"type": 5}, {"required": "a"}),
        *({"required": [1]}, {"required": ["a", None]}, {"properties": {"a": True}}, {"properties": {"a": False, "b": {}}}, {"properties": [1]}),
        *({"dependentRequired": {"a": 1}}, {"dependentRequired": 1}, {"dependencies": [1]}, {"dependentSchemas": {"a": {"minLength": 1}}}),
        *({"anyOf": []}, {"anyOf": "a"}, {"allOf": {}}, {"oneOf": [A, {"minimum": 1}]}, {"not": {"minimum": 1}}, {"not": 1}),
        *({"if": {"minimum": 1}, "then": A}, {"if": A, "then": {"minimum": 1}}, {"if": A, "else": {"minimum": 1}}, {**A, "minProperties": 1}),
        *({OPEN: True}, {**A, OPEN: True}, {"$ref": "#"}, {"anyOf": [A] * 64}, {"additionalProperties": False}),
    ],
    ids=str,
)  # fmt: skip
def test_what_speaks_of_anything_else_is_none(schema: Any) -> None:
    assert presence_of(schema) is None


def test_as_many_parts_as_there_may_be() -> None:
    assert presence_of({"anyOf": [A] * 63}) is not None
    deep: Any = A
    for _ in range(16):
        deep = {"not": deep}
    assert presence_of(deep) is not None
    assert presence_of({"not": deep}) is None
    for wrap in (
        lambda inner: {"anyOf": [inner]},
        lambda inner: {"dependentSchemas": {"a": inner}},
        lambda inner: {"if": inner, "then": B},
        lambda inner: {"if": B, "else": inner},
    ):
        inner: Any = A
        for _ in range(16):
            inner = wrap(inner)
        assert presence_of(inner) is not None
        assert presence_of(wrap(inner)) is None


def test_types_that_an_instance_has_anyway() -> None:
    assert presence_of({"type": ["object", "null"], **A}, ("object",)) == (["key", "a"], True)
    assert presence_of({"type": "object", **A}, ("object",)) == (["key", "a"], False)
    assert presence_of({"type": ["object", "null"], **A}, ("object", "null")) is None
    assert presence_of({"type": ["string", "null"], **A}, ("object",)) is None
    assert presence_of({"type": ["object", "null"]}, ("null",)) is None
    assert presence_of({"type": ["object", "null"]}, ()) == (True, True)


def test_a_dependency_on_one_name_may_be_a_text() -> None:
    found = presence_of({"dependencies": {"a": "b"}})
    assert found is not None
    assert [holds(found[0], names) for names in SETS] == ["a" not in names or "b" in names for names in SETS]
    assert found[1] is True


def test_formulas_are_as_short_as_they_are_said() -> None:
    a, b = ["key", "a"], ["key", "b"]
    assert [all_of([]), all_of([True]), all_of([a]), all_of([a, True, b]), all_of([a, False])] == [
        True,
        True,
        a,
        ["and", a, b],
        False,
    ]
    assert [negation(True), negation(False), negation(a), negation(["not", a])] == [False, True, ["not", a], a]
    assert [any_of([]), any_of([a]), any_of([True, a]), any_of([False, a])] == [False, a, True, a]
    assert any_of([a, b]) == ["not", ["and", ["not", a], ["not", b]]]
    assert [only_one_of([]), only_one_of([a]), only_one_of([True]), only_one_of([True, True])] == [
        False,
        a,
        True,
        False,
    ]


def test_names_in_their_order() -> None:
    formula = ["and", ["key", "b"], ["not", ["or", ["other", ["d", "a"]], ["key", "b"]]], True]
    assert [*keys_in(formula)] == ["b", "d", "a", "b"]
    assert [*keys_in(True)] == []


formulas = st.recursive(
    st.one_of(
        st.booleans(),
        st.sampled_from(NAMES).map(lambda name: ["key", name]),
        st.lists(st.sampled_from(NAMES), unique=True).map(lambda names: ["other", names]),
    ),
    lambda inner: st.one_of(
        inner.map(lambda part: ["not", part]),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)).map(lambda pair: [pair[0], *pair[1]]),
    ),
    max_leaves=8,
)


@given(formulas)
def test_a_formula_a_diagram_and_json_schema_say_the_same(formula: Any) -> None:
    diagram = Diagram(NAMES)
    node = diagram.node(formula)
    oracle = jsonschema_rs.validator_for(in_words(formula))
    for names in SETS:
        wanted = oracle.is_valid(dict.fromkeys(names, 1))
        assert holds(formula, names) == wanted
        reached = later = node
        for place, name in enumerate((*NAMES, "z")):
            reached = (diagram.given if name in names else diagram.omitted)(reached, place)
        for place in (2, 0, 3, 1):
            later = diagram.at(later, place, (*NAMES, "z")[place] in names)
        assert reached == later == int(wanted)


@given(formulas, formulas)
def test_formulas_that_mean_the_same_are_one_node(one: Any, other: Any) -> None:
    diagram = Diagram(NAMES)
    alike = all(holds(one, names) == holds(other, names) for names in SETS)
    assert (diagram.node(one) == diagram.node(other)) == alike
    assert diagram.node(["and", one, other]) == diagram.node(["not", ["or", ["not", other], ["not", one]]])
    assert diagram.others == 3


def test_a_node_is_left_as_it_is_by_members_that_it_does_not_ask_for() -> None:
    diagram = Diagram(NAMES)
    second = diagram.node(["key", "b"])
    assert [diagram.given(second, 0), diagram.omitted(second, 0)] == [second, second]
    assert [diagram.given(second, 1), diagram.omitted(second, 1)] == [1, 0]
    assert [diagram.at(second, place, value) for place in (0, 2, 3) for value in (True, False)] == [second] * 6
    assert [diagram.at(node, 0, True) for node in (0, 1)] == [0, 1]


def test_a_diagram_that_grows_too_large_is_an_error() -> None:
    names = [f"{side}{index:02}" for side in "ab" for index in range(13)]
    # In this order, a diagram has to remember all of the first half.
    formula = ["and", *(["or", ["key", f"a{index:02}"], ["key", f"b{index:02}"]] for index in range(13))]
    with pytest.raises(OverflowError):
        Diagram(names).node(formula)
    assert Diagram([name for pair in zip(names[:13], names[13:], strict=True) for name in pair]).node(formula) > 1
    small = Diagram(NAMES)
    small.MAX_NODES = 4
    assert small.node(["key", "a"]) == 2
    assert small.node(["key", "b"]) == 3
    assert small.node(["key", "b"]) == 3
    with pytest.raises(OverflowError):
        small.node(["key", "c"])
