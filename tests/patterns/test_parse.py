"""Patterns as ECMA-262 reads them, and those that it doesn't."""

from __future__ import annotations

import pytest

from tacid.patterns import PatternError, string_language
from tacid.patterns.parse import MAX_DEPTH, MAX_PATTERN, parse


@pytest.mark.parametrize(
    ("pattern", "fits", "differs"),
    [
        (r"^\d$", "7", "٧"),
        (r"^\w$", "_", "é"),
        (r"^\s$", "\ufeff", "\u200b"),
        (r"^.$", "😀", "\u2028"),
        (r"^[^]$", "\n", ""),
        (r"^\cJ$", "\n", "J"),
        (r"^[\b]$", "\b", "b"),
        (r"^\x41\u0042\u{43}$", "ABC", "abc"),
        (r"^\ud83d\ude00$", "😀", "\ud83d"),
        (r"^[\w-]$", "-", "+"),
        (r"^[a-\d]$", "-", "b"),
        (r"^[.\-A-Z]+$", ".-A", "a"),
        (r"^a\/b\-c\_$", "a/b-c_", "a"),
        (r"^\{\{.+}}$", "{{x}}", "{x}"),
        (r"^x{a}]$", "x{a}]", "x"),
        (r"^\p{Lu}\pL$", "ÉÉ", "éé"),
        (r"^\p{Script=Greek}+$", "αΩ", "aΩ"),
        (r"^\P{L}$", "1", "a"),
        (r"^[\p{L}\p{Nd}]$", "٧", "-"),
        (r"^\p{Assigned}$", "a", "\u0378"),
        (r"^(?<year>\d{4})-(?P<month>\d\d)$", "2026-12", "2026-1"),
        (r"^(?:a|b)*?c$", "abac", "ab"),
        (r"^\0$", "\0", "0"),
        (r"^a{2}$", "aa", "aaa"),
        (r"^(?:ab){2,}$", "abab", "ab"),
        ("a|^b|c$", "xa", "xb"),
        (r"\bfoo\b", "a foo.", "afoo"),
        (r"(?<=\$)\d", "$5", "5"),
        (r"^(?!.*\.\.)[a-z.]+$", "a.b", "a..b"),
        (r"^(?=.*\d)(?=.*[a-z]).{3,}$", "ab1", "abc"),
        ("", "anything", None),
    ],
)  # fmt: skip
def test_reads_what_people_write(pattern: str, fits: str, differs: str | None) -> None:
    language = string_language(pattern)
    assert language is not None
    assert language.accepts(fits)
    assert differs is None or not language.accepts(differs)


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a)", "[a", "[b-a]", "*", "a**", "a{2,1}", "x{,3}", "{2}", "\\", r"\1", r"(?<n>a)\k<m>", "(?i)a", "(?i:a)",
     "(?#c)a", "(?>a)", "a++", r"\A", r"\Z", r"\h", r"\p{NoSuch}", r"\p{Script=NoSuch}", r"\pX", r"\x4", r"\u12", r"\u{110000}",
     r"[\1]", r"[\B]", "[[:alpha:]]", "(?<=a)*", "(?<1>a)", r"\c1"],
)  # fmt: skip
def test_what_is_no_pattern_or_read_in_two_ways_is_not_read(pattern: str) -> None:
    with pytest.raises(PatternError):
        parse(pattern)
    assert string_language(pattern) is None


def test_patterns_are_bounded() -> None:
    for pattern in ("a" * (MAX_PATTERN + 1), "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)):
        with pytest.raises(PatternError):
            parse(pattern)
    parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH)


def test_a_back_reference_is_read_and_not_exact() -> None:
    assert string_language(r"^(a|b)\1$") is None
    assert string_language(r"^(?<q>['\"]).*\k<q>$") is None
