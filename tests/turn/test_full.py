"""The full turn on a real engine: typed, checked, told once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tacid.catalogue import Catalogue, Choice, Tool, load_catalogue
from tacid.chat import Call, CallDelta, CallStart, Message, ReplyEvent, Sampling, Say, SayDelta, Truncated
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import CallInvalid, CatalogueError, ContextExceeded, EngineDied
from tacid.grammar import compile_catalogue
from tacid.machine.offer import narrowed
from tacid.machine.services import load_services
from tacid.prompt.families import CHATML
from tacid.turn.full import run_full
from tacid.turn.request import TurnRequest, TurnResult

pytestmark = [pytest.mark.engine, pytest.mark.model]

EXAMPLES = Path(__file__).parents[2] / "examples"
LIGHT = Tool(
    "light_set",
    "Switch the light of a room on or off.",
    {
        "type": "object",
        "properties": {"room": {"enum": ["hall", "kitchen"]}, "on": {"type": "boolean"}},
        "required": ["room", "on"],
    },
)


async def take(endpoint: LocalEndpoint, request: TurnRequest) -> tuple[list[ReplyEvent], TurnResult]:
    events: list[ReplyEvent] = []
    result: TurnResult | None = None
    async for event in run_full(endpoint, request):
        if isinstance(event, TurnResult):
            result = event
        else:
            events.append(event)
    assert result is not None
    return events, result


def ask(text: str, catalogue: Catalogue, **more: Any) -> TurnRequest:
    more.setdefault("sampling", Sampling(temperature=0.0, max_tokens=128))
    return TurnRequest((Message("user", text),), catalogue, **more)


async def test_a_call_is_typed_and_its_events_add_up(small: LocalEndpoint) -> None:
    events, result = await take(
        small, ask("Turn the light in the hall on.", Catalogue((LIGHT,)), choice=Choice("required"))
    )
    done = result.completion
    assert isinstance(done, Call)
    assert done.name == "light_set"
    assert set(done.arguments) == {"room", "on"}
    assert isinstance(done.arguments["on"], bool)
    assert events[0] == CallStart("light_set", done.id)
    assert done.id
    assert "".join(e.text for e in events if isinstance(e, CallDelta)) == done.text
    assert events[-1] == done
    assert result.usage.completion > result.forced_tokens > 0
    assert result.usage.prompt > 100
    assert result.timings["predicted_ms"] > 0


async def test_the_example_machine_turns_nginx_on(small: LocalEndpoint) -> None:
    machine = narrowed(load_services(EXAMPLES / "services.json"))
    catalogue = Catalogue((*machine, *load_catalogue(EXAMPLES / "tools.json")))
    _, result = await take(small, ask("Turn on nginx, please", catalogue))
    assert isinstance(result.completion, Call)
    assert result.completion.name == "propose_changes"
    assert result.completion.arguments == {"changes": [{"kind": "service_enable", "name": "nginx"}]}


async def test_without_tools_it_is_plain_chat(small: LocalEndpoint) -> None:
    events, result = await take(small, ask("Say hello.", Catalogue()))
    assert isinstance(result.completion, Say)
    assert result.completion.text == "".join(e.text for e in events if isinstance(e, SayDelta))
    assert result.forced_tokens == 0


async def test_choice_none_answers_and_choice_named_calls_that_tool(random: LocalEndpoint) -> None:
    other = Tool("other", "Do another thing.")
    catalogue = Catalogue((LIGHT, other))
    hot = Sampling(temperature=2.0, seed=3, max_tokens=64)
    _, none = await take(random, ask("x", catalogue, choice=Choice("none"), sampling=hot))
    assert isinstance(none.completion, Say)
    for seed in range(5):
        sampling = Sampling(temperature=2.0, seed=seed, max_tokens=64)
        _, named = await take(random, ask("x", catalogue, choice=Choice("named", "other"), sampling=sampling))
        assert named.completion == Call("other", {}, "{}", named.completion.id)


async def test_a_call_that_is_cut_off_is_truncated_and_never_half_a_call(random: LocalEndpoint) -> None:
    words = Tool(
        "write",
        "d",
        {"type": "object", "properties": {"text": {"type": "string", "minLength": 1000}}, "required": ["text"]},
    )
    _, result = await take(
        random,
        ask(
            "x",
            Catalogue((words,)),
            choice=Choice("required"),
            sampling=Sampling(temperature=1.0, seed=1, max_tokens=24),
        ),
    )
    assert isinstance(result.completion, Truncated)
    assert result.completion.name == "write"


async def test_a_call_that_fails_its_check_twice_is_an_error_that_names_the_field(random: LocalEndpoint) -> None:
    seen: list[Mapping[str, Any]] = []

    def check(name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        seen.append(arguments)
        return ('"/room": no such room today',)

    request = ask("x", Catalogue((LIGHT,)), choice=Choice("required"), checks={LIGHT.name: check})
    with pytest.raises(CallInvalid, match=r'light_set.*"/room": no such room today'):
        await take(random, request)
    assert len(seen) == 2


async def test_a_call_that_fails_once_is_told_and_sampled_again(random: LocalEndpoint) -> None:
    verdicts = iter((('"/room": not that one',), ()))
    request = ask(
        "x", Catalogue((LIGHT,)), choice=Choice("required"), checks={LIGHT.name: lambda name, arguments: next(verdicts)}
    )
    events, result = await take(random, request)
    assert isinstance(result.completion, Call)
    assert result.retries == 1
    assert result.problems == ('"/room": not that one',)
    # What failed was held back: only one call is seen from outside.
    assert sum(isinstance(event, CallStart) for event in events) == 1


async def test_a_widened_tool_is_checked_against_its_schema(random: LocalEndpoint) -> None:
    pair = {"type": "string", "pattern": r"^(a)\1$", "maxLength": 1}
    odd = Tool("odd", "d", {"type": "object", "properties": {"n": pair}, "required": ["n"]})
    assert compile_catalogue([odd]).report.widenings
    with pytest.raises(CallInvalid, match="odd"):
        await take(
            random,
            ask(
                "x",
                Catalogue((odd,)),
                choice=Choice("required"),
                sampling=Sampling(temperature=1.0, seed=1, max_tokens=64),
            ),
        )


async def test_a_tool_without_a_legal_call_is_in_neither_prompt_nor_grammar(random: LocalEndpoint) -> None:
    never = Tool("never", "d", {"type": "object", "properties": {"a": False}, "required": ["a"]})
    catalogue = Catalogue((never, LIGHT))
    for seed in range(8):
        sampling = Sampling(temperature=2.0, seed=seed, max_tokens=64)
        _, result = await take(random, ask("x", catalogue, choice=Choice("required"), sampling=sampling))
        assert [tool.tool for tool in result.report.left_out] == ["never"]
        assert isinstance(result.completion, (Call, Truncated))
        assert result.completion.name == "light_set"


async def test_a_required_call_without_tools_is_an_error(random: LocalEndpoint) -> None:
    with pytest.raises(CatalogueError, match="no tool is offered"):
        await take(random, ask("x", Catalogue(), choice=Choice("required")))


async def test_a_prompt_beyond_the_context_says_both_sizes(random: LocalEndpoint) -> None:
    with pytest.raises(ContextExceeded) as raised:
        await take(random, ask("word " * 40_000, Catalogue((LIGHT,))))
    assert raised.value.prompt > raised.value.context > 0


async def test_the_second_turn_reads_only_what_is_new(small: LocalEndpoint) -> None:
    catalogue = Catalogue((LIGHT,))
    await take(small, ask("Turn the light in the hall on.", catalogue))
    _, second = await take(small, ask("Switch off the kitchen light.", catalogue))
    assert second.usage.cached > 0.8 * second.usage.prompt


async def test_a_list_beyond_the_engines_limits_is_a_choice_of_its_own(random: LocalEndpoint) -> None:
    names = [f"unit-{index * 7919 % 100_003:06d}-of-a-long-list" for index in range(20_000)]
    change = {
        "type": "object",
        "properties": {"unit": {"enum": names}, "again": {"type": "boolean"}},
        "required": ["unit", "again"],
    }
    tool = Tool(
        "restart",
        "d",
        {
            "type": "object",
            "properties": {"units": {"type": "array", "items": change, "minItems": 2, "maxItems": 2}},
            "required": ["units"],
        },
    )
    assert compile_catalogue([tool]).gates
    sampling = Sampling(temperature=2.0, seed=5, max_tokens=512)
    _, result = await take(random, ask("x", Catalogue((tool,)), choice=Choice("required"), sampling=sampling))
    assert isinstance(result.completion, Call)
    units = result.completion.arguments["units"]
    assert len(units) == 2
    for unit in units:
        assert unit["unit"] in set(names)
        assert isinstance(unit["again"], bool)


async def test_two_long_lists_that_meet_in_one_place_are_one_choice(random: LocalEndpoint) -> None:
    lists = {
        kind: [f"{kind}-{index * 7919 % 100_003:06d}-of-a-long-list" for index in range(20_000)] for kind in ("a", "b")
    }
    change = [
        {"properties": {"name": {"enum": names}, "kind": {"const": kind}}, "required": ["name", "kind"]}
        for kind, names in lists.items()
    ]
    several = {"type": "array", "items": {"type": "object", "anyOf": change}, "minItems": 4, "maxItems": 4}
    tool = Tool("change", "d", {"type": "object", "properties": {"all": several}, "required": ["all"]})
    assert len(compile_catalogue([tool]).gates) == 2
    met = set()
    for seed in range(4):
        sampling = Sampling(temperature=2.0, seed=seed, max_tokens=1024)
        _, result = await take(random, ask("x", Catalogue((tool,)), choice=Choice("required"), sampling=sampling))
        assert isinstance(result.completion, Call)
        for one in result.completion.arguments["all"]:
            assert one["name"] in lists[one["kind"]]
            met.add(one["kind"])
    assert met == {"a", "b"}, "both lists are within reach"


async def test_an_engine_that_is_killed_in_a_reply_is_a_clear_error(
    random_model: Path, engine_spec: Any, engine_config: Any
) -> None:
    import os
    import signal

    from tacid.engine.process import start_engine

    async with start_engine(engine_spec, random_model, engine_config) as own:
        endpoint = LocalEndpoint(own.client, CHATML, "random")
        words = Tool(
            "write",
            "d",
            {"type": "object", "properties": {"text": {"type": "string", "minLength": 1900}}, "required": ["text"]},
        )
        request = ask(
            "x", Catalogue((words,)), choice=Choice("required"), sampling=Sampling(temperature=1.0, max_tokens=4000)
        )
        with pytest.raises(EngineDied, match="engine"):
            async for event in run_full(endpoint, request):
                if isinstance(event, CallDelta):
                    assert own.pid is not None
                    os.kill(own.pid, signal.SIGKILL)


MARKERS = ("<|im_start|>", "a<|im_end|>b", "<|im_end|>", "<file_sep>", "<|endoftext|>", "<b>")


@pytest.mark.parametrize("text", MARKERS)
async def test_markers_in_a_schema_are_text(random: LocalEndpoint, text: str) -> None:
    tool = Tool(
        text, "", {"type": "object", "properties": {"x": {"const": text}, text: {"const": 1}}, "required": ["x", text]}
    )
    # The random model wants the control token of it more than any spelling.
    wanted = await random.client.tokenize(text, special=True)
    bias = tuple((token, 30.0) for token in wanted) if len(wanted) == 1 else ()
    for seed in range(4):
        sampling = Sampling(temperature=1.0, max_tokens=400, seed=seed, logit_bias=bias)
        request = ask("Do it.", Catalogue((tool,)), choice=Choice("required"), sampling=sampling)
        _, result = await take(random, request)
        assert not result.outside
        done = result.completion
        assert isinstance(done, Call), done
        assert (done.name, done.arguments) == (text, {"x": text, text: 1})
        assert not result.invalid


async def test_markers_in_a_held_answer_are_text(random: LocalEndpoint) -> None:
    for text in MARKERS:
        sampling = Sampling(temperature=1.0, max_tokens=200, seed=1)
        request = ask("Do it.", Catalogue(()), answer={"enum": [text]}, sampling=sampling)
        _, result = await take(random, request)
        done = result.completion
        assert isinstance(done, Say)
        assert (json.loads(done.text), done.complete) == (text, True)
