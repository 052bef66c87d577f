"""Random schemas that love odd keywords and their combination, and values that come near to fitting them.

Alphabets are small, so that keywords, names and values meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Rng = random.Random
KEYS = ("a", "b", "ab", "x1", "", "é")
TEXTS = ("", "a", "b", "ab", "aab", "x1", "é\U0001f4c1", '"', "abcd", "12")
NUMBERS = (0, 1, -1, 2, 3, 5, 10, 12, -7, 100, 0.5, -1.5, 2.25, 1.0, 1e20)
PATTERNS = ("^a", "b$", "^[a-c]+$", "x", "^x\\d", ".", "^.{2,3}$", "^(a|b)$", "^(?!a)", "[^a]", "")
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
DRAFTS = {
    "04": "http://json-schema.org/draft-04/schema#",
    "06": "http://json-schema.org/draft-06/schema#",
    "07": "http://json-schema.org/draft-07/schema#",
    "19": "https://json-schema.org/draft/2019-09/schema",
    "20": "https://json-schema.org/draft/2020-12/schema",
}


class _Maker:
    def __init__(self, rng: Rng, draft: str) -> None:
        self.rng = rng
        self.draft = draft
        self.left = rng.choice((3, 6, 10, 16))
        self.definitions = ("A", "B", "C")[: rng.choice((0, 1, 2, 3))]

    def schema(self, depth: int = 0) -> Any:
        rng = self.rng
        self.left -= 1
        if self.left < 0 or depth > 4:
            return self.leaf()
        if self.draft != "04" and rng.random() < 0.06:
            return rng.random() < 0.6
        made: dict[str, Any] = {}
        if rng.random() < 0.7:
            made["type"] = rng.choice(("object", "object", "array", *TYPES))
            if rng.random() < 0.2:
                made["type"] = rng.sample(TYPES, rng.randint(1, 3))
        for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
            group = self.group(made.get("type"))
            group(made, depth + 1)
        return made

    def group(self, kind: Any) -> Callable[[dict[str, Any], int], None]:
        rng = self.rng
        own = {
            "object": self.members,
            "array": self.items,
            "string": self.text,
            "number": self.number,
            "integer": self.number,
        }
        if isinstance(kind, str) and kind in own and rng.random() < 0.6:
            return own[kind]
        return rng.choice((self.members, self.members, self.items, self.text, self.number, self.values, self.union, self.union, self.negation, self.condition, self.reference))  # fmt: skip

    def leaf(self) -> Any:
        rng = self.rng
        made: dict[str, Any] = {}
        rng.choice((self.values, self.text, self.number, self.kind, self.kind, self.reference))(made, 9)
        return made

    def kind(self, made: dict[str, Any], depth: int) -> None:
        made["type"] = self.rng.choice(TYPES)

    def values(self, made: dict[str, Any], depth: int) -> None:
        if self.draft != "04" and self.rng.random() < 0.4:
            made["const"] = plain_value(self.rng)
        else:
            listed: list[Any] = []
            for value in (plain_value(self.rng) for _ in range(self.rng.randint(1, 4))):
                if value not in listed and not any(isinstance(value, bool) or isinstance(one, bool) for one in listed):
                    listed.append(value)
            made["enum"] = listed

    def number(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        keyword = rng.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
        if keyword == "multipleOf":
            made[keyword] = rng.choice((1, 2, 3, 5, 0.5, 0.25))
        elif self.draft == "04" and keyword.startswith("exclusive"):
            made[keyword] = rng.random() < 0.7
            made[keyword[9:].lower()] = rng.choice(NUMBERS[:11])
        else:
            made[keyword] = rng.choice(NUMBERS[:13])

    def text(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        keyword = rng.choice(("minLength", "maxLength", "pattern", "pattern"))
        made[keyword] = rng.choice(PATTERNS) if keyword == "pattern" else rng.randint(0, 4)

    def items(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        roll = rng.random()
        if roll < 0.35:
            made["items"] = self.schema(depth)
        elif roll < 0.5:
            listed = [self.schema(depth) for _ in range(rng.randint(1, 3))]
            if self.draft == "20":
                made["prefixItems"] = listed
            else:
                made["items"] = listed
                if rng.random() < 0.5:
                    made["additionalItems"] = self.schema(depth) if rng.random() < 0.5 else False
        elif roll < 0.75:
            made[rng.choice(("minItems", "maxItems"))] = rng.randint(0, 4)
        elif roll < 0.85:
            made["uniqueItems"] = rng.random() < 0.9
        elif self.draft != "04":
            made["contains"] = self.schema(depth)
            if self.draft in ("19", "20") and rng.random() < 0.5:
                made[rng.choice(("minContains", "maxContains"))] = rng.randint(0, 3)
        if self.draft in ("19", "20") and rng.random() < 0.08:
            made["unevaluatedItems"] = rng.choice((False, self.schema(depth)))

    def members(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        roll = rng.randrange(9)
        if roll < 3:
            made["properties"] = {key: self.schema(depth) for key in rng.sample(KEYS, rng.randint(1, 4))}
        if roll in (0, 3):
            made["required"] = rng.sample(KEYS, rng.randint(1, 2))
        if roll in (1, 4):
            made["additionalProperties"] = rng.choice((False, False, self.schema(depth)))
        if roll == 5:
            made["patternProperties"] = {p: self.schema(depth) for p in rng.sample(PATTERNS, rng.randint(1, 2))}
        if roll == 6:
            made[rng.choice(("minProperties", "maxProperties"))] = rng.randint(0, 3)
        if roll == 7 and self.draft != "04":
            made["propertyNames"] = self.schema(depth) if rng.random() < 0.3 else self.name()
        if roll == 8:
            self.dependent(made, depth)
        if self.draft in ("19", "20") and rng.random() < 0.08:
            made["unevaluatedProperties"] = rng.choice((False, self.schema(depth)))

    def name(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self.text(made, 9)
        return self.rng.choice((made, {"enum": list(self.rng.sample(KEYS, 3))}, {"not": made}))

    def dependent(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        keys = rng.sample(KEYS, rng.randint(1, 2))
        if self.draft in ("19", "20"):
            if rng.random() < 0.5:
                made["dependentRequired"] = {key: rng.sample(KEYS, rng.randint(1, 2)) for key in keys}
            else:
                made["dependentSchemas"] = {key: self.schema(depth) for key in keys}
        else:
            made["dependencies"] = {
                key: rng.choice((rng.sample(KEYS, rng.randint(1, 2)), self.schema(depth))) for key in keys
            }

    def union(self, made: dict[str, Any], depth: int) -> None:
        rng = self.rng
        keyword = rng.choice(("anyOf", "oneOf", "allOf"))
        made[keyword] = [self.schema(depth) for _ in range(rng.randint(1, 3))]

    def negation(self, made: dict[str, Any], depth: int) -> None:
        made["not"] = self.schema(depth)

    def condition(self, made: dict[str, Any], depth: int) -> None:
        if self.draft in ("04", "06"):
            return
        made["if"] = self.schema(depth)
        for keyword in ("then", "else"):
            if self.rng.random() < 0.7:
                made[keyword] = self.schema(depth)

    def reference(self, made: dict[str, Any], depth: int) -> None:
        if self.definitions:
            made["$ref"] = f"#/definitions/{self.rng.choice(self.definitions)}"


def odd_schema(rng: Rng) -> Any:
    """A schema document of some draft, perhaps with definitions that refer to each other."""
    draft = rng.choice([*DRAFTS])
    maker = _Maker(rng, draft)
    made = maker.schema()
    if not isinstance(made, dict):
        return made
    definitions = {}
    for index, name in enumerate(maker.definitions):
        maker.left = 4
        # References lead on to later definitions, or back from within a member or an item.
        inner = _Maker(rng, draft)
        inner.left, inner.definitions = 4, maker.definitions[index + 1 :]
        definitions[name] = inner.schema()
        if rng.random() < 0.3 and isinstance(definitions[name], dict):
            definitions[name].setdefault("properties", {})["a"] = {"$ref": f"#/definitions/{name}"}
    return {"$schema": DRAFTS[draft], **made, **({"definitions": definitions} if definitions else {})}


def plain_value(rng: Rng, depth: int = 0) -> Any:
    """Any small value."""
    roll = rng.random()
    if roll < 0.3:
        return rng.choice(TEXTS)
    if roll < 0.55:
        return rng.choice(NUMBERS)
    if roll < 0.7:
        return rng.choice((None, True, False))
    if depth > 2:
        return rng.choice(([], {}))
    if roll < 0.82:
        return [plain_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {key: plain_value(rng, depth + 1) for key in rng.sample(KEYS, rng.randint(0, 3))}


def value_of(rng: Rng, schema: Any, depth: int = 0) -> Any:
    """A value that comes near to fitting a schema: by one of its keywords, whatever else it says."""
    if not isinstance(schema, dict) or depth > 4 or rng.random() < 0.08:
        return plain_value(rng)
    if "enum" in schema or "const" in schema:
        return rng.choice(schema["enum"]) if schema.get("enum") else schema.get("const")
    inner = [one for word in ("allOf", "anyOf", "oneOf") for one in schema.get(word, ()) if isinstance(one, dict)]
    inner += [schema[word] for word in ("if", "then", "else") if isinstance(schema.get(word), dict)]
    if inner and rng.random() < 0.5:
        found = value_of(rng, rng.choice(inner), depth + 1)
        mine = value_of(rng, {k: v for k, v in schema.items() if k not in ("allOf", "anyOf", "oneOf", "if")}, depth + 1)
        return {**found, **mine} if isinstance(found, dict) and isinstance(mine, dict) else found
    kind = schema.get("type")
    kind = rng.choice(kind) if isinstance(kind, list) and kind else kind
    if kind is None:
        speaks = [one for one, words in _SPEAKING.items() if any(word in schema for word in words)]
        kind = rng.choice(speaks) if speaks else rng.choice(TYPES)
    return _MADE[kind](rng, schema, depth)


def _object(rng: Rng, schema: dict[str, Any], depth: int) -> Any:
    keys = [key for key in schema.get("properties", {}) if rng.random() < 0.7]
    keys += [key for key in schema.get("required", ()) if rng.random() < 0.95]
    keys += [key for key in KEYS if rng.random() < 0.15]
    made = {}
    for key in dict.fromkeys(keys):
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
        made[key] = value_of(rng, inner, depth + 1)
    items = list(made.items())
    rng.shuffle(items)
    return dict(items)


def _array(rng: Rng, schema: dict[str, Any], depth: int) -> Any:
    items = schema.get("prefixItems", schema.get("items"))
    made = []
    for index in range(rng.randint(0, 3)):
        inner = items[index] if isinstance(items, list) and index < len(items) else schema.get("items")
        made.append(value_of(rng, inner if isinstance(inner, dict) else schema.get("contains"), depth + 1))
    return made


def _number(rng: Rng, schema: dict[str, Any], depth: int) -> Any:
    near = [schema[word] for word in _SPEAKING["number"] if word in schema and not isinstance(schema[word], bool)]
    return rng.choice(near) + rng.choice((0, 1, -1, 0.5, 2)) if near else rng.choice(NUMBERS)


_SPEAKING = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependencies"),
    "array": ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip
_MADE: dict[str, Callable[[Rng, dict[str, Any], int], Any]] = {
    "object": _object,
    "array": _array,
    "string": lambda rng, schema, depth: rng.choice(TEXTS),
    "number": _number,
    "integer": lambda rng, schema, depth: round(_number(rng, schema, depth)),
    "boolean": lambda rng, schema, depth: rng.random() < 0.5,
    "null": lambda rng, schema, depth: None,
}


def mutated(rng: Rng, value: Any, schema: Any) -> Any:
    """A value with one thing changed: a member or item gone, come or changed, or the whole."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        roll = rng.random()
        if roll < 0.3:
            return {k: v for k, v in value.items() if k != key}
        if roll < 0.5:
            return {**value, rng.choice(KEYS): plain_value(rng)}
        return {**value, key: mutated(rng, value[key], True)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        roll = rng.random()
        if roll < 0.3:
            return value[:index] + value[index + 1 :]
        if roll < 0.5:
            return [*value, rng.choice((plain_value(rng), value[index]))]
        return [*value[:index], mutated(rng, value[index], True), *value[index + 1 :]]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15 and rng.random() < 0.7:
        return value + rng.choice((1, -1, 0.5))
    return value_of(rng, schema)
