"""Every short text of a number against bounds and multiples by exact arithmetic, each spelling by itself."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from tacid.errors import GrammarError
from tacid.grammar import compile_schema
from tacid.grammar.limits import TREE_GROUPS
from tacid.grammar.walk import accepts

#: Every number of up to three digits after the point near 0, with all zeros that may follow.
DECIMALS = [
    text
    for sign, whole, places in product(("", "-"), range(3), range(4))
    for digits in range(10**places)
    for text in [f"{sign}{whole}" + (f".{digits:0{places}}" if places else "")]
]
#: Mantissas and exponents of scientific notation, in every spelling.
POWERS = [
    f"{sign}{mantissa}{letter}{exponent}"
    for sign, mantissa, (letter, exponent) in product(
        ("", "-"),
        ("1", "1.0", "1.5", "2", "2.49", "2.5", "2.50", "2.51", "7.5", "9", "9.99"),
        [("e", f"{way}{size}") for way, sizes in (("-", (5, 6, 9, 10, 11, 99, 100, 323)), ("", (16, 17, 20, 99, 100, 307))) for size in sizes]
        + [("E", "-7"), ("e", "-07"), ("e", "+16"), ("E", "+20"), ("e", "-05"), ("e", "-09"), ("e", "-012")],
    )
]  # fmt: skip


def within(text: str, schema: dict[str, Any]) -> bool:
    value = Decimal(text)
    bounds = {keyword: Decimal(repr(bound)) for keyword, bound in schema.items()}
    return (
        ("minimum" not in bounds or value >= bounds["minimum"])
        and ("maximum" not in bounds or value <= bounds["maximum"])
        and ("exclusiveMinimum" not in bounds or value > bounds["exclusiveMinimum"])
        and ("exclusiveMaximum" not in bounds or value < bounds["exclusiveMaximum"])
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 0.25},
        {"exclusiveMinimum": 0.25},
        {"maximum": 0.25},
        {"exclusiveMaximum": 0.25},
        {"exclusiveMinimum": 0},
        {"exclusiveMaximum": 0},
        {"maximum": 0},
        {"minimum": -0.125, "maximum": 1},
        {"minimum": 1, "maximum": 1},
        {"minimum": 0.25, "maximum": 0.25},
        {"minimum": 1.05, "exclusiveMaximum": 1.5},
        {"exclusiveMinimum": 1.05, "maximum": 1.5},
        {"minimum": 1.5, "maximum": 1.57},
        {"exclusiveMinimum": 1.5, "exclusiveMaximum": 1.57},
        {"exclusiveMinimum": 1.5, "exclusiveMaximum": 1.51},
        {"minimum": 1.5, "exclusiveMaximum": 1.505},
        {"exclusiveMinimum": 1.99, "exclusiveMaximum": 3},
        {"exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"exclusiveMinimum": 1, "maximum": 2},
        {"minimum": 1, "exclusiveMaximum": 2},
        {"minimum": 0.5, "maximum": 2.25},
        {"minimum": -2.25, "exclusiveMaximum": -0.5},
        {"exclusiveMinimum": -2.25, "maximum": -0.5},
        {"exclusiveMinimum": -1, "exclusiveMaximum": 1},
        {"minimum": 0.109, "maximum": 0.19},
        {"minimum": 0.1, "maximum": 0.901},
        {"exclusiveMinimum": 0.9, "exclusiveMaximum": 0.99},
        {"exclusiveMinimum": 0.5, "exclusiveMaximum": 0.6},
        {"minimum": 0.987, "exclusiveMaximum": 1},
        {"minimum": 1, "maximum": 1.001},
        {"exclusiveMinimum": 1, "exclusiveMaximum": 1.01},
    ],
    ids=str,
)
def test_every_decimal_is_in_or_out_as_the_bounds_say(schema: dict[str, Any]) -> None:
    rules = compile_schema({"type": "number", **schema}).rules
    # 0 has two signs, of which one is enough.
    wrong = [text for text in DECIMALS if Decimal(text) and accepts(rules, text) != within(text, schema)]
    assert wrong == []
    assert any(accepts(rules, text) for text in ("0", "-0")) == within("0", schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 0},
        {"exclusiveMinimum": 0},
        {"minimum": 1},
        {"maximum": -1},
        {"minimum": 2.5e16},
        {"exclusiveMinimum": 2.5e16},
        {"maximum": 2.5e16},
        {"exclusiveMaximum": 2.5e20},
        {"minimum": 2.5e99, "maximum": 7.5e99},
        {"exclusiveMinimum": 2.5e99, "exclusiveMaximum": 7.5e100},
        {"minimum": 2.5e307},
        {"maximum": 2.5e307},
        {"minimum": 2.5e-9},
        {"exclusiveMinimum": 2.5e-9},
        {"maximum": 2.5e-9},
        {"exclusiveMaximum": 2.5e-9},
        {"minimum": 2.5e-11, "maximum": 2.5e-10},
        {"minimum": 2.5e-99, "exclusiveMaximum": 9e-99},
        {"minimum": 2.5e-323},
        {"exclusiveMaximum": 2.5e-5},
        {"minimum": -2.5e-6, "maximum": 2.5e17},
        {"exclusiveMinimum": -2.5e20, "exclusiveMaximum": -2.5e-10},
        {"minimum": 1e-5, "maximum": 1e16},
        {"exclusiveMinimum": 1e-5, "exclusiveMaximum": 1e16},
        {"minimum": 1e-6, "exclusiveMaximum": 1e-5},
    ],
    ids=str,
)
def test_every_power_is_in_or_out_as_the_bounds_say(schema: dict[str, Any]) -> None:
    rules = compile_schema({"type": "number", **schema}).rules
    wrong = [text for text in POWERS if _canonical(text) and accepts(rules, text) != within(text, schema)]
    assert wrong == []


def _canonical(text: str) -> bool:
    """Whether a text has an exponent as a writer spells it, with no more than one zero before one digit."""
    return not text.endswith("-012")


def test_the_least_number_above_0_and_an_exponent_with_zeros() -> None:
    for schema, admitted in (
        ({"minimum": 0}, True), ({"exclusiveMinimum": 0}, True), ({"maximum": 1e-300}, True), ({"maximum": 5e-324}, True),
        ({"exclusiveMaximum": 5e-324}, False), ({"maximum": 0}, False), ({"minimum": 1e-323}, False),
        ({"minimum": 5e-324}, True), ({"exclusiveMinimum": 5e-324}, False),
    ):  # fmt: skip
        assert accepts(compile_schema({"type": "number", **schema}).rules, "5e-324") == admitted, schema
    rules = compile_schema({"type": "number", "minimum": 0, "maximum": 2e300}).rules
    assert not any(
        accepts(rules, text) for text in ("1e-012", "1e016", "1e+020", "0.5e20", "12e20", "1e5", "1e-4", "1e308")
    )


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"minimum": 2e20}, ["9.9e20"], ["10e20", "0.2e21"]),
        ({"minimum": 2.5e16, "maximum": 7.5e20}, ["5e19"], ["0.5e20", "50e18"]),
        ({"maximum": 10**40 + 1}, [f"1.{1:040}e40"], [f"1.{2:040}e40"]),
        ({"exclusiveMinimum": 2251799813685249}, ["2251799813685249.5", "2251799813685249.75"], ["2251799813685249.0"]),
        ({"maximum": 5}, ["-0", "-0.0", "0"], ["-00", "00"]),
    ],
    ids=str,
)
def test_a_number_has_one_mantissa_and_all_its_digits(
    schema: dict[str, Any], inside: list[str], outside: list[str]
) -> None:
    rules = compile_schema({"type": "number", **schema}).rules
    assert [text for text in inside if not accepts(rules, text)] == []
    assert [text for text in outside if accepts(rules, text)] == []


LEAST = (None, -1005, -100, -99, -1, 0, 1, 9, 10, 11, 99, 100, 101, 109, 190, 199, 200, 555)
MOST = (None, -100, -10, -1, 0, 1, 9, 10, 11, 99, 100, 110, 199, 200, 555, 999, 1000, 1010)


@pytest.mark.parametrize("low", LEAST)
def test_every_integer_is_in_or_out_as_the_bounds_say(low: int | None) -> None:
    for high in MOST:
        if low is not None and high is not None and low > high:
            continue
        schema = {key: bound for key, bound in (("minimum", low), ("maximum", high)) if bound is not None}
        rules = compile_schema({"type": "integer", **schema}).rules
        wrong = [n for n in range(-1111, 1112) if accepts(rules, str(n)) != within(str(n), schema)]
        assert wrong == [], schema
        assert not any(accepts(rules, text) for text in ("00", "-00", "01", "-01", "010", "", "-", "1.0", "1e1"))


SIDES = (
    *((None, None), (0, None), (None, 0), (1, None), (None, 1), (None, -1), (-7, None), (None, 7)),
    *((17, None), (None, -17), (99, None), (100, None), (101, None), (0, 99999), (17, 12345), (-12345, -17)),
    *((-12345, 12345), (1000, 9999)),
)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 16, 25, 30, 60, 64, 90, 100, 125, 250])
def test_every_multiple_is_in_and_no_other_integer(step: int) -> None:
    near = {
        *range(-220, 221),
        *range(990, 1013),
        *range(12340, 12351),
        *range(-12350, -12339),
        *range(9990, 10011),
        99999,
        100000,
    }
    for low, high in SIDES:
        bounds = {key: bound for key, bound in (("minimum", low), ("maximum", high)) if bound is not None}
        grammar = compile_schema({"type": "integer", "multipleOf": step, **bounds})
        assert not grammar.report.widenings
        # 0 has two signs, of which one is enough.
        wrong = [n for n in near if n and accepts(grammar.rules, str(n)) != (within(str(n), bounds) and n % step == 0)]
        assert wrong == [], bounds
        assert any(accepts(grammar.rules, text) for text in ("0", "-0")) == within("0", bounds)
        assert not any(accepts(grammar.rules, text) for text in ("00", "060", "-060", "", "-", "0.0"))


@pytest.mark.parametrize("step", [0.5, 0.1, 0.3, 0.25, 0.35, 1.5, 2.5, 0.01, 0.07, 0.75, 1.1, 0.125, 0.012, 12.5])
@pytest.mark.parametrize("signed", [True, False])
def test_every_decimal_multiple_is_in_and_no_other_number(step: float, signed: bool) -> None:
    grammar = compile_schema({"type": "number", "multipleOf": step} | ({} if signed else {"minimum": 0}))
    assert not grammar.report.widenings

    def fits(text: str) -> bool:
        return Decimal(text) % Decimal(repr(step)) == 0 and (signed or not text.startswith("-"))

    texts = [
        *DECIMALS,
        "10",
        "12.5",
        "35",
        "150.0",
        "100.25",
        "-100",
        "77.77",
        "10.0000",
        "1e5",
        "1.",
        "00",
        ".5",
        "01.5",
        "",
    ]
    wrong = [text for text in texts if accepts(grammar.rules, text) != (_plain(text) and fits(text))]
    assert wrong == []


def _plain(text: str) -> bool:
    return (
        text[:1] != "."
        and text[-1:].isdigit()
        and "e" not in text
        and (text.lstrip("-")[:1] != "0" or text.lstrip("-")[1:2] in ("", "."))
    )


@pytest.mark.parametrize(("step", "power"), [(1e-5, 5), (1e-7, 7), (1e-10, 10), (1e-12, 12)])
def test_multiples_of_a_small_power_of_ten_are_spelled_either_way(step: float, power: int) -> None:
    grammar = compile_schema({"type": "number", "multipleOf": step})
    assert not grammar.report.widenings
    inside = [
        f"1e-{power}",
        f"9E-{power}",
        f"-3e-{power}",
        "0." + "0" * (power - 1) + "1",
        "12",
        "0",
        "-1." + "0" * (power - 1) + "7",
    ]
    inside += [
        f"1.{'5' * (power - 5)}e-5" if power > 5 else "1e-5",
        "2e-5",
        *([f"1e-{power:02}", "1.5e-06"] if 6 < power < 10 else []),
    ]
    outside = [
        f"1.5e-{power}",
        f"1e-{power + 1}",
        "0." + "0" * power + "1",
        f"1.{'5' * (power - 4)}e-5",
        "1e-4",
        "0e-5",
        "1e5",
        "1.e-5",
    ]
    outside += [f"1e-{power:03}"]
    assert [text for text in inside if not accepts(grammar.rules, text)] == []
    assert [text for text in outside if accepts(grammar.rules, text)] == []


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({"multipleOf": 0.5, "minimum": -1, "maximum": 1}, ["-1", "-0.5", "0", "0.5", "1"]),
        ({"multipleOf": 0.5, "exclusiveMinimum": -1, "exclusiveMaximum": 1}, ["-0.5", "0", "0.5"]),
        ({"multipleOf": 0.5, "exclusiveMinimum": -0.75, "exclusiveMaximum": 0.75}, ["-0.5", "0", "0.5"]),
        ({"multipleOf": 2.5, "minimum": 1, "maximum": 11}, ["2.5", "5", "7.5", "10"]),
        ({"multipleOf": 20, "minimum": 20, "maximum": 40.5}, ["20", "40"]),
        ({"multipleOf": 1e21, "minimum": 1, "maximum": 2e21}, ["1" + "0" * 21, "2" + "0" * 21]),
        ({"multipleOf": 0.00005, "minimum": 0, "maximum": 0.0001}, ["0", "0.00005", "5e-05", "0.0001"]),
        ({"multipleOf": 3, "minimum": 5, "maximum": 6}, ["6"]),
    ],
    ids=str,
)
def test_few_multiples_are_listed(schema: dict[str, Any], texts: list[str]) -> None:
    grammar = compile_schema({"type": "number", **schema})
    assert not grammar.report.widenings
    given = [
        "-1",
        "-0.75",
        "-0.5",
        "0",
        "0.25",
        "0.5",
        "0.75",
        "1",
        "1.5",
        "2.5",
        "5",
        "7.5",
        "10",
        "11",
        "6",
        "9",
        "20",
        "40",
        "60",
    ]
    given += [
        "1" + "0" * 21,
        "2" + "0" * 21,
        "3" + "0" * 21,
        "0.00005",
        "5e-05",
        "0.0001",
        "0.00010",
        "1e-04",
        "0.00015",
        "-0",
    ]
    assert sorted(text for text in given if accepts(grammar.rules, text)) == sorted(texts)


def test_as_many_multiples_as_are_listed() -> None:
    for count, held in ((512, True), (513, False)):
        grammar = compile_schema({"type": "number", "multipleOf": 0.5, "minimum": 0.5, "maximum": count / 2})
        assert (not grammar.report.widenings) == held
        assert accepts(grammar.rules, "0.75") != held
        assert accepts(grammar.rules, str(count / 2).removesuffix(".0"))


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "integer", "minimum": 17, "maximum": 12345}, "integer"),
        ({"type": "number", "minimum": 0.25, "maximum": 17.5}, "number"),
        ({"type": "integer", "multipleOf": 7}, "multiple"),
        ({"type": "number", "multipleOf": 0.7}, "multiple"),
        ({"type": "integer", "minimum": 10**60 // 9}, "digits"),
        ({"type": "integer", "maximum": -(10**60) // 9}, "digits"),
        ({"type": "number", "minimum": 10**60 // 9}, "digits"),
    ],
    ids=str,
)
def test_rules_are_named_after_what_they_hold(schema: dict[str, Any], name: str) -> None:
    rules = compile_schema({"type": "object", "properties": {"a": schema, "b": schema}}).rules
    stems = {rule.split("-")[0] for rule in rules}
    assert name in stems
    assert stems <= {"root", "obj", "m", "p", "q", "integer", "number", "multiple", "digits", "fraction", "unsigned"}


def test_an_integer_that_is_a_multiple_of_a_fraction_is_one_of_its_numerator() -> None:
    rules = compile_schema({"type": "integer", "multipleOf": 2.5}).rules
    assert [n for n in range(-12, 13) if accepts(rules, str(n))] == [-10, -5, 0, 5, 10]
    rules = compile_schema({"type": "integer", "multipleOf": 1.5, "minimum": 0, "maximum": 9}).rules
    assert [n for n in range(-12, 13) if accepts(rules, str(n))] == [0, 3, 6, 9]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
        {"type": "integer", "minimum": 0.1, "maximum": 0.9},
        {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
        {"type": "number", "minimum": 1, "exclusiveMaximum": 1},
        {"type": "number", "minimum": -1, "maximum": -2},
        {"type": "integer", "multipleOf": 7, "minimum": 8, "maximum": 13},
        {"type": "number", "multipleOf": 0.5, "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
    ],
    ids=str,
)
def test_bounds_with_nothing_between_them_are_an_error_that_names_them(schema: dict[str, Any]) -> None:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    with pytest.raises(GrammarError, match=rf"(?s)lies between {low} and {high}"):
        compile_schema(schema)


@pytest.mark.parametrize("places", [*range(1, 2 * TREE_GROUPS + 2)])
def test_bounds_of_many_digits_hold_to_the_last(places: int) -> None:
    for low in ("1" * places, "5" * places, "9" * (places - 1) + "8", "1" + "0" * (places - 1)):
        number = int(low)
        for keyword, sign in (("minimum", 1), ("maximum", -1)):
            rules = compile_schema({"type": "integer", keyword: number}).rules
            near = {number + step * 10**place for place in range(places) for step in (-1, 0, 1)}
            assert [n for n in near if accepts(rules, str(n)) != ((n - number) * sign >= 0)] == []
            # Beyond 15 digits a double can't hold a fraction like this.
            if places <= 15:
                rules = compile_schema({"type": "number", keyword: float(f"0.{low}")}).rules
                texts = [f"0.{n:0{places}}" for n in near if 0 <= n < 10**places]
                assert [t for t in texts if accepts(rules, t) != ((int(t[2:]) - number) * sign >= 0)] == []
