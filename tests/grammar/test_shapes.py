"""Constructors of nodes: joined literals, alternatives once each, counts of any size."""

from __future__ import annotations

import pytest

from tacid.grammar.limits import MAX_REPEAT
from tacid.grammar.nodes import EMPTY, Alt, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.shapes import MAX_COUNT, alt, count, seq, weight
from tacid.grammar.verify import verify
from tacid.grammar.walk import accepts

A, B, X = Lit("a"), Lit("b"), Ref("x")


def test_a_sequence_joins_literals_and_opens_sequences() -> None:
    assert seq(A, seq(B, X), EMPTY, A) == Seq((Lit("ab"), X, A))
    assert seq(A, B) == Lit("ab")
    assert seq() == EMPTY


def test_alternatives_are_opened_and_stand_once() -> None:
    assert alt([A, alt([B, X]), A, B]) == Alt((A, B, X))
    assert alt([A, A]) == A
    assert alt([A, B, X, Ref("y"), Ref("z"), A]) == Alt((A, B, X, Ref("y"), Ref("z")))


def counted(least: int, most: int | None) -> dict[str, Node]:
    rules: dict[str, Node] = {"root": EMPTY}

    def named(node: Node) -> Node:
        name = next((name for name, known in rules.items() if known == node), f"r{len(rules)}")
        rules[name] = node
        return Ref(name)

    rules["root"] = seq(Lit("<"), count(A, least, most, named), Lit(">"))
    verify(rules)
    return rules


@pytest.mark.parametrize(
    ("least", "most"),
    [(0, 0), (0, 1), (2, 2), (0, 1999), (0, 2000), (1999, 2000), (2000, 2000), (2001, None), (1500, 3500), (3000, 3999), (0, 4001)],
)  # fmt: skip
def test_counts_hold_exactly(least: int, most: int | None) -> None:
    rules = counted(least, most)
    near = {0, 1, 1000, least - 1, least, least + 1, (most or least) - 1, most or least, (most or least) + 1}
    for number in near - {-1}:
        fitting = least <= number and (most is None or number <= most)
        assert accepts(rules, "<" + "a" * number + ">") == fitting, number


@pytest.mark.parametrize("most", [10**6, 10**7 - 1, MAX_COUNT])
def test_huge_counts_are_a_few_rules_within_the_engines_bounds(most: int) -> None:
    rules = counted(7, most)
    assert len(rules) < 20
    assert accepts(rules, "<" + "a" * 2500 + ">")


def test_no_repeat_goes_over_the_engines_bound() -> None:
    waiting = list(counted(123_456, MAX_COUNT).values())
    while waiting:
        node = waiting.pop()
        if isinstance(node, Repeat):
            assert max(node.min, node.max or 0) <= MAX_REPEAT
            waiting.append(node.item)
        elif isinstance(node, Seq):
            waiting.extend(node.items)
        elif isinstance(node, Alt):
            waiting.extend(node.options)


def test_a_large_repeat_weighs_what_the_engine_makes_of_it() -> None:
    assert weight(Repeat(X, 0, 1000)) > 2000
    assert weight(Repeat(X, 0, None)) < 40
