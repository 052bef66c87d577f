from __future__ import annotations

import random
import time

import pytest

from tacid.errors import CompilerBug
from tacid.grammar import limits
from tacid.grammar.nodes import EMPTY, Alt, Chars, Gate, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import print_rules
from tacid.grammar.tree import prefix_tree
from tacid.grammar.verify import unrolled, verify

A, B = Lit("a"), Lit("b")
LOWER = Chars(((0x61, 0x7A),))
#: Valid rules that each mutation below breaks in one place.
VALID: dict[str, Node] = {
    "root": Alt((Ref("object"), Ref("list"), Gate("names"))),
    "object": Seq((Lit("{"), Ref("first"), Lit("}"))),
    "first": Alt((Seq((Ref("member"), Ref("tail"))), EMPTY)),
    "tail": Alt((Seq((Lit(","), Ref("member"), Ref("tail"))), EMPTY)),
    "member": Seq((Ref("blank"), Lit('"a":'), Ref("root"))),
    "blank": Repeat(Lit(" "), 0, 1),
    "list": Seq((Lit("["), Repeat(Ref("root"), 0, 1999), Lit("]"))),
    "names": Alt((A, Seq((B, Repeat(LOWER, 1, None))))),
}


def fault(rules: dict[str, Node], root: str = "root") -> str:
    with pytest.raises(CompilerBug) as caught:
        verify(rules, root)
    return str(caught.value)


def test_valid_rules_pass() -> None:
    verify(VALID)
    verify({"start": EMPTY}, "start")


@pytest.mark.parametrize(
    "node",
    [
        Repeat(Repeat(LOWER, 1, 5), 1, 5),
        Repeat(Repeat(LOWER, 1, None), 0, None),
        Repeat(Repeat(LOWER, 1000, 1000), 0, 1999),
        Repeat(Seq((Lit(","), Repeat(LOWER, 0, 40))), 0, 40),
        Repeat(Alt((A, Seq((A, B)))), 1999, None),
        Repeat(Seq((A, Alt((A, B)))), 0, 999),
        Repeat(Repeat(LOWER, 0, 1999), 1, 1),
        Seq((A, Repeat(Ref("root"), 0, 1))),
        Alt((Seq((A, Alt((Ref("root"), B)), EMPTY, Lit(""))), Seq((A, B, Ref("root"))), B)),
        Seq((A, Repeat(Ref("root"), 0, None), B)),
        Chars(((0, 0x1F), (0x22, 0x22)), negated=True),
    ],
)
def test_repeats_and_classes_that_the_engine_bears(node: Node) -> None:
    verify({"root": node})


@pytest.mark.parametrize(
    ("name", "node", "said"),
    [
        ("object", Seq((Lit("{"), Ref("frist"), Lit("}"))), ["rule object", '"frist"']),
        ("root", Alt((Ref("object"), Ref("list"), Gate("nmaes"))), ["rule root", '"nmaes"']),
        ("root", Alt((Ref("object"), Ref("list"))), ["rule names", "nowhere"]),
        ("object", Lit("{}"), ["rule first", "nowhere"]),
        ("list", Seq((Ref("list"), Lit("]"))), ["rule list", "no finite text"]),
        ("list", Alt((Seq((Ref("list"), Lit("]"))), A)), ["rule list", "left recursive"]),
        ("list", Alt((Seq((Ref("blank"), Ref("list"), Lit("]"))), A)), ["rule list", "left recursive"]),
        ("list", Seq((Ref("blank"), Alt((Repeat(Ref("root"), 0, 1), A)))), ["left recursive"]),
        ("list", Seq((Repeat(Ref("list"), 0, 1), A)), ["rule list", "left recursive"]),
        ("tail", Seq((Lit(","), Ref("member"), Ref("tail"))), ["rule tail", "no finite text"]),
        ("tail", Alt((Seq((Lit(","), Ref("tail"))), Seq((A, Ref("tail"))))), ["rule tail", "no finite text"]),
        ("names", Alt((Seq((A, Gate("names"))), Seq((B, Gate("names"))))), ["rule names", "no finite text"]),
        ("list", Repeat(Ref("root"), 5, 4), ["rule list", "at least 5 and at most 4"]),
        ("list", Repeat(A, -1, 4), ["rule list", "at least -1"]),
        ("list", Repeat(A, 0, 2000), ["rule list", "2,000 times"]),
        ("list", Repeat(A, 2000, None), ["rule list", "2,000 times"]),
        ("list", Repeat(Seq((Lit(","), Ref("root"))), 0, 1000), ["rule list", "name the group"]),
        ("list", Repeat(Alt((A, Alt((A, B)))), 0, 1000), ["rule list", "name the group"]),
        ("list", Repeat(Repeat(LOWER, 1, 40), 1, 40), ["rule list", "1,600 ways"]),
        ("list", Repeat(Repeat(LOWER, 1, None), 1, 500), ["rule list", "500 ways"]),
        ("list", Repeat(Seq((Ref("blank"), Alt((Repeat(LOWER, 1, 400), A)))), 1, None), ["rule list", "400 ways"]),
        ("list", Seq((A, Repeat(Ref("list"), 0, 1), Ref("blank"))), ["rule list", "ends in itself"]),
        ("list", Seq((A, Repeat(Seq((B, Alt((A, Ref("list"))))), 0, None))), ["rule list", "ends in itself"]),
        ("tail", Alt((Seq((Lit(","), Ref("member"), Ref("tail"), Ref("blank"))), EMPTY)), ["rule tail", "ends in itself"]),
        ("list", Repeat(Ref("blank"), 0, None), ["rule list", "may be empty"]),
        ("list", Repeat(Ref("first"), 0, 40), ["rule list", "may be empty"]),
        ("list", Lit("a\0b"), ["rule list", "NUL"]),
        ("list", Chars(((0, 0),)), ["rule list", "NUL"]),
        ("list", Lit("a\ud800b"), ["rule list", "surrogate"]),
        ("list", Chars(((0x61, 0xDFFF),)), ["rule list", "surrogate"]),
        ("list", Chars(((0x7A, 0x61),)), ["rule list", "reversed"]),
        ("list", Chars(((0x62, 0x63), (0x61, 0x61))), ["rule list", "unsorted"]),
        ("list", Chars(((0x61, 0x110000),)), ["rule list", "beyond Unicode"]),
        ("list", Chars(()), ["rule list", "without characters"]),
        ("list", Alt(()), ["rule list", "choice of nothing"]),
        ("list", Alt((Lit("x"),) * 5000), ["rule list", "5,000"]),
        ("list", Repeat(Repeat(Lit("x" * 2000), 1999, 1999), 1999, 1999), ["elements"]),
    ],
)  # fmt: skip
def test_each_mutation_is_named_with_its_rule(name: str, node: Node, said: list[str]) -> None:
    rules = {**VALID, name: node}
    if name == "list" and said != ["left recursive"]:
        rules["root"] = Alt((Ref("object"), Ref("list"), Gate("names"), Seq((Ref("blank"), A))))
    message = fault(rules)
    assert all(part in message for part in said), message
    assert message.endswith(".")


@pytest.mark.parametrize("name", ["", "a_b", "a.b", "é", "a b", "a\n", "x" * 201])
def test_names_that_the_engine_does_not_take(name: str) -> None:
    assert "rule name" in fault({"root": Ref(name), name: A})


def test_what_is_repeated_no_times_is_not_there() -> None:
    verify({"root": Seq((A, Repeat(Ref("gone"), 0, 0), Repeat(LOWER, 0, 0)))})
    assert "rule x is reached from nowhere" in fault({"root": Repeat(Ref("x"), 0, 0), "x": A})


def test_many_rules_are_verified_in_linear_time() -> None:
    rules: dict[str, Node] = {f"r{number}": Seq((A, Ref(f"r{number + 1}"))) for number in range(20_000)}
    rules |= {"root": Ref("r0"), "r20000": Lit("b")}
    started = time.process_time()
    verify(rules)
    verify(dict(reversed(rules.items())))
    assert time.process_time() - started < 10


def test_unrolled_repeats_are_counted() -> None:
    assert unrolled({"root": Lit("abc")}) == 4
    assert unrolled({"root": Repeat(A, 3, 3)}) == 5
    assert 1000 < unrolled({"root": Repeat(A, 0, 400)}) < 2000
    assert unrolled({"root": Ref("x"), "x": Repeat(LOWER, 0, 1999)}) > 1999 * 4


def test_no_root_is_a_fault() -> None:
    assert "no rule root" in fault({"start": A})


def test_nesting_is_bounded_before_anything_recurses() -> None:
    deep: Node = A
    for _ in range(60):
        deep = Seq((B, Alt((A, deep))))
    verify({"root": deep})
    for _ in range(100_000):
        deep = Seq((B, Alt((A, deep))))
    assert "rule root nests deeper" in fault({"root": deep})
    while isinstance(deep, Seq):  # Freed from outside in, or Python's own stack ends.
        deep = deep.items[1].options[1]  # type: ignore[union-attr]


def chain(count: int, link: str) -> dict[str, Node]:
    rules: dict[str, Node] = {"root": Ref("r0")}
    for number in range(count):
        after = Ref(f"r{number + 1}")
        rules[f"r{number}"] = {
            "plain": after,
            "optional": Alt((Seq((Lit(f"m{number}"), after)), after)),
            "twice": Alt((Seq((after, A)), Seq((after, B)))),
        }[link]
    rules[f"r{count}"] = A
    return rules


def test_long_chains_of_beginnings_are_bounded() -> None:
    verify(chain(1500, "plain"))
    assert "deep" in fault(chain(limits.MAX_STARTS_DEEP + 1, "plain"))
    verify(chain(1000, "optional"))
    verify(chain(10, "twice"))
    assert "ways" in fault(chain(13, "twice"))
    assert "ways" in fault(chain(100, "twice"))


def test_paths_that_the_engine_would_follow_anew_are_bounded() -> None:
    def paths(count: int) -> dict[str, Node]:
        rules: dict[str, Node] = {"root": Seq((Lit("x"), Alt(tuple(Ref(f"u{number}") for number in range(4000)))))}
        rules |= {f"u{number}": Ref("w0") for number in range(4000)}
        rules |= {f"w{number}": Ref(f"w{number + 1}") for number in range(count)}
        rules[f"w{count}"] = A
        return rules

    verify(paths(100))
    assert "paths" in fault(paths(1950))


def test_a_catalogue_of_200_tools_is_verified_in_no_time() -> None:
    rng = random.Random(1)
    rules: dict[str, Node] = {"value": Alt((Lit("null"), Seq((Lit("["), Ref("value"), Lit("]"))))), "end": Lit("}")}
    tools = []
    for tool in range(200):
        for member in range(8):
            after = Ref(f"call-{tool}-m{member + 1}" if member < 7 else "end")
            rules[f"call-{tool}-m{member}"] = Alt(
                (Seq((Lit(f',"property-{rng.random()}":'), Ref("value"), after)), after)
            )
        tools.append(Seq((Lit(f'tool-{tool}","arguments":{{'), Ref(f"call-{tool}-m0"))))
    rules["root"] = Seq((Lit('{"tool":"'), Alt(tuple(tools)), Lit("}")))
    assert len(print_rules(rules)) > 100_000
    started = time.process_time()
    verify(rules)
    assert time.process_time() - started < 2


def test_a_tree_of_20_000_names_is_verified_fast() -> None:
    rules: dict[str, Node] = {}
    rng = random.Random(1)
    names = [
        "-".join(rng.choices(["lib", "python", "gnome", "x11", "data"], k=3)) + str(n * 7919) for n in range(20_000)
    ]
    rules["root"] = prefix_tree(names, rules=rules, name="names")
    started = time.process_time()
    verify(rules)
    assert time.process_time() - started < 8
