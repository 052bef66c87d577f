"""What one pass over a rule finds, and that it is kept with the node."""

from __future__ import annotations

import pytest

from tacid.errors import CompilerBug
from tacid.grammar.look import look_of
from tacid.grammar.nodes import EMPTY, Alt, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.worth import MAYBE_EMPTY, NEVER_EMPTY


def test_names_and_gates_are_found_wherever_they_stand() -> None:
    node = Seq((Ref("a"), Alt((Repeat(Ref("b")), Gate("g"), Ref("a"))), Lit("x")))
    look = look_of("root", node)
    assert look.names == ("a", "b", "g")
    assert look.gates == ("g",)


def test_a_look_is_kept_with_its_node_and_not_with_an_equal_one() -> None:
    node, other = Seq((Ref("a"), Lit("b"))), Seq((Ref("a"), Lit("b")))
    assert look_of("x", node) is look_of("y", node)
    assert look_of("x", other) is not look_of("x", node)
    assert node == other and hash(node) == hash(other)


@pytest.mark.parametrize(
    "node, value",
    [
        (Lit(""), MAYBE_EMPTY),
        (EMPTY, MAYBE_EMPTY),
        (Seq((Ref("a"), Lit("b"))), NEVER_EMPTY),
        (Seq((Ref("a"), Repeat(Lit("b")))), None),
        (Alt((Ref("a"), Lit("b"))), None),
        (Alt((Ref("a"), EMPTY)), MAYBE_EMPTY),
        (Gate("a"), NEVER_EMPTY),
        (Repeat(Ref("a"), 1), None),
    ],
)
def test_worth_that_does_not_depend_on_other_rules_is_known_at_once(node: Node, value: int | None) -> None:
    assert look_of("root", node).value == value


def test_a_faulty_rule_is_faulty_each_time_and_by_its_own_name() -> None:
    node = Seq((Lit("a\0"), Ref("b")))
    for name in ("one", "two"):
        with pytest.raises(CompilerBug, match=f"The rule {name} has a NUL"):
            look_of(name, node)
