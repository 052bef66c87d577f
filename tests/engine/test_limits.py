"""Each limit of `tacid.grammar.limits` against a real engine, in a child that may take no more than `MEMORY`.

At a limit the engine takes the grammar and samples at once; just beyond, our own check refuses it, so that the
compiler can't emit it; and what the limit is there for, the engine refuses, hangs on, or dies of.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import resource
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacid.config import EngineConfig
from tacid.engine.find import EngineSpec
from tacid.engine.process import Engine, start_engine
from tacid.errors import CompilerBug, EngineDied, EngineError, EngineStartError, GrammarError
from tacid.grammar import compile_schema, limits
from tacid.grammar.look import look_of
from tacid.grammar.nodes import Alt, Chars, Lit, Node, Ref, Repeat, Seq
from tacid.grammar.printer import print_rules
from tacid.grammar.verify import verify
from tests.engine.random_model import make_random_model
from tests.test_every_grammar import floor_binary

pytestmark = [pytest.mark.engine, pytest.mark.model]

#: Bytes of address space of the engine.
MEMORY = 3 * 1024**3
#: Seconds after which an engine that hasn't sampled its one token hangs, and within which it takes what we emit.
HANGS, SOON = 4.0, 3.0

A, LOWER = Lit("a"), Chars(((0x61, 0x7A),))


def _nested(groups: int) -> Node:
    node: Node = A
    for _ in range(groups):
        node = Seq((Lit("b"), Alt((A, node))))
    return node


def _chain(length: int) -> dict[str, Node]:
    rules: dict[str, Node] = {"root": Ref("r1")}
    rules |= {f"r{number}": Ref(f"r{number + 1}") for number in range(1, length)}
    return {**rules, f"r{length}": A}


def _strings(count: int) -> dict[str, Node]:
    """So many strings of 1,999 characters, each a rule."""
    rules: dict[str, Node] = {"root": Seq(tuple(Ref(f"s{number}") for number in range(count)))}
    return rules | {
        f"s{number}": Seq((Lit(f"{number}-"), Repeat(LOWER, 0, limits.MAX_REPEAT), Lit("."))) for number in range(count)
    }


def _paths(width: int, length: int) -> dict[str, Node]:
    """Rules that all begin along the same chain, each path of which the engine follows anew."""
    rules: dict[str, Node] = {"root": Seq((Lit("x"), Alt(tuple(Ref(f"u{number}") for number in range(width)))))}
    rules |= {f"u{number}": Ref("w0") for number in range(width)}
    rules |= {f"w{number}": Ref(f"w{number + 1}") for number in range(length)}
    return {**rules, f"w{length}": A}


def _names(count: int) -> Node:
    return Alt(tuple(Lit(f"n{number}") for number in range(count)))


def _doubled(count: int) -> str:
    """Rules that begin with the next one twice, so that the ways double."""
    lines = [f'r{number} ::= r{number + 1} "a" | r{number + 1} "b"' for number in range(count)]
    return "\n".join(["root ::= r0", *lines, f'r{count} ::= "x"', ""])


_PER_STRING = sum(look_of(name, node).elements for name, node in _strings(1).items() if name != "root")
_MOST_STRINGS = limits.MAX_ELEMENTS // (_PER_STRING + 3)
_SQUARE = 16


@dataclass(frozen=True)
class Limit:
    """Rules at a limit and just beyond it, and a text that the limit is there for, with what an engine does of it."""

    at: Mapping[str, Node]
    beyond: Mapping[str, Node]
    harm: str
    effect: str


LIMITS: dict[str, Limit] = {
    "RULE_NAME": Limit({"root": Ref("a-Z9"), "a-Z9": A}, {"root": Ref("a_b"), "a_b": A}, 'root ::= a_b\na_b ::= "a"\n', "refused"),
    "MAX_RULE_NAME": Limit(
        {"root": Ref("x" * limits.MAX_RULE_NAME), "x" * limits.MAX_RULE_NAME: A},
        {"root": Ref("x" * (limits.MAX_RULE_NAME + 1)), "x" * (limits.MAX_RULE_NAME + 1): A},
        "",
        "",
    ),
    "MAX_REPEAT": Limit(
        {"root": Seq((Repeat(LOWER, 0, limits.MAX_REPEAT), A))},
        {"root": Seq((Repeat(LOWER, 0, limits.MAX_REPEAT + 1), A))},
        "root ::= [a-z]{2001}\n",
        "refused",
    ),
    "MAX_REPEATED_RULES": Limit(
        {"root": Repeat(Seq((Lit(","), LOWER)), 0, limits.MAX_REPEATED_RULES)},
        {"root": Repeat(Seq((Lit(","), Ref("c"))), 0, limits.MAX_REPEATED_RULES // 2 + 1), "c": LOWER},
        'root ::= ("," c){0,1999}\nc ::= [a-z]\n',
        "refused",
    ),
    "MAX_NESTED_COUNTS": Limit(
        {"root": Repeat(Repeat(LOWER, 1, _SQUARE), 1, limits.MAX_NESTED_COUNTS // _SQUARE)},
        {"root": Repeat(Repeat(LOWER, 1, _SQUARE), 1, limits.MAX_NESTED_COUNTS // _SQUARE + 1)},
        "root ::= ([a-z]{0,120}){0,120}\n",
        "hangs",
    ),
    "MAX_GROUPS": Limit(
        {"root": _nested(limits.MAX_GROUPS - 1)},
        {"root": _nested(limits.MAX_GROUPS + 1)},
        f'root ::= {"(" * 60_000}"a"{")" * 60_000}\n',
        "dies",
    ),
    "MAX_NODES_DEEP": Limit(
        {"root": _nested(limits.MAX_GROUPS - 1)},
        {"root": _nested(limits.MAX_NODES_DEEP)},
        f'root ::= {"(" * 60_000}"a"{")" * 60_000}\n',
        "dies",
    ),
    "MAX_GRAMMAR_BYTES": Limit(
        {"root": Seq((*(Lit("x" * 1000),) * (limits.MAX_GRAMMAR_BYTES // 1010),))},
        {"root": Seq((*(Lit("x" * 1000),) * (limits.MAX_GRAMMAR_BYTES // 900),))},
        "",
        "",
    ),
    "MAX_ELEMENTS": Limit(_strings(_MOST_STRINGS), _strings(_MOST_STRINGS + 2), "", ""),
    "MAX_STARTS": Limit(
        {"root": _names(limits.MAX_STARTS)},
        {"root": _names(limits.MAX_STARTS + 1)},
        "",
        "",
    ),
    "MAX_STARTS_DEEP": Limit(
        _chain(limits.MAX_STARTS_DEEP - 2),
        _chain(limits.MAX_STARTS_DEEP + 2),
        print_rules(_chain(100_000)),
        "dies",
    ),
    "MAX_START_VISITS": Limit(
        _paths(4000, limits.MAX_START_VISITS // 4000 - 500), _paths(4000, 1990), _doubled(30), "hangs"
    ),
    "reversed bounds": Limit({"root": Repeat(A, 1, 3)}, {"root": Repeat(A, 3, 1)}, 'root ::= "a"{3,1}\n', "hangs"),
    "left recursion": Limit(
        {"root": Alt((Seq((Lit("a"), Ref("root"))), Lit("b")))},
        {"root": Alt((Seq((Ref("root"), A)), Lit("b")))},
        'root ::= root "a" | "b"\n',
        "refused",
    ),
    "left recursion behind what may be empty": Limit(
        {"root": Alt((Seq((Lit("x"), Repeat(Lit("y"), 0, 1), Ref("root"))), Lit("b")))},
        {"root": Alt((Seq((Repeat(Lit("x"), 0, 1), Ref("root"), A)), Lit("b")))},
        'root ::= e root "a" | "b"\ne ::= "x"?\n',
        "hangs",
    ),
    "NUL": Limit({"root": Lit("\x01")}, {"root": Lit("a\0")}, 'root ::= "\\x00"\n', "refused"),
    "reversed classes": Limit({"root": LOWER}, {"root": Chars(((0x7A, 0x61),))}, "root ::= [z-a]\n", "refused"),
}  # fmt: skip
#: Limits of our own work, which nothing in an engine stands against: a schema at each, and the limit it comes near to.
OURS = {
    "GATE_BYTES": {"enum": [f"name-{number * 7919 % 100_003:06}" for number in range(20_000)]},
    "TREE_GROUPS": {"enum": ["a" * number + "b" for number in range(300)]},
    "MAX_PATTERN_BYTES": {
        "type": "string",
        "pattern": "^(" + "|".join(f"k{n * 7919 % 9973}" for n in range(2500)) + ")$",
    },
    "MAX_PATTERN_COST": {
        "type": "object",
        "properties": {f"k{n}": {"type": "string", "pattern": f"^(?=.*[A-Z])(?=.*{n}).{{8,60}}$"} for n in range(40)},
    },
}


@asynccontextmanager
async def bounded(spec: EngineSpec, model: Path, config: EngineConfig) -> AsyncIterator[Engine]:
    """An engine that may take no more than `MEMORY`."""
    async with start_engine(spec, model, config) as engine:
        assert engine.pid is not None
        resource.prlimit(engine.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        yield engine


@pytest.fixture(scope="module")
def plain_model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_random_model(tmp_path_factory.mktemp("limits") / "plain.gguf", smollm2, plain=True)


async def _floor(spec: EngineSpec, model: Path) -> tuple[EngineSpec, EngineConfig]:
    """The oldest build that is supported, where it runs, else the engine of the tests."""
    config = EngineConfig(slots=1, context=1024, threads=1, extra_args=("--device", "none"))
    try:
        floor = EngineSpec("binary", str(floor_binary()))
        async with start_engine(floor, model, config):
            return floor, config
    except (EngineStartError, importlib.metadata.PackageNotFoundError):
        return spec, EngineConfig(slots=1, context=1024, threads=1)


def test_every_limit_is_tried() -> None:
    named = {name for name in vars(limits) if name.isupper()}
    assert named == {name for name in LIMITS if name.isupper() and name != "NUL"} | OURS.keys()


@pytest.mark.parametrize("name", LIMITS)
def test_just_beyond_a_limit_our_own_check_refuses(name: str) -> None:
    verify(LIMITS[name].at)
    with pytest.raises((CompilerBug, GrammarError)):
        verify(LIMITS[name].beyond)
        print_rules(LIMITS[name].beyond)


@pytest.mark.parametrize("which", ["oldest", "own"])
async def test_at_every_limit_the_engine_samples_at_once(
    which: str, engine_spec: EngineSpec, plain_model: Path
) -> None:
    spec, config = await _floor(engine_spec, plain_model)
    if which == "own":
        spec, config = engine_spec, EngineConfig(slots=1, context=1024, threads=1)
    texts = {name: [print_rules(limit.at)] for name, limit in LIMITS.items()}
    texts |= {name: list(compile_schema(schema).texts()) for name, schema in OURS.items()}
    async with bounded(spec, plain_model, config) as engine:
        for name, listed in texts.items():
            for text in listed:
                started = time.monotonic()
                await engine.client.check_grammar(text)
                assert time.monotonic() - started < SOON, name


@pytest.mark.parametrize("name", [name for name, limit in LIMITS.items() if limit.effect])
async def test_what_a_limit_is_there_for_harms_the_engine(
    name: str, engine_spec: EngineSpec, plain_model: Path
) -> None:
    limit = LIMITS[name]
    spec, config = await _floor(engine_spec, plain_model)
    async with bounded(spec, plain_model, config) as engine:
        try:
            async with asyncio.timeout(HANGS):
                await engine.client.check_grammar(limit.harm)
            effect = "taken"
        except TimeoutError:
            effect = "hangs"
            engine.kill("it hangs")
        except EngineDied:
            effect = "dies"
        except EngineError:
            # Out of memory within the bound: it would have hung, and taken the machine's.
            effect = "refused"
        # How soon a runaway ends, by memory or never, is the machine's speed.
        assert effect == limit.effect or (limit.effect == "hangs" and effect in ("refused", "dies"))


def test_elements_beyond_the_limit_are_what_the_engine_would_keep() -> None:
    """A string of 1,999 characters is some 10,000 elements of the engine's, as `MAX_ELEMENTS` has it."""
    assert 9_000 < _PER_STRING < 17_000
