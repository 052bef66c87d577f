"""``format``: the formats of JSON Schema (2020-12 validation, 7.3) as patterns, each with its source.

Any other format is a note between an author and a reader. ``inexact`` is a clause on what a pattern admits beyond the
format; none refuses what is of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from tacid.patterns.parse import parse
from tacid.patterns.syntax import Tree


@dataclass(frozen=True, slots=True)
class Format:
    """A format's pattern, which holds the whole text, where it is defined, and what the pattern doesn't hold.

    ``loose`` is a pattern whose automaton is smaller, for where another must be held too; it doesn't hold addresses
    in brackets.
    """

    pattern: str
    source: str
    inexact: str = ""
    loose: str = ""

    def tree(self) -> Tree:
        """The pattern's tree."""
        return _tree(self.pattern)

    def loose_tree(self) -> Tree:
        """The tree of the pattern with the smaller automaton."""
        return _tree(self.loose or self.pattern)


@cache
def _tree(pattern: str) -> Tree:
    return parse(pattern)


_LEAP = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    rf"(?:\d{{4}}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP}-02-29)"
)
_HOUR, _MINUTE = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_OFFSET = rf"[+\-]{_HOUR}:{_MINUTE}"
_TIME = rf"(?:{_HOUR}:{_MINUTE}:(?:[0-5]\d(?:\.\d+)?(?:[Zz]|{_OFFSET})|60(?:\.\d+)?{_OFFSET})|23:59:60(?:\.\d+)?[Zz])"
_LEAP_SECONDS = "a leap second is held to 23:59 UTC only where the time ends in Z"

_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_V4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_H16 = r"[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_V4})"
_V6 = (
    rf"(?:(?:{_H16}:){{6}}{_LS32}|::(?:{_H16}:){{5}}{_LS32}|(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}"
    + "".join(
        rf"|(?:(?:{_H16}:){{0,{before}}}{_H16})?::{after}"
        for before, after in (
            (1, rf"(?:{_H16}:){{3}}{_LS32}"),
            (2, rf"(?:{_H16}:){{2}}{_LS32}"),
            (3, rf"{_H16}:{_LS32}"),
            (4, _LS32),
            (5, _H16),
            (6, ""),
        )
    )
    + ")"
)

_LABEL = r"[0-9A-Za-z](?:[0-9A-Za-z\-]{0,61}[0-9A-Za-z])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_IDN_LETTER = r"[^\x00-/:-@\[-`{-\x7f\u3002\uff0e\uff61]"
_IDN_LABEL = rf"{_IDN_LETTER}+(?:-+{_IDN_LETTER}+)*"
_IDN_HOST = rf"{_IDN_LABEL}(?:[.\u3002\uff0e\uff61]{_IDN_LABEL})*"

_ATEXT = r"[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~]"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LITERAL = rf"\[(?:{_V4}|IPv6:{_V6}|[0-9A-Za-z\-]*[0-9A-Za-z]:[!-Z^-~]+)\]"
_LOOSE_LITERAL, _LOOSE_LABEL = r"\[[!-Z^-~]+\]", r"[0-9A-Za-z]+(?:\-+[0-9A-Za-z]+)*"
_LOOSE_HOST = rf"{_LOOSE_LABEL}(?:\.{_LOOSE_LABEL})*"
_IDN_ATEXT = r"[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~\u0080-\u{10ffff}]"
_IDN_QUOTED = r'"(?:[ !#-\[\]-~\u0080-\u{10ffff}]|\\[ -~])*"'

_PCT = r"%[0-9A-Fa-f]{2}"
_UCS = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    rf"\u{{{plane:x}{'1000' if plane == 14 else '0000'}}}-\u{{{plane:x}fffd}}" for plane in range(1, 15)
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"
_UNRESERVED, _SUB = r"0-9A-Za-z\-._~", r"!$&'()*+,;="


def _uri(letters: str, private: str, *, relative: bool, address: str = _V6) -> str:
    """A URI (RFC 3986, appendix A) or IRI (RFC 3987, 2.2), whose unreserved characters are ``letters``."""

    def chars(more: str) -> str:
        return rf"(?:[{letters}{_SUB}{more}]|{_PCT})"

    segment = chars(":@")
    path = rf"(?:/{segment}*)*"
    host = rf"(?:{chars('')}*|\[(?:{address}|[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB}:]+)\])"
    authority = rf"//(?:{chars(':')}*@)?{host}(?::\d*)?{path}"
    absolute = rf"/(?:{segment}+{path})?"
    rest = rf"(?:\?(?:[{letters}{_SUB}:@/?{private}]|{_PCT})*)?(?:#(?:[{letters}{_SUB}:@/?]|{_PCT})*)?"
    whole = rf"[A-Za-z][0-9A-Za-z+\-.]*:(?:{authority}|{absolute}|{segment}+{path}|){rest}"
    if not relative:
        return f"^{whole}$"
    return rf"^(?:{whole}|(?:{authority}|{absolute}|{chars('@')}+{path}|){rest})$"


_VARCHAR = rf"(?:[0-9A-Za-z_]|{_PCT})"
_VARSPEC = rf"{_VARCHAR}(?:\.?{_VARCHAR})*(?::[1-9]\d{{0,3}}|\*)?"
_TEMPLATE_LITERAL = rf"[!#$&(-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]"

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "date-time": Format(rf"^{_DATE}[Tt]{_TIME}$", "RFC 3339, 5.6 and 5.7", _LEAP_SECONDS),
        "date": Format(rf"^{_DATE}$", "RFC 3339, 5.6 and 5.7"),
        "time": Format(rf"^{_TIME}$", "RFC 3339, 5.6 and 5.7", _LEAP_SECONDS),
        "duration": Format(
            r"^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?"
            r"|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))$",
            "RFC 3339, appendix A",
        ),
        "email": Format(
            rf"^(?:{_ATEXT}+(?:\.{_ATEXT}+)*|{_QUOTED})@(?:{_HOST}|{_LITERAL})$",
            "RFC 5321, 4.1.2",
            "lengths are not held",
        ),
        "idn-email": Format(
            rf"^(?:{_IDN_ATEXT}+(?:\.{_IDN_ATEXT}+)*|{_IDN_QUOTED})@(?:{_IDN_HOST}|{_LITERAL})$",
            "RFC 6531, 3.3",
            "lengths, and which letters a host may have, are not held",
            rf"^(?:{_IDN_ATEXT}+(?:\.{_IDN_ATEXT}+)*|{_IDN_QUOTED})@(?:{_IDN_HOST}|{_LOOSE_LITERAL})$",
        ),
        "hostname": Format(
            rf"^{_HOST}$", "RFC 1123, 2.1", "the length of the whole and the rules of Punycode are not held"
        ),
        "idn-hostname": Format(
            rf"^{_IDN_HOST}$", "RFC 5890, 2.3.2.3", "lengths and the rules of IDNA 2008 for letters are not held"
        ),
        "ipv4": Format(rf"^{_V4}$", "RFC 2673, 3.2"),
        "ipv6": Format(rf"^{_V6}$", "RFC 4291, 2.2"),
        "uri": Format(
            _uri(_UNRESERVED, "", relative=False),
            "RFC 3986",
            loose=_uri(_UNRESERVED, "", relative=False, address="[0-9A-Fa-f:.]+"),
        ),
        "uri-reference": Format(
            _uri(_UNRESERVED, "", relative=True),
            "RFC 3986",
            loose=_uri(_UNRESERVED, "", relative=True, address="[0-9A-Fa-f:.]+"),
        ),
        "iri": Format(
            _uri(_UNRESERVED + _UCS, _PRIVATE, relative=False),
            "RFC 3987",
            loose=_uri(_UNRESERVED + _UCS, _PRIVATE, relative=False, address="[0-9A-Fa-f:.]+"),
        ),
        "iri-reference": Format(
            _uri(_UNRESERVED + _UCS, _PRIVATE, relative=True),
            "RFC 3987",
            loose=_uri(_UNRESERVED + _UCS, _PRIVATE, relative=True, address="[0-9A-Fa-f:.]+"),
        ),
        "uri-template": Format(
            rf"^(?:{_TEMPLATE_LITERAL}|{_PCT}|\{{[+#./;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\}})*$", "RFC 6570, 2"
        ),
        "uuid": Format(r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$", "RFC 4122, 3"),
        "json-pointer": Format(r"^(?:/(?:[^~/]|~[01])*)*$", "RFC 6901, 3"),
        "relative-json-pointer": Format(
            r"^(?:0|[1-9]\d*)(?:[+\-][1-9]\d*)?(?:#|(?:/(?:[^~/]|~[01])*)*)$",
            "draft-bhutton-relative-json-pointer-00, 3",
        ),
        "regex": Format(r"^[^]*$", "ECMA-262, 22.2.1", "any text is admitted"),
    }
)
