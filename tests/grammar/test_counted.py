"""``contains`` and ``uniqueItems``: what the grammar admits is what fits, and never less where it records a widening."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import Grammar, compile_schema
from tacid.grammar.verify import verify
from tacid.grammar.walk import accepts
from tacid.schema.validate import compile_validator
from tests.grammar.draw import draw
from tests.grammar.orders import texts

#: Items that meet the schemas below: numbers that are equal to each other, to true or false in Python, and containers.
ITEMS: tuple[Any, ...] = (0, 1, 2, 1.5, True, False, None, "a", "b", "ab", [], [1], {}, {"k": 1}, {"k": "a"}, {"j": 1})
#: Arrays of every length up to two, and longer ones of few items.
ARRAYS = [
    *(list(items) for length in range(3) for items in product(ITEMS, repeat=length)),
    *(list(items) for length in (3, 4) for items in product((1, True, "a", "b"), repeat=length)),
    *([1, "a", "b", None, 2, "ab", 1][:length] for length in (5, 6, 7)),
]

parts = st.sampled_from(
    [
        *(True, False, {}, {"type": "string"}, {"type": "integer"}, {"type": ["boolean", "null"]}, {"type": "object"}),
        *({"const": 1}, {"const": 1.0}, {"enum": ["a", "b"]}, {"enum": [1, "a", None, True]}, {"enum": [[], {}, [1]]}),
        *({"enum": [0, 1, 2, "a", "b"], "type": "integer"}, {"enum": ["a", "b", "ab", 1, 2, 0, None, False]}),
        *({"type": "integer", "minimum": 0, "maximum": 2}, {"type": "integer", "exclusiveMinimum": 0, "maximum": 9}),
        *({"type": "string", "maxLength": 1}, {"type": "string", "pattern": "^a"}, {"minimum": 1}, {"type": "array"}),
        *({"properties": {"k": {"const": 1}}}, {"required": ["k"]}, {"type": "object", "required": ["k"]}),
        *({"anyOf": [{"const": 1}, {"enum": ["a", "b"]}]}, {"oneOf": [{"type": "boolean"}, {"const": "a"}]}),
        *({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"not": {"type": "string"}}, {"not": {"const": 1}}),
        *({"$ref": "#/$defs/few"}, {"$ref": "#/$defs/many"}, {"allOf": [{"$ref": "#/$defs/few"}, {"type": "string"}]}),
    ]
)
DEFINITIONS = {"few": {"enum": ["a", 1, None]}, "many": {"type": ["string", "object"]}}
counts = st.integers(0, 3)


def _optional(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


places = st.one_of(
    _optional(items=parts),
    st.fixed_dictionaries({"prefixItems": st.lists(parts, min_size=1, max_size=3)}, optional={"items": parts}),
)
bounds = _optional(minItems=counts, maxItems=st.integers(0, 5))
demands = st.fixed_dictionaries({"contains": parts}, optional={"minContains": counts, "maxContains": counts})
distinct = st.just({"uniqueItems": True})


@st.composite
def arrays(draw_from: st.DrawFn) -> dict[str, Any]:
    """An array with something to count or to keep apart, beside all else that an array's schema says."""
    made: dict[str, Any] = {"type": "array", **draw_from(places), **draw_from(bounds)}
    made |= draw_from(st.one_of(demands, distinct, st.tuples(demands, distinct).map(lambda pair: pair[0] | pair[1])))
    if draw_from(st.integers(0, 3)) == 0:
        made["allOf"] = draw_from(st.lists(st.one_of(demands, bounds, distinct), min_size=1, max_size=2))
    if draw_from(st.integers(0, 5)) == 0:
        made["not"] = draw_from(st.one_of(demands, bounds))
    return {**made, "$defs": DEFINITIONS}


def compiled(schema: Any, open_objects: bool = True) -> Grammar | None:
    """The grammar, ``None`` where nothing fits; a bug is a bug."""
    try:
        return compile_schema(schema, open_objects=open_objects)
    except CompilerBug:
        raise
    except GrammarError:
        return None


def admitted(grammar: Grammar | None, value: Any) -> bool:
    return grammar is not None and any(accepts(grammar.rules, text) for text in texts(value))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arrays(), st.integers(0, 1000))
def test_arrays_are_held_to_what_is_counted(schema: dict[str, Any], seed: int) -> None:
    oracle = compile_validator(schema)
    grammar = compiled(schema)
    exact = grammar is None or not grammar.report.widenings
    for array in ARRAYS:
        fits = oracle.is_valid(array)
        if fits or exact:
            assert admitted(grammar, array) == fits, array
    if grammar is not None:
        verify(grammar.rules)
        drawn = json.loads(draw(grammar.rules, seed))
        assert oracle.is_valid(drawn) or not exact


def judged(schema: dict[str, Any], *arrays: list[Any]) -> list[list[Any]]:
    """The arrays that a schema's grammar admits, which must be those that fit; nothing may be recorded."""
    oracle: jsonschema_rs.Validator = compile_validator(schema)
    grammar = compiled(schema)
    assert grammar is None or grammar.report.widenings == ()
    found = [array for array in arrays if admitted(grammar, array)]
    assert found == [array for array in arrays if oracle.is_valid(array)]
    return found


ABC = {"enum": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"items": ABC, "uniqueItems": True},
        {"items": {"enum": list(range(6))}, "uniqueItems": True},
        {"items": {"type": "boolean"}, "uniqueItems": True, "minItems": 1},
        {"items": {"enum": list(range(15))}, "uniqueItems": True, "maxItems": 2},
        {"items": {"type": "integer", "minimum": 0, "maximum": 2}, "uniqueItems": True},
        {"items": {"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3}, "uniqueItems": True},
        {"uniqueItems": True, "maxItems": 1},
        {"prefixItems": [ABC, {"enum": [1, 2]}], "items": False, "uniqueItems": True},
        {
            "prefixItems": [{"type": "string"}, {"type": "integer"}, {"enum": [None, True]}],
            "items": False,
            "uniqueItems": True,
        },
        {"prefixItems": [{"type": "string"}], "items": {"enum": [1, 2]}, "uniqueItems": True},
        {"items": {"$ref": "#/$defs/few"}, "uniqueItems": True, "$defs": DEFINITIONS},
        {"contains": {"type": "integer"}},
        {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3},
        {"items": {"type": "string"}, "contains": {"pattern": "^a"}, "maxContains": 1, "minItems": 2},
        {"items": ABC, "contains": {"const": "a"}, "uniqueItems": True},
        {"allOf": [{"contains": {"const": "a"}}, {"contains": {"type": "integer"}}]},
        {"contains": {"const": 1}, "minContains": 0},
        {"contains": True, "minContains": 2, "maxContains": 4},
        {"not": {"contains": {"const": 1}, "minContains": 2}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [{"const": 1}],
            "contains": {"const": 1},
            "minContains": 9,
        },
    ],
    ids=json.dumps,
)
def test_these_are_exact(schema: dict[str, Any]) -> None:
    assert judged({"type": "array", **schema}, *ARRAYS)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"uniqueItems": True}, "uniqueItems"),
        ({"items": {"enum": list(range(30))}, "uniqueItems": True}, "uniqueItems"),
        ({"prefixItems": [{"type": "string"}, ABC], "items": False, "uniqueItems": True}, "uniqueItems"),
        ({"prefixItems": [{"type": "string"}, {"minLength": 1}], "items": False, "uniqueItems": True}, "uniqueItems"),
        ({"contains": {"format": "date", "maxLength": 99, "type": "string"}, "maxContains": 1}, "contains"),
        ({"contains": {"const": 1}, "minContains": 9000}, "contains"),
        ({"contains": 5}, "contains"),
        ({"uniqueItems": "yes"}, "uniqueItems"),
    ],
    ids=json.dumps,
)
def test_what_is_not_held_is_recorded(schema: dict[str, Any], keyword: str) -> None:
    (widening,) = compile_schema({"type": "array", **schema}).report.widenings
    assert widening.keyword == keyword


def test_of_what_is_not_held_the_sum_is() -> None:
    many = compile_schema({"type": "array", "items": {"enum": list(range(20))}, "uniqueItems": True})
    assert accepts(many.rules, json.dumps(list(range(20)), separators=(",", ":")))
    assert not accepts(many.rules, json.dumps([0, *range(20)], separators=(",", ":")))
    least = compile_schema({"type": "array", "contains": {"const": 1}, "minContains": 9000})
    assert not accepts(least.rules, json.dumps([1] * 40, separators=(",", ":")))


@pytest.mark.parametrize(
    "schema",
    [
        {"items": ABC, "uniqueItems": True, "minItems": 4},
        {"items": {"const": 1}, "contains": {"const": 2}},
        {"contains": {"const": 1}, "minContains": 2, "maxContains": 1},
        {"contains": {"const": 1}, "minContains": 3, "maxItems": 2},
        {"contains": False},
        {"prefixItems": [{"const": 1}, {"const": 1.0}], "items": False, "uniqueItems": True, "minItems": 2},
        {"items": ABC, "contains": {"const": "a"}, "minContains": 2, "uniqueItems": True},
    ],
    ids=json.dumps,
)
def test_what_no_array_fits_is_an_error(schema: dict[str, Any]) -> None:
    with pytest.raises(GrammarError, match=r"contains|uniqueItems"):
        compile_schema({"type": "array", **schema})


def test_lists_of_many_fields_stay_within_their_bounds() -> None:
    def field(number: int) -> dict[str, Any]:
        return {"type": "array", "items": {"enum": [f"{number}-{one}" for one in range(6)]}, "uniqueItems": True}

    properties = {f"p{number}": field(number) for number in range(120)}
    grammar = compile_schema({"type": "object", "properties": properties})
    assert len(grammar.text) < 400_000
    widened = [widening.pointer for widening in grammar.report.widenings]
    assert 80 < len(widened) < 110
    assert widened == [f"/properties/p{number}" for number in range(120 - len(widened), 120)]


def test_a_list_of_what_is_closed_may_hold_what_is_open() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object"},
        "contains": {"properties": {"k": {"const": 1}}, "required": ["k"]},
    }
    grammar = compile_schema(schema)
    assert grammar.report.widenings == ()
    assert accepts(grammar.rules, '[{"j":1},{"k":1,"l":2}]')
    assert not accepts(grammar.rules, '[{"j":1},{"k":2}]')


def test_keywords_of_the_compilers_own_mean_nothing_in_a_schema_from_outside() -> None:
    schema = {
        "type": "array",
        "items": {"tacid:except": [1], "type": "integer"},
        "tacid:contains": 5,
        "tacid:lost": ["x"],
    }
    grammar = compile_schema(schema)
    assert grammar.report.widenings == ()
    assert accepts(grammar.rules, "[1]")
    properties = {"tacid:lost": {"type": "integer"}}
    assert accepts(compile_schema({"type": "object", "properties": properties}).rules, '{"tacid:lost":1}')
