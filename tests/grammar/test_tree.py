from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.nodes import EMPTY, Lit, Node, Ref
from tacid.grammar.printer import print_node, print_rules
from tacid.grammar.tree import json_literal, prefix_tree, prefix_tree_of, value_tree
from tacid.grammar.verify import verify
from tacid.grammar.walk import Walk, accepts
from tacid.jsontext import dumps, loads, quote
from tests.grammar.draw import draw

#: Texts of many scripts and of everything that JSON escapes; few letters, so that they share beginnings.
TEXTS = st.text(st.sampled_from('ab01"\\/\n\b\x1f\x7f<é😀\u200b\u2028\ue000\ud800\udc00\0\U000e0001'), max_size=6)


def tree(texts: list[str], tail: Node = EMPTY) -> dict[str, Node]:
    rules: dict[str, Node] = {}
    rules["root"] = prefix_tree(texts, tail, rules=rules, name="names")
    verify(rules)
    return rules


@pytest.mark.parametrize(
    ("text", "gbnf"),
    [
        ("nginx", '"nginx"'),
        ("", '""'),
        ('say "hi"\\', '"say \\\\\\"hi\\\\\\"\\\\\\\\"'),
        ("a\nb\x00", '"a\\\\nb\\\\u0000"'),
        ("a<b", '"a" ("<" | "\\\\u003c") "b"'),
        ("\u200b", '"\\u200B" | "\\\\u200b"'),
        ("é/😀", '"é/😀"'),
        ("\ud83d", '"\\\\ud83d"'),
    ],
)
def test_a_text_becomes_its_json_spelling(text: str, gbnf: str) -> None:
    assert print_node(json_literal(text)) == gbnf


def test_beginnings_are_shared_and_an_end_in_the_middle_is_a_choice() -> None:
    assert print_rules(tree(["nginx", "nix", "nixos", "sshd"], Lit('"'))) == (
        'root ::= ("n" ("ginx" | "ix" ("" | "os")) | "sshd") "\\""\n'
    )


def test_characters_that_go_on_alike_become_one_class() -> None:
    assert print_rules(tree([f"tty{n:02}" for n in range(100)])) == 'root ::= "tty" [0-9] [0-9]\n'
    assert print_rules(tree([f"tty{n}" for n in range(100)])) == 'root ::= "tty" ("0" | [1-9] ("" | [0-9]))\n'
    assert print_rules(tree(["a-", "a]", "a^", "a<"])) == 'root ::= "a" ([\\x2D\\]\\x5E] | "<" | "\\\\u003c")\n'


def test_order_and_repetition_do_not_matter() -> None:
    assert tree(["b", "ab", "a", "b"]) == tree(["a", "b", "ab"])


def test_each_text_keeps_its_own_tail() -> None:
    rules: dict[str, Node] = {"one": Lit("1"), "two": Lit("2")}
    rules["root"] = prefix_tree_of({"ab": Ref("one"), "ac": Ref("two"), "a": Lit("3")}, rules=rules, name="names")
    verify(rules)
    assert {text for text in ("ab1", "ac2", "a3", "ab2", "ac1", "ab3", "a", "ab") if accepts(rules, text)} == {
        "ab1",
        "ac2",
        "a3",
    }


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=12), st.integers(0, 1000))
def test_the_tree_takes_exactly_the_texts(texts: list[str], seed: int) -> None:
    rules = tree(texts, Lit('"'))
    for text in texts:
        for shown in (False, True):
            assert accepts(rules, quote(text, shown=shown)[1:])
    drawn = loads('"' + draw(rules, seed), "what was drawn")
    # Two halves of a pair, each escaped, read back as the one character.
    assert drawn.encode("utf-16-le", "surrogatepass") in {text.encode("utf-16-le", "surrogatepass") for text in texts}
    assert not accepts(rules, quote(texts[0] + "never")[1:])


@given(st.lists(st.recursive(st.integers() | st.booleans() | TEXTS, st.lists, max_leaves=4), min_size=1, max_size=8))
def test_values_of_any_kind_make_a_tree_of_their_texts(values: list[object]) -> None:
    rules: dict[str, Node] = {}
    rules["root"] = value_tree([dumps(value) for value in values], Lit("!"), rules=rules, name="values")
    verify(rules)
    for value in values:
        assert accepts(rules, dumps(value) + "!")
        assert accepts(rules, dumps(value, shown=True) + "!")
    assert not accepts(rules, dumps([values, "never"]) + "!")


@settings(deadline=None)
@given(st.lists(st.text("abc", max_size=8), min_size=1, max_size=30), st.data())
def test_after_each_character_of_a_plain_name_one_way_is_left(texts: list[str], data: st.DataObject) -> None:
    walk = Walk(tree(texts))
    for char in data.draw(st.sampled_from(texts)):
        assert walk.feed(char)
        assert len(walk._state.places) == 1


def test_deep_trees_go_on_in_rules_of_their_own() -> None:
    texts = ["a" * length for length in range(1, 300)] + ["ab" * 128]
    rules = tree(texts)
    assert set(rules) - {"root"} == {f"names-{number}" for number in range(len(rules) - 1)}
    assert len(rules) > 300 // limits.TREE_GROUPS
    assert all(accepts(rules, text) for text in texts[::7])
    assert not accepts(rules, "a" * 300)
    assert not accepts(rules, "")


def test_a_name_that_is_taken_and_no_texts_are_bugs() -> None:
    rules: dict[str, Node] = {"names-0": EMPTY}
    with pytest.raises(CompilerBug, match="names-0"):
        prefix_tree(["a" * length for length in range(100)], rules=rules, name="names")
    with pytest.raises(CompilerBug, match="names"):
        prefix_tree([], rules=rules, name="names")


def test_20_000_names_make_a_tree_at_once() -> None:
    rng = random.Random(1)
    words = ["alpha", "nginx", "lib", "python3", "dev", "service", "net", "data", "x11", "font"]
    names = {"-".join(rng.choices(words, k=rng.randint(1, 5))) + str(rng.randint(0, 99_999)) for _ in range(20_000)}
    rules: dict[str, Node] = {}
    started = time.process_time()
    rules["root"] = prefix_tree(names, rules=rules, name="names")
    assert time.process_time() - started < 5
    verify(rules)
    assert all(accepts(rules, name) for name in rng.sample(sorted(names), 20))
