from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.errors import CompilerBug, GrammarError
from tacid.grammar import limits
from tacid.grammar.nodes import EMPTY, Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import print_node, print_rules
from tacid.grammar.verify import verify
from tacid.grammar.walk import accepts
from tests.grammar.draw import draw, valid_rules
from tests.grammar.gbnf import read_gbnf

A, B = Lit("a"), Lit("b")
LOWER = Chars(((0x61, 0x7A),))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Lit('say "x\\y"'), '"say \\"x\\\\y\\""'),
        (Lit("\n\r\t\x01\x7f"), '"\\n\\r\\t\\x01\\x7F"'),
        (Lit("\nab\x7f0\x01g\\x41b"), '"\\nab\\u007F0\\x01g\\\\x41b"'),
        (Lit("é😀"), '"é😀"'),
        (Lit("\u200b\u2028\U000e0001"), '"\\u200B\\u2028\\U000E0001"'),
        (Lit(""), '""'),
        (EMPTY, '""'),
        (Alt((EMPTY, A)), '"" | "a"'),
        (LOWER, "[a-z]"),
        (Chars(((0x61, 0x61), (0x7A, 0x7A))), "[az]"),
        (Chars(((0x61, 0x62),)), "[ab]"),
        (Chars(((0x2D, 0x2D), (0x5B, 0x5E))), "[\\x2D\\[-\\x5E]"),
        (Chars(((0x2D, 0x2D), (0x30, 0x39), (0x5B, 0x5E), (0x61, 0x66))), "[\\u002D0-9\\[-\\u005Ea-f]"),
        (Chars(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)), negated=True), '[^\\x00-\\x1F"\\\\]'),
        (Chars(((0xE9, 0xE9), (0x4E00, 0x9FFF), (0x1F600, 0x1F64F))), "[\\xE9\\u4E00-\\u9FFF\\U0001F600-\\U0001F64F]"),
        (Chars((), negated=True), "."),
        (Gate("names"), '"\\n"'),
        (Repeat(A, 0, None), '"a"*'),
        (Repeat(A, 1, None), '"a"+'),
        (Repeat(A, 0, 1), '"a"?'),
        (Repeat(A, 2, None), '"a"{2,}'),
        (Repeat(A, 3, 3), '"a"{3}'),
        (Repeat(A, 0, 5), '"a"{0,5}'),
        (Repeat(A, 1, 1), '"a"'),
        (Repeat(A, 0, 0), '""'),
        (Repeat(EMPTY, 0, 5), '""'),
    ],
)  # fmt: skip
def test_each_node_has_one_spelling(node: Node, text: str) -> None:
    assert print_node(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Alt((A, Seq((B, Alt((A, B)))))), '"a" | "b" ("a" | "b")'),
        (Seq((A, Seq((B, Ref("x"))))), '"ab" x'),
        (Seq((Alt((A,)), Repeat(Lit("ab"), 0, 1))), '"a" "ab"?'),
        (Repeat(Seq((A, Ref("x"))), 0, None), '("a" x)*'),
        (Repeat(Alt((A, B)), 1, None), '("a" | "b")+'),
        (Repeat(Repeat(A, 2, 2), 3, 3), '("a"{2}){3}'),
        (Repeat(Seq((EMPTY, A, Lit("b"))), 1, None), '"ab"+'),
        (Seq((Seq(()), Alt((Alt((A, B)), A)))), '"a" | "b" | "a"'),
        (Seq((A, Lit(""), B)), '"ab"'),
        (Seq((A, Gate("names"), B)), '"a" "\\n" "b"'),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(node: Node, text: str) -> None:
    assert print_node(node) == text


def test_the_root_comes_first_and_unused_rules_stay_out() -> None:
    rules: dict[str, Node] = {"z": A, "unused": B, "root": Seq((Ref("z"), Ref("b"))), "b": B}
    assert print_rules(rules) == 'root ::= z b\nz ::= "a"\nb ::= "b"\n'


def test_another_root_is_called_root_and_a_gate_leaves_its_rule_out() -> None:
    rules: dict[str, Node] = {"root": Seq((A, Gate("names"))), "names": Alt((A, Ref("more"))), "more": B}
    assert print_rules(rules) == 'root ::= "a" "\\n"\n'
    assert print_rules(rules, "names") == 'root ::= names\nnames ::= "a" | more\nmore ::= "b"\n'


def test_another_root_that_needs_the_root_is_a_bug() -> None:
    with pytest.raises(CompilerBug, match="names"):
        print_rules({"root": Ref("names"), "names": Alt((A, Seq((B, Ref("root")))))}, "names")


def test_a_missing_rule_and_endless_nesting_are_bugs() -> None:
    with pytest.raises(CompilerBug, match="gone"):
        print_rules({"root": Ref("gone")})
    deep: Node = A
    for _ in range(5000):
        deep = Seq((B, Alt((A, deep))))
    with pytest.raises(CompilerBug, match="too deep"):
        print_node(deep)


def test_a_grammar_beyond_the_limit_is_refused_with_its_size() -> None:
    with pytest.raises(GrammarError, match="bytes"):
        print_rules({"root": Lit("a" * (limits.MAX_GRAMMAR_BYTES + 1))})


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20))
def test_any_text_stays_within_its_literal(text: str) -> None:
    rules: dict[str, Node] = {"root": Seq((Lit(text), Ref("x"))), "x": A}
    printed = print_rules(rules)
    assert printed.count("\n") == 2
    assert "\n".join(printed.splitlines()) + "\n" == printed
    assert accepts(read_gbnf(printed), text + "a")


@settings(deadline=None)
@given(valid_rules(), st.integers(0, 1000))
def test_the_text_means_what_the_nodes_mean(rules: dict[str, Node], seed: int) -> None:
    read = read_gbnf(print_rules(rules))
    verify(read)
    assert accepts(read, draw(rules, seed, size=30))
    assert accepts(rules, draw(read, seed, size=30))
    assert print_rules(read) == print_rules(rules)
