"""Rules after recursion: dead ends gone, no rule that begins with itself, everything else as it was."""

from __future__ import annotations

from tacid.grammar.nodes import EMPTY, Alt, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.tidy import tidied

A, B, X = Ref("a"), Ref("b"), Lit("x")


def test_sound_rules_stay_the_same_objects() -> None:
    rules: dict[str, Node] = {"a": Alt((X, Seq((Lit("["), A, Lit("]"))))), "b": Repeat(A, 1, 3)}
    kept, start = tidied(rules, B)
    assert all(kept[name] is node for name, node in rules.items())
    assert start is B


def test_rules_of_others_are_taken_as_sound() -> None:
    start = Seq((Ref("string"), X))
    assert tidied({}, start) == ({}, start)


def test_what_never_ends_is_dropped_wherever_it_can_be() -> None:
    endless: dict[str, Node] = {"a": Seq((Lit("["), A))}
    assert tidied(endless, Alt((A, X))) == ({}, X)
    assert tidied(endless, Seq((X, Repeat(A, 0, None)))) == ({}, X)
    assert tidied(endless, Repeat(A, 0, 1)) == ({}, EMPTY)
    assert tidied(endless, Repeat(A, 1, None)) == ({}, None)
    assert tidied(endless, Seq((X, A))) == ({}, None)
    assert tidied(endless, A) == ({}, None)


def test_a_choice_of_nothing_is_dropped() -> None:
    assert tidied({"a": Alt(())}, Alt((A, X))) == ({}, X)


def test_a_rule_that_begins_with_itself_is_what_else_it_says() -> None:
    kept, _ = tidied({"a": Alt((A, X, Lit("y")))}, A)
    assert kept == {"a": Alt((X, Lit("y")))}


def test_rules_that_begin_with_each_other_are_one() -> None:
    kept, _ = tidied({"a": Alt((B, X)), "b": Alt((Ref("c"), Lit("y"))), "c": Alt((A, Seq((Lit("["), B))))}, B)
    assert kept["a"] == Alt((X, Lit("y"), Seq((Lit("["), B))))
    assert kept["b"] == kept["c"] == A


def test_rules_that_only_lead_to_each_other_are_nothing() -> None:
    assert tidied({"a": B, "b": A}, A) == ({}, None)
