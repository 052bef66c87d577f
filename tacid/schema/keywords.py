"""Keywords that can refuse an instance, types, and when JSON Schema calls two values equal.

Beside JSON Schema's keywords stand a few of our own, which parts of the compiler tell each other by; no schema from
outside can carry them (`tacid.schema.resources.standalone` takes them out).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any, Final, TypeGuard

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_ALONE = {kind: (kind,) for kind in TYPES}

#: Every keyword of drafts 4 to 2020-12 that can refuse an instance; the rest are annotations or unknown.
ASSERTING = frozenset(
    {
        "type",
        "enum",
        "const",
        "nullable",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "format",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "maxItems",
        "minItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    }
)

#: Keywords whose values are data, not schemas.
DATA: Final = frozenset({"enum", "const", "default", "examples", "example"})
#: Keywords whose values are objects with names of the author's, not keywords.
NAMED: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

#: Members that nobody declares must stay possible, since something that may declare some isn't held.
OPEN: Final = "tacid:open"
#: Keywords that couldn't be held: a list of names, each to be recorded where the schema is compiled.
LOST: Final = "tacid:lost"
#: Values that don't fit.
EXCEPT: Final = "tacid:except"
#: No number fits that is an integer.
FRACTION: Final = "tacid:fraction"
#: Which members an object must have or may not have, as a formula (see `tacid.schema.presence`).
PRESENCE: Final = "tacid:presence"
#: Members that only a condition speaks of: a list of names. They have no place in the order.
LATE: Final = "tacid:late"
#: What an array must contain besides what ``contains`` says: a list of schemas of ``contains`` and its bounds alone.
ALSO: Final = "tacid:contains"
OURS = frozenset({OPEN, LATE, LOST, EXCEPT, FRACTION, PRESENCE, ALSO})

#: What drafts up to 7 don't know yet, by the number that their ``$schema`` ends with.
_LATER = frozenset(
    {"prefixItems", "unevaluatedItems", "minContains", "maxContains", "unevaluatedProperties", "dependentRequired"}
    | {"dependentSchemas", "$dynamicRef", "$recursiveRef"}
)
_UNKNOWN: Mapping[str, frozenset[str]] = {
    "07": _LATER,
    "06": _LATER | {"if", "then", "else"},
    "04": _LATER | {"if", "then", "else", "const", "contains", "propertyNames"},
}
_DRAFT = re.compile(r"^https?://json-schema\.org/draft-0([3467])/schema#?$")


def draft(root: Any) -> str:
    """The number of the draft that a document declares: ``"04"``, ``"06"`` or ``"07"``; ``""`` for later ones or none.

    Draft 3 counts as 4.
    """
    declared = root.get("$schema") if isinstance(root, Mapping) else None
    found = _DRAFT.match(declared) if isinstance(declared, str) else None
    return f"0{max(found[1], '4')}" if found else ""


def known_in(root: Any) -> frozenset[str]:
    """The keywords that mean something in a document; all, unless it declares a draft that doesn't know some."""
    return (ASSERTING | OURS) - _UNKNOWN.get(draft(root), frozenset())


def type_list(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The types that ``type`` and ``nullable`` name, in their order; ``None`` where any will do.

    Names that JSON Schema doesn't know are left out here.
    """
    kind = schema.get("type")
    null = schema.get("nullable") is True
    if not null and isinstance(kind, str):
        return _ALONE.get(kind)
    kinds = [kind] if isinstance(kind, str) else kind
    if not isinstance(kinds, list):
        return None
    known = tuple(dict.fromkeys(k for k in kinds if isinstance(k, str) and k in TYPES))
    if not known and kinds:
        return None
    if null and "null" not in known:
        known = (*known, "null")
    return known


def kind_of(value: Any) -> str:
    """The type of a value: one of `TYPES`, ``number`` for integers too."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


def same_key(value: Any) -> str:
    """Text that is equal for values which JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if type(value) is str:
        return encode_basestring_ascii(value)
    try:
        text = _SORTED.encode(value)
    except TypeError:  # a mapping that is no dictionary
        return _SORTED.encode(plain(value))
    return _SORTED.encode(plain(value)) if _WHOLE.search(text) else text


_SORTED = json.JSONEncoder(sort_keys=True)
#: How a float that is whole ends, or goes on (or something in a text that looks like it).
_WHOLE = re.compile(r"[0-9]\.0(?![0-9])|[0-9]e\+")


def plain(value: Any) -> Any:
    """The value with every number that is whole as an integer, which JSON Schema calls equal."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is dict or isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def same(one: Any, other: Any) -> bool:
    """Whether JSON Schema calls two values equal. Python alone would call 1 and True equal."""
    return one is other or (bool(one == other) and _alike(one, other))


def _alike(one: Any, other: Any) -> bool:
    """Whether two values that Python calls equal have booleans in the same places."""
    kind = type(one)
    if kind is str or one is None:
        return True
    if kind is dict or isinstance(one, Mapping):
        for key, value in one.items():
            further = other[key]
            if value is not further and not _alike(value, further):
                return False
        return True
    if isinstance(one, (list, tuple)):
        return all(map(_alike, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def count_of(value: Any) -> int | None:
    """The count that an author wrote (``3.0`` is 3), or ``None`` for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a value is a number, as JSON has them."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
