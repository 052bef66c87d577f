"""What a turn may hold beside one call or answer: several calls, typed answers, thoughts, hidden hops, stop texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Call, CallStart, Message, ReplyEvent, Sampling, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import CallInvalid, GrammarRefused
from tacid.prompt.families import CHATML, Thinking
from tacid.turn.full import run_full
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.stop import StopFilter

pytestmark = [pytest.mark.engine, pytest.mark.model]

ROOM = {"type": "object", "properties": {"room": {"enum": ["hall", "attic"]}}, "required": ["room"]}
LIGHT = Tool("light", "Switch a light.", ROOM)
SHUT = Tool("shut", "Shut a door.", ROOM)
FACTS = Tool("facts_get", "What machine is this?")


async def take(
    endpoint: LocalEndpoint, *tools: Tool, seed: int = 1, tokens: int = 160, **more: Any
) -> tuple[list[ReplyEvent], TurnResult]:
    sampling = Sampling(
        temperature=more.pop("temperature", 1.5), seed=seed, max_tokens=tokens, stop=more.pop("stop", ())
    )
    request = TurnRequest((Message("user", "Do it."),), Catalogue(tools), sampling=sampling, **more)
    events: list[ReplyEvent] = []
    result: TurnResult | None = None
    async for event in run_full(endpoint, request):
        assert result is None
        if isinstance(event, TurnResult):
            result = event
        else:
            events.append(event)
    assert result is not None
    assert [e for e in events if isinstance(e, (Say, Call, Think, Truncated))] == list(result.completions)
    return events, result


async def test_several_calls_come_as_a_list_each_typed(random: LocalEndpoint) -> None:
    seen = set()
    for seed in range(40):
        events, result = await take(random, LIGHT, SHUT, seed=seed, max_calls=8, choice=Choice("required"), tokens=400)
        calls = [done for done in result.completions if isinstance(done, Call)]
        seen.add(len(calls))
        assert len(calls) <= 8
        assert [e.id for e in events if isinstance(e, CallStart)][: len(calls)] == [call.id for call in calls]
        assert len({call.id for call in calls}) == len(calls)
        for call in calls:
            assert call.arguments["room"] in ("hall", "attic")
        if calls:
            assert not any(isinstance(done, Truncated) for done in result.completions)
        if len(seen) > 2:
            break
    assert max(seen) >= 2


async def test_with_one_call_a_list_is_never_sampled(random: LocalEndpoint) -> None:
    for seed in range(10):
        _, result = await take(random, LIGHT, SHUT, seed=seed, choice=Choice("required"))
        assert len(result.completions) == 1


async def test_an_answer_is_held_to_its_schema_beside_tools_and_without(random: LocalEndpoint) -> None:
    schema = {
        "type": "object",
        "properties": {"t": {"type": "integer"}, "u": {"enum": ["c", "f"]}},
        "required": ["t", "u"],
    }
    for tools in ((LIGHT,), ()):
        said = 0
        for seed in range(8):
            events, result = await take(random, *tools, seed=seed, answer=schema, tokens=80)
            done = result.completion
            if isinstance(done, Say) and done.complete:
                said += 1
                value = json.loads(done.text)
                assert set(value) == {"t", "u"}
                assert isinstance(value["t"], int)
                assert "".join(e.text for e in events if isinstance(e, SayDelta)) == done.text
        assert said


async def test_an_answer_that_its_grammar_can_not_hold_is_checked_and_marked_or_refused(random: LocalEndpoint) -> None:
    pair = {"type": "string", "pattern": r"^(a)\1$", "maxLength": 1}
    schema = {"type": "object", "properties": {"t": pair}, "required": ["t"]}
    with pytest.raises(CallInvalid, match="answer"):
        await take(random, answer=schema, tokens=300, temperature=0.5)
    events, result = await take(random, answer=schema, tokens=300, temperature=0.5, on_invalid="mark")
    assert result.invalid[""]
    assert result.retries == 1
    assert sum(isinstance(event, Say) for event in events) == 1


async def test_a_call_that_fails_twice_is_handed_on_with_a_mark(random: LocalEndpoint) -> None:
    checks = {LIGHT.name: lambda name, arguments: ('"/room": locked',)}
    events, result = await take(random, LIGHT, choice=Choice("required"), checks=checks, on_invalid="mark")
    call = result.completion
    assert isinstance(call, Call)
    assert result.invalid == {call.id: ('"/room": locked',)}
    assert sum(isinstance(event, CallStart) for event in events) == 1


async def test_a_stop_text_ends_what_is_said_and_never_the_envelope(random: LocalEndpoint) -> None:
    for tools in ((LIGHT,), ()):
        met = 0
        for seed in range(12):
            events, result = await take(random, *tools, seed=seed, stop=("e", '{"say'), tokens=60)
            said = "".join(event.text for event in events if isinstance(event, SayDelta))
            assert "e" not in said
            if isinstance(result.completion, Say):
                assert result.completion.text == said
                met += result.stop == "e"
                assert result.completion.complete or result.stop is None
            assert result.usage.completion > 0
        assert met


async def test_a_thought_comes_first_unheld_and_bounded(random: LocalEndpoint) -> None:
    family = replace(CHATML, thinking=Thinking(CHATML.reply + "<think>\n"))
    thinking = replace(random, family=family)
    events, result = await take(thinking, LIGHT, think=20, choice=Choice("required"), tokens=200)
    assert isinstance(result.completions[0], Think)
    assert isinstance(result.completions[1], Call)
    deltas = [event for event in events if isinstance(event, ThinkDelta)]
    assert deltas
    assert "".join(delta.text for delta in deltas) == result.completions[0].text
    assert not result.completions[0].complete
    assert [type(event) for event in events[: len(deltas) + 1]] == [ThinkDelta] * len(deltas) + [Think]
    assert 20 < result.usage.completion <= 200
    _, plain = await take(thinking, LIGHT, think=0, choice=Choice("required"))
    assert len(plain.completions) == 1


async def test_calls_of_ours_are_carried_out_unseen(random: LocalEndpoint) -> None:
    asked: list[Call] = []

    async def facts(call: Call) -> str:
        asked.append(call)
        return '{"system":"NixOS"}'

    events, result = await take(random, FACTS, choice=Choice("named", "facts_get"), execute={"facts_get": facts})
    assert [call.name for call in asked][:1] == ["facts_get"]
    assert result.hops == len(asked) >= 1
    assert not any(isinstance(event, (CallStart, Call)) for event in events)
    assert isinstance(result.completion, Say)


async def test_hops_end_at_the_cap(random: LocalEndpoint) -> None:
    asked = 0

    async def facts(call: Call) -> str:
        nonlocal asked
        asked += 1
        return "{}"

    for seed in range(6):
        asked = 0
        _, result = await take(
            random, FACTS, LIGHT, seed=seed, choice=Choice("required"), execute={"facts_get": facts}, max_hops=2
        )
        assert result.hops == asked <= 2
        assert isinstance(result.completion, (Call, Truncated))
        assert result.completion.name == "light"


async def test_a_call_of_ours_that_fails_twice_is_never_carried_out(random: LocalEndpoint) -> None:
    async def facts(call: Call) -> str:
        raise AssertionError("carried out")

    def never(name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return ("not now",)

    with pytest.raises(CallInvalid, match="facts_get"):
        await take(
            random,
            FACTS,
            choice=Choice("required"),
            execute={"facts_get": facts},
            checks={"facts_get": never},
            on_invalid="mark",
        )


async def test_a_grammar_of_the_client_holds_without_tools(random: LocalEndpoint) -> None:
    _, result = await take(random, grammar='root ::= "yes" | "no"')
    assert isinstance(result.completion, Say)
    assert result.completion.text in ("yes", "no")
    with pytest.raises(GrammarRefused):
        await take(random, grammar="root ::= broken")


def test_a_stop_filter_keeps_back_what_may_become_a_stop() -> None:
    stops = StopFilter(("STOP", "END."))
    assert stops.feed("go on S") == "go on "
    assert stops.feed("T") == ""
    assert stops.feed("EP E") == "STEP "
    assert stops.feed("ND") == ""
    assert stops.finish() == "END"
    again = StopFilter(("b", "abc"))
    assert again.feed("xxabc") == "xx"
    assert again.met == "abc"
    assert again.feed("more") == ""
