"""Examples for each row of ``docs/json-schema.md``: schemas with what fits and what doesn't, and who refuses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

D04, D06, D07 = (f"http://json-schema.org/draft-{number}/schema#" for number in ("04", "06", "07"))
D19, D20 = (f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12"))


@dataclass(frozen=True)
class Example:
    """A schema with a keyword, and instances.

    ``fits``: admitted, by the check too. ``refused``: by the grammar (and the check). ``late``: admitted by the
    grammar, refused by the check, and a widening is reported, under ``word`` where that isn't the keyword.
    ``loose``: admitted by both though it shouldn't be, and a widening is reported. With ``late`` or ``loose`` the
    example shows where the keyword isn't exact, else that it is.
    """

    keyword: str
    schema: Any
    fits: tuple[Any, ...]
    refused: tuple[Any, ...] = ()
    late: tuple[Any, ...] = ()
    loose: tuple[Any, ...] = ()
    word: str | None = None

    @property
    def exact(self) -> bool:
        return not self.late and not self.loose


def _of(keyword: str, schema: Any, fits: list[Any], refused: list[Any]) -> Example:
    return Example(keyword, schema, tuple(fits), tuple(refused))


def _late(keyword: str, schema: Any, fits: list[Any], late: list[Any], word: str | None = None) -> Example:
    return Example(keyword, schema, tuple(fits), late=tuple(late), word=word)


#: Items that may not repeat, in a schema that can't be turned round.
SET = {"type": "array", "uniqueItems": True}
TWICE = r"^(a)\1$"
NODE = {"$dynamicAnchor": "item"}
LISTS = {
    "$schema": D20,
    "$id": "https://x.example/root",
    "type": "object",
    "properties": {"i": {"$ref": "ints"}, "t": {"$ref": "texts"}},
    "$defs": {
        "list": {"$id": "list", "type": "array", "items": {"$dynamicRef": "#item"}, "$defs": {"d": NODE}},
        "ints": {"$id": "ints", "$ref": "list", "$defs": {"d": {**NODE, "type": "integer"}}},
        "texts": {"$id": "texts", "$ref": "list", "$defs": {"d": {**NODE, "type": "string"}}},
    },
}
NESTED = {
    "$schema": D19,
    "$id": "https://x.example/root",
    "type": "object",
    "properties": {"i": {"$ref": "a"}, "t": {"$ref": "b"}},
    "$defs": {
        "l": {"$id": "l", "$recursiveAnchor": True, "type": ["array", "integer"], "items": {"$recursiveRef": "#"}},
        "a": {"$id": "a", "$recursiveAnchor": True, "$ref": "l", "minimum": 1},
        "b": {"$id": "b", "$recursiveAnchor": True, "$ref": "l", "maximum": -1},
    },
}
TREE = {"properties": {"c": {"$dynamicRef": "#node"}, "v": {"type": "integer"}}, "type": "object"}
TREE_19 = {"properties": {"c": {"$recursiveRef": "#"}, "v": {"type": "integer"}}, "type": "object"}
MANY = {f"p{number}": {"type": "integer"} for number in range(200)}
#: Tuples that overlap, of which each evaluates other items.
TUPLES = [{"prefixItems": [{"type": "integer"}]}, *({"prefixItems": [True, {"const": number}]} for number in range(5))]
#: Members that demand each other in so many ways that no small diagram says it.
TANGLED = {f"n{one}": [f"n{one * step % 41}" for step in (7, 11, 17)] for one in range(1, 41)}
NAMES = {"type": "object", "properties": {name: {"type": "integer"} for name in TANGLED}}
A_IS_1 = {"properties": {"a": {"const": 1}}, "required": ["a"]}

CORE = (
    _of("$schema", {"$schema": D04, "const": 1, "type": "integer"}, [1, 2], ["x"]),
    _of("$schema", {"$schema": D20, "const": 1, "type": "integer"}, [1], [2]),
    _of(
        "$id", {"$id": "https://x.example/a", "$defs": {"b": {"$id": "b", "type": "integer"}}, "$ref": "b"}, [1], ["x"]
    ),
    _of(
        "id",
        {"$schema": D04, "definitions": {"b": {"id": "#b", "type": "integer"}}, "items": {"$ref": "#b"}},
        [[1]],
        [["x"]],
    ),
    _of("$ref", {"$ref": "#/$defs/a~1b", "maximum": 3, "$defs": {"a/b": {"type": "integer"}}}, [1, 3], [4, "x"]),
    _of(
        "$ref",
        {"$schema": D07, "$ref": "#/definitions/a", "maximum": 3, "definitions": {"a": {"type": "integer"}}},
        [4],
        ["x"],
    ),
    Example("$ref", {"type": "array", "items": {"$ref": "https://x.example/elsewhere"}}, ([],), ({},), loose=([1],)),
    _of("$anchor", {"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}, [1], ["x"]),
    _of("$dynamicRef", {"$dynamicAnchor": "node", **TREE}, [{"c": {"v": 1}}], [{"c": {"v": "x"}}, {"c": 1}]),
    _late("$dynamicRef", LISTS, [{"i": [1], "t": ["a"]}], [{"i": ["a"]}, {"t": [1]}]),
    _of(
        "$dynamicAnchor", {"$dynamicRef": "#n", "$defs": {"a": {"$dynamicAnchor": "n", "type": "integer"}}}, [1], ["x"]
    ),
    _of("$recursiveRef", {"$schema": D19, **TREE_19}, [{"c": {"v": 1}}], [{"c": {"v": "x"}}, {"c": 1}]),
    _late("$recursiveRef", NESTED, [{"i": [1], "t": [[-1]]}], [{"i": [0]}, {"t": [1]}]),
    _of("$recursiveAnchor", {"$schema": D19, "$recursiveAnchor": True, **TREE_19}, [{"c": {"v": 1}}], [{"c": 1}]),
    _of("$defs", {"$defs": {"a": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}}, [[1]], [["x"]]),
    _of(
        "definitions", {"definitions": {"a": {"type": "integer"}}, "items": {"$ref": "#/definitions/a"}}, [[1]], [["x"]]
    ),
    _of("$comment", {"$comment": "only strings", "type": "integer"}, [1], []),
    _of(
        "$vocabulary",
        {"$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": True}, "type": "integer"},
        [1],
        [],
    ),
)

APPLICATORS = (
    _of("allOf", {"allOf": [{"type": "integer"}, {"minimum": 2}, {"not": {"const": 3}}]}, [2, 4], [1, 3, "x"]),
    Example("allOf", {"allOf": [{"type": "string", "format": "date"}, {"format": "uri"}]}, (), ("x",), loose=("2020-02-02",), word="format"),
    _of("anyOf", {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^a"}]}, [1, "ab"], ["b", None]),
    _of("oneOf", {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 3}]}, [2, 6], [4, "x"]),
    _late("oneOf", {"oneOf": [SET, {"type": "array", "items": {"type": "string"}}]}, [["a", "a"], [1]], [["a"], ["a", "b"]]),
    _of("not", {"type": ["integer", "string"], "not": {"enum": [1, "a"]}}, [2, "b"], [1, "a", None]),
    _late("not", {"not": SET}, [[1, 1], 2], [[1], []]),
    _late("not", {"not": {"enum": [{"a": 1}]}}, [2, {"a": 2}], [{"a": 1}]),
    _of("if", {"type": "object", "if": A_IS_1, "then": {"required": ["b"]}}, [{"a": 1, "b": 1}, {"a": 2}], [{"a": 1}]),
    _late("if", {"if": SET, "then": {"maxItems": 1}}, [[1, 1], [1], 2], [[1, 2]]),
    _of("then", {"if": {"type": "integer"}, "then": {"minimum": 3}}, [3, "x"], [2]),
    _late("then", {"if": SET, "then": {"maxItems": 0}}, [[1, 1], []], [[1]], "if"),
    _of("else", {"if": {"type": "integer"}, "else": {"maxLength": 1}}, [3, "x"], ["xy"]),
    _late("else", {"if": SET, "else": {"maxItems": 2}}, [[1, 1], [1, 2, 3]], [[1, 1, 1]], "if"),
    _of("dependentSchemas", {"type": "object", "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}}, [{"b": "x"}, {"a": 1, "b": 2}], [{"a": 1, "b": "x"}]),
    _late("dependentSchemas", {"type": "object", "dependentSchemas": {"a": {"not": {"properties": {"b": SET}, "required": ["b"]}}}}, [{"a": 1}, {"b": [1]}], [{"a": 1, "b": [1]}], "not"),
    _of("dependencies", {"$schema": D07, "type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, [{}, {"a": 1, "b": 1}, {"c": 1, "d": 1}], [{"a": 1}, {"c": 1}]),
    _late("dependencies", {"$schema": D07, **NAMES, "dependencies": TANGLED}, [{}], [{"n1": 1}], "required"),
    _of("properties", {"type": "object", "properties": {"a": {"type": "integer"}}}, [{"a": 1}, {"b": "x"}], [{"a": "x"}]),
    _late("properties", {"type": "object", "properties": {f"p{number}": {} for number in range(820)}, "required": ["p0"]}, [{"p0": 1}], [{}]),
    _of("patternProperties", {"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}}}, [{"a": 1}, {"ab": 3}, {"x": "y"}], [{"a": "x"}, {"ab": 1}, {"b": 2}]),
    _late("patternProperties", {"type": "object", "patternProperties": {TWICE: {"type": "integer"}}}, [{"aa": 1}], [{"aa": "x"}]),
    _of("additionalProperties", {"type": "object", "properties": {"a": {}, "ab": {}}, "additionalProperties": {"type": "integer"}}, [{"a": "x"}, {"abc": 1}], [{"abc": "x"}, {"": None}]),
    _late("additionalProperties", {"type": "object", "properties": {"n" * 8001: {"type": "integer"}}, "additionalProperties": {"type": "string"}}, [{"a": "x"}, {"n" * 8001: 1}], [{"n" * 8001: "x"}]),
    _of("propertyNames", {"type": "object", "propertyNames": {"pattern": "^a", "maxLength": 2}}, [{"ab": 1}], [{"b": 1}, {"abc": 1}]),
    _late("propertyNames", {"type": "object", "propertyNames": {"pattern": TWICE}}, [{"aa": 1}], [{"b": 1}]),
    _of("items", {"type": "array", "items": {"type": "integer"}}, [[], [1, 2]], [["x"], [1, None]]),
    _of("items", {"$schema": D07, "type": "array", "items": [{"type": "integer"}, {"type": "string"}]}, [[1], [1, "x", None]], [["x"], [1, 2]]),
    _of("prefixItems", {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}, [[1], [1, "x"]], [["x"], [1, "x", 2]]),
    _of("additionalItems", {"$schema": D07, "type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, [[1, "x"]], [[1, 2]]),
    _of("contains", {"type": "array", "contains": {"type": "integer", "minimum": 2}}, [[2], ["x", 3, 1]], [[], [1, "x"]]),
    _late("contains", {"type": "array", "contains": SET, "maxContains": 1}, [[[1]], [[1], [1, 1]]], [[[1], [2]]]),
    _of("unevaluatedProperties", {"type": "object", "properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": False}, [{"a": 1, "b": 1}], [{"c": 1}]),
    _late("unevaluatedProperties", {"type": "object", "if": A_IS_1, "then": {"properties": {"b": {}}}, "unevaluatedProperties": False}, [{"a": 1, "b": 2}], [{"a": 2}]),
    _of("unevaluatedItems", {"type": "array", "prefixItems": [{"type": "integer"}], "unevaluatedItems": {"type": "string"}}, [[1, "x"]], [[1, 2]]),
    _of("unevaluatedItems", {"type": "array", "contains": {"type": "integer"}, "unevaluatedItems": {"type": "string"}}, [[1, "x"]], [[1, None], ["x"]]),
    _late("unevaluatedItems", {"type": "array", "anyOf": TUPLES, "unevaluatedItems": False}, [[1], [1, 2]], [[1, 9]]),
)  # fmt: skip

VALIDATION = (
    _of("type", {"type": ["integer", "null"]}, [1, 1.0, None], [1.5, "x", True, []]),
    _of("enum", {"enum": [1, "a", None, {"b": [True]}]}, [1, 1.0, "a", None, {"b": [True]}], [True, "b", {"b": [1]}]),
    _of("const", {"const": {"a": [1]}}, [{"a": [1]}, {"a": [1.0]}], [{"a": [2]}, {}, 1]),
    _of("multipleOf", {"type": "integer", "multipleOf": 7}, [0, 7, -14], [1, 15]),
    _of("multipleOf", {"type": "number", "multipleOf": 0.25}, [0.5, 3, -1.75], [0.3]),
    _late("multipleOf", {"type": "integer", "multipleOf": 10007}, [10007], [10008]),
    _of("maximum", {"type": "number", "maximum": 2.5}, [2.5, -7], [2.6, 3]),
    _of("exclusiveMaximum", {"type": "integer", "exclusiveMaximum": 3}, [2, -7], [3]),
    _of("exclusiveMaximum", {"$schema": D04, "type": "integer", "maximum": 3, "exclusiveMaximum": True}, [2], [3]),
    _of("minimum", {"type": "number", "minimum": -2.5}, [-2.5, 7], [-2.6]),
    _of("exclusiveMinimum", {"type": "integer", "exclusiveMinimum": 10**20}, [10**20 + 1], [10**20, 1]),
    _of("exclusiveMinimum", {"$schema": D04, "type": "integer", "minimum": 3, "exclusiveMinimum": True}, [4], [3]),
    _of("maxLength", {"type": "string", "maxLength": 2}, ["", "é\U0001f4c1"], ["abc"]),
    _late("maxLength", {"type": "string", "pattern": "^(ab|[b-d]+e)*$", "maxLength": 2500}, ["ab", "be"], ["ab" * 1300]),
    _of("minLength", {"type": "string", "minLength": 2}, ["ab", "\n\U0001f4c1"], ["", "\U0001f4c1"]),
    _late("minLength", {"type": "string", "pattern": "^(?:[a-f]{2}:){5}x|y.*z$", "minLength": 2000}, ["y" * 2000 + "z"], ["yz"]),
    _of("pattern", {"type": "string", "pattern": "(?=..$)^[a-c]"}, ["ab", "cé"], ["abc", "da"]),
    _late("pattern", {"type": "string", "pattern": r"^(a|b)\1$"}, ["aa", "bb"], ["ab"]),
    _of("maxItems", {"type": "array", "maxItems": 2}, [[], [1, 2]], [[1, 2, 3]]),
    _of("minItems", {"type": "array", "minItems": 2}, [[1, 2]], [[], [1]]),
    _of("uniqueItems", {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True}, [[], ["b", 1, "a"]], [["a", "a"], [1, "a", 1]]),
    _of("uniqueItems", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "uniqueItems": True}, [["a", 1]], [[1, 1]]),
    _late("uniqueItems", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, [["a", "b"]], [["a", "a"]]),
    _late("uniqueItems", {"type": "array", "items": {"enum": [*range(30)]}, "uniqueItems": True}, [[1, 2]], [[2, 2]]),
    _of("maxContains", {"type": "array", "contains": {"const": 1}, "maxContains": 1}, [[1, 2]], [[1, 1], [2]]),
    _late("maxContains", {"type": "array", "contains": SET, "maxContains": 1}, [[[1]]], [[[1], [2]]], "contains"),
    _of("minContains", {"type": "array", "contains": {"const": 1}, "minContains": 2}, [[1, 2, 1]], [[1, 2]]),
    _of("minContains", {"type": "array", "contains": {"const": 1}, "minContains": 0}, [[], [2]], [1]),
    _late("minContains", {"type": "array", "contains": {"const": 1}, "minContains": 300}, [[1] * 300], [[2] * 300], "contains"),
    _of("maxProperties", {"type": "object", "properties": {"a": {}, "b": {}}, "maxProperties": 1}, [{}, {"b": 1}, {"c": 1}], [{"a": 1, "c": 1}]),
    _late("maxProperties", {"type": "object", "properties": MANY, "maxProperties": 150}, [{"p0": 1}], [dict.fromkeys([*MANY][:151], 1)]),
    _of("minProperties", {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 2}, [{"a": 1, "b": 1}, {"b": 1, "c": 1}], [{}, {"a": 1}]),
    _late("minProperties", {"type": "object", "properties": MANY, "minProperties": 100, "maxProperties": 150}, [dict.fromkeys([*MANY][:100], 1)], [{"p0": 1}]),
    _of("required", {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "z"]}, [{"b": 1, "z": 1}], [{"b": 1}, {"z": 1}]),
    _late("required", {**NAMES, "required": ["n0"], "dependentRequired": TANGLED}, [{"n0": 1}], [{"n0": 1, "n1": 1}]),
    _of("dependentRequired", {"type": "object", "dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    _late("dependentRequired", {**NAMES, "dependentRequired": TANGLED}, [{}], [{"n1": 1}], "required"),
)  # fmt: skip

NOTES = (
    _of("format", {"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "x"]),
    Example("format", {"type": "string", "format": "email"}, ("a@x.example",), ("x",), loose=("a" * 80 + "@x.example",)),
    _of("contentEncoding", {"type": "string", "contentEncoding": "base64"}, ["YQ==", "~"], []),
    _of("contentMediaType", {"type": "string", "contentMediaType": "application/json"}, ["{}", "{"], []),
    _of("contentSchema", {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object"}}, ["{}", "1"], []),
    _of("title", {"type": "integer", "title": "Even"}, [1], []),
    _of("description", {"type": "integer", "description": "An even number."}, [1], []),
    _of("default", {"type": "integer", "default": "x"}, [1], []),
    _of("examples", {"type": "integer", "examples": [2]}, [1], []),
    _of("deprecated", {"type": "integer", "deprecated": True}, [1], []),
    _of("readOnly", {"type": "integer", "readOnly": True}, [1], []),
    _of("writeOnly", {"type": "integer", "writeOnly": True}, [1], []),
    _of("nullable", {"type": "string", "nullable": True, "maxLength": 1}, [None, "a"], ["ab", 1]),
    _of("nullable", {"nullable": True, "oneOf": [{"type": "integer"}, {"type": "string"}]}, [None, 1, "a"], [[], True]),
    _of("nullable", {"nullable": True, "enum": ["a"]}, ["a"], [None]),
)  # fmt: skip

EXAMPLES = (*CORE, *APPLICATORS, *VALIDATION, *NOTES)
