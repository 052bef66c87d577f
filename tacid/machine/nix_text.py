"""Values of the protocol as text of the Nix language, formatted as nixfmt (RFC 166) formats them.

Strings are escaped so that none of them becomes code; nothing is ever written as a path. What Nix has no text for is a
``ProposalInvalid``: the character NUL, and half of a surrogate pair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tacid.errors import ProposalInvalid
from tacid.jsontext import quote

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_'-]*")
_KEYWORDS = frozenset({"assert", "else", "if", "in", "inherit", "let", "or", "rec", "then", "with"})
#: ``${`` opens code; Nix reads ``\r\n`` as one line break, so a carriage return is never raw.
_ESCAPED = re.compile(r'["\\]|\$\{|[\n\r\t]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOT_IN_NIX = re.compile("[\0\ud800-\udfff]")
#: The least integer: its digits alone are too many for Nix, which knows the minus as an operation.
_LEAST = -(1 << 63)
_INDENT = "  "


def nix_string(text: str) -> str:
    """The string, quotes included, on one line. Raises ``ProposalInvalid``."""
    if _NOT_IN_NIX.search(text):
        raise ProposalInvalid(
            f"The text {quote(text[:40], shown=True)} holds a character that Nix has no text for; leave it out.",
            pointer="",
        )
    body = _ESCAPED.sub(lambda found: _SHORT.get(found[0]) or "\\" + found[0], text)
    return f'"{body}"'


def nix_name(name: str) -> str:
    """A name of an attribute: bare where Nix takes it so, else quoted. Raises ``ProposalInvalid``."""
    if _IDENTIFIER.fullmatch(name) and name not in _KEYWORDS:
        return name
    return nix_string(name)


def nix_path(parts: Sequence[str]) -> str:
    """A path of attributes, such as ``services.nginx.enable``. Raises ``ProposalInvalid``."""
    return ".".join(map(nix_name, parts))


def nix_value(value: Any, indent: str = "") -> str:
    """A JSON value; lines after the first begin with ``indent``. Keys are sorted. Raises ``ProposalInvalid``."""
    if isinstance(value, str):
        return nix_string(value)
    if isinstance(value, Mapping):
        return nix_set({nix_name(key): nix_value(value[key], indent + _INDENT) for key in sorted(value)}, indent)
    if isinstance(value, list):
        return nix_list([_item(each, indent + _INDENT) for each in value], indent)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return _float(value)
    return f"({_LEAST + 1} - 1)" if value == _LEAST else str(value)


def nix_set(bindings: Mapping[str, str], indent: str = "") -> str:
    """A set of bindings that are text already, in their order, a line each."""
    if not bindings:
        return "{ }"
    lines = [f"{indent}{_INDENT}{name} = {value};" for name, value in bindings.items()]
    return "\n".join(["{", *lines, f"{indent}}}"])


def nix_list(items: Sequence[str], indent: str = "") -> str:
    """A list of items that are text already, a line each."""
    if not items:
        return "[ ]"
    return "\n".join(["[", *(f"{indent}{_INDENT}{item}" for item in items), f"{indent}]"])


def _item(value: Any, indent: str) -> str:
    """A value as an item of a list, where a minus would be an operation between two items."""
    text = nix_value(value, indent)
    return f"({text})" if text.startswith("-") else text


def _float(value: float) -> str:
    """Nix wants digits on both sides of a dot before the exponent."""
    mantissa, mark, exponent = repr(value).partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + mark + exponent


__all__ = ["nix_list", "nix_name", "nix_path", "nix_set", "nix_string", "nix_value"]
