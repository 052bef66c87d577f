"""Schemas, catalogues, names and values drawn at random; small alphabets, so that things meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tacid.catalogue import Catalogue, Tool

KEYS = ("a", "ab", "b", "", "é", '"', "<", "\n")
TEXTS = ("", "a", "ab", "b", "x" * 5, "é", "\U0001f4c1", '"\\', "\x00", "<|", "\u202e")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-12, 12), st.sampled_from([0.5, -1.5, 1.0, 1e20]), st.sampled_from(TEXTS)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=6,
)

_small = st.integers(0, 4)
_bounds = st.integers(-15, 15)


def _keywords(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=strategies)


_strings = _keywords(minLength=_small, maxLength=_small).map(lambda k: {"type": "string", **k})
_integers = _keywords(minimum=_bounds, maximum=_bounds, exclusiveMinimum=_bounds, exclusiveMaximum=_bounds).map(
    lambda k: {"type": "integer", **k}
)
_leaves = st.one_of(
    st.sampled_from(
        [True, {}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}, {"type": "number", "minimum": 0}]
    ),
    st.sampled_from(
        [False, {"type": ["string", "null"]}, {"type": ["integer", "number"]}, {"type": "object"}, {"type": "array"}]
    ),
    _strings,
    _integers,
    st.lists(values, max_size=4).map(lambda listed: {"enum": listed}),
    values.map(lambda value: {"const": value}),
    st.tuples(st.lists(values, max_size=4), st.sampled_from(["string", "integer", "number", "object", "null"])).map(
        lambda pair: {"enum": pair[0], "type": pair[1]}
    ),
    st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, {"$ref": "#"}]),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    keys = st.sampled_from(KEYS)
    return _keywords(
        properties=st.dictionaries(keys, inner, max_size=4),
        required=st.lists(keys, max_size=2, unique=True),
        additionalProperties=st.one_of(st.just(False), inner),
    ).map(lambda k: {"type": "object", **k})


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _keywords(
        items=inner, prefixItems=st.lists(inner, min_size=1, max_size=3), minItems=_small, maxItems=_small
    ).map(lambda k: {"type": "array", **k})


def _unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"oneOf": branches}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"allOf": parts}),
        st.tuples(inner, inner).map(_beside),
    )


def _beside(pair: tuple[Any, Any]) -> Any:
    """Two schemas' keywords in one object, as far as they differ."""
    one, other = pair
    return {**other, **one} if isinstance(one, dict) and isinstance(other, dict) else one


parts = st.recursive(_leaves, lambda inner: st.one_of(_objects(inner), _arrays(inner), _unions(inner)), max_leaves=8)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A schema document with definitions that may lead to each other, and to the whole."""
    schema = draw(parts)
    if not isinstance(schema, dict):
        return schema
    return {**schema, "$defs": {"A": draw(parts), "B": draw(parts)}}


#: Names that try to leave the literal they land in, or that look like nothing at all.
hostile_names = st.one_of(
    st.sampled_from(
        [
            *(
                '"',
                '" | "',
                'x" root ::= "y',
                "\n",
                "a\nroot ::= x\n",
                "\\",
                "::=",
                "\x00",
                "\ud800",
                "\u202e",
                "é" * 256,
            ),
            *(
                '","arguments":{}}',
                '{"tool":"x"',
                "x" * 256,
                "call-0",
                "root",
                "value",
                "<|im_end|>",
                "\U000e0041",
                "[^a]*",
            ),
        ]
    ),
    # Two halves that meet are one character to every reader of JSON.
    st.text(min_size=1, max_size=24, alphabet=st.characters(exclude_categories=["Cs"])),
    st.text(min_size=1, max_size=8, alphabet='"\\\n\r\t{}:,ab'),
)


@st.composite
def catalogues(draw: st.DrawFn) -> Catalogue:
    """A few tools with odd names and random parameters."""
    names = draw(st.lists(hostile_names, min_size=1, max_size=5, unique=True))
    tools = []
    for name in names:
        schema = draw(schemas())
        parameters = {**schema, "type": "object"} if isinstance(schema, dict) else {"type": "object"}
        tools.append(Tool(name, "", parameters))
    return Catalogue(tuple(tools))


def loops_in_place(document: Any) -> bool:
    """Whether a reference comes back to itself without going into a member or an item, where JSON Schema has no answer."""
    definitions = {f"#/$defs/{name}": schema for name, schema in document.get("$defs", {}).items()} | {"#": document}

    def leads(schema: Any) -> set[str]:
        if not isinstance(schema, dict):
            return set()
        found = {schema["$ref"]} if "$ref" in schema else set()
        return found.union(*(leads(part) for word in ("allOf", "anyOf", "oneOf") for part in schema.get(word, [])))

    edges = {name: leads(schema) for name, schema in definitions.items()}
    for start in edges:
        reached, waiting = set[str](), list(edges[start])
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting.extend(edges.get(name, ()))
        if start in reached:
            return True
    return False
