"""What a turn with an index shows, fetches and splices; on a real engine, what that costs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Call, Message, Sampling
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import RequestError
from tacid.grammar import compile_catalogue
from tacid.grammar.walk import Walk, accepts
from tacid.jsontext import dumps
from tacid.prompt.words import INFO
from tacid.turn.deferral import MAX_PINNED, Deferral, Deferring
from tacid.turn.mode import run_local
from tacid.turn.request import Fetched, Modes, TurnRequest, TurnResult
from tacid.turn.steps import Begun
from tests.grammar.draw import draw
from tests.turn.test_full import ask

#: An endpoint that small indexes never ask.
NONE: Any = None

NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True)
SCHEMAS = st.sampled_from(
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        {"type": "object", "properties": {"y": {"enum": ["a", 'b"', 3]}, "z": {"type": "string", "maxLength": 3}}},
        {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "boolean"}}}},
    ]
)
CATALOGUES = NAMES.flatmap(
    lambda names: st.tuples(*(SCHEMAS for _ in names)).map(
        lambda schemas: Catalogue(tuple(Tool(n, "d", s) for n, s in zip(names, schemas, strict=True)))
    )
)


async def begun(catalogue: Catalogue, how: Deferral, *messages: Message, **more: Any) -> Deferring:
    request = TurnRequest(messages or (Message("user", "x"),), catalogue, **more)
    return await Deferring.begin(NONE, request, how)


def written(deferring: Deferring, text: str) -> bool:
    """Whether a reply can be written as the turn stands: the grammar, and what narrows it at its gates."""
    withheld = deferring.withheld()
    offered = Catalogue(tuple(tool for tool in deferring.request.catalogue if tool.name not in withheld))
    grammar = compile_catalogue(offered, alone=frozenset(deferring.request.execute), apart=True)
    if not accepts(grammar.rules, text):
        return False
    walk = Walk(grammar.rules)
    at = next((n for n in range(len(text)) if not walk.feed(text[n])), len(text))
    if not walk.gates:
        return walk.complete
    rules = deferring.narrowed(grammar.apart[walk.gates[0]])
    return rules is None or accepts(rules, text[at:-1])


@given(catalogue=CATALOGUES, fetches=st.lists(st.integers(0, 7), max_size=5), data=st.data())
async def test_the_calls_that_can_be_written_are_the_catalogues(
    catalogue: Catalogue, fetches: list[int], data: st.DataObject
) -> None:
    deferring = await begun(catalogue, Deferral("deferred", max_hops=4))
    whole = compile_catalogue(catalogue)
    for number in fetches:
        name = catalogue.tools[number % len(catalogue)].name
        await deferring.info(Call(INFO, {"name": name}))
        text = draw(whole.rules, data.draw(st.integers(0, 1 << 30)), size=60)
        assert written(deferring, text), text
        fetch = dumps({"tool": INFO, "arguments": {"name": name}})
        assert not written(deferring, fetch), "fetched, so not offered again"
    for tool in catalogue:
        fetch = dumps({"tool": INFO, "arguments": {"name": tool.name}})
        may = tool.name not in deferring.fetched and len(fetches) < 4
        assert written(deferring, fetch) is may
    assert not written(deferring, dumps({"tool": INFO, "arguments": {"name": "no such tool"}}))
    drawn = json.loads(
        draw(compile_catalogue(catalogue, apart=True).rules, data.draw(st.integers(0, 1 << 30)), size=60)
    )
    assert "say" in drawn or drawn["tool"] in catalogue


@given(catalogue=CATALOGUES, picks=st.lists(st.integers(0, 5), min_size=1, max_size=4))
async def test_a_spliced_reply_is_the_reply_with_schemas_in_it(catalogue: Catalogue, picks: list[int]) -> None:
    deferring = await begun(catalogue, Deferral("direct"))
    text, calls = "[", []
    for number in picks:
        tool = catalogue.tools[number % len(catalogue)]
        text += ("," if calls else "") + f'{{"tool":{dumps(tool.name)},"arguments":'
        calls.append(Begun(tool.name, len(text)))
        text += "{}}"
    text = text[: calls[-1].at]
    spliced = json.loads(deferring.spliced(text, calls) + "{}}]")
    seen: set[str] = set()
    for one, call in zip(spliced, calls, strict=True):
        assert one["tool"] == call.tool
        assert ("parameters" in one) is (call.tool not in seen)
        if call.tool not in seen:
            assert list(one)[-1] == "arguments"
        seen.add(call.tool)


TWENTY = Catalogue(
    tuple(
        Tool(
            f"room_{n}_set",
            f"Sets room {n}. Further words.",
            {
                "type": "object",
                "properties": {
                    "on": {"type": "boolean", "description": f"Whether room {n} is lit, in many more words than these"},
                    "level": {"type": "integer", "minimum": 0, "maximum": 100},
                },
                "required": ["on"],
            },
        )
        for n in range(50)
    )
)


async def test_no_more_than_so_many_schemas_stay_in_the_prompt() -> None:
    calls = tuple(Message("assistant", calls=(Call(tool.name, {"on": True}),)) for tool in TWENTY)
    deferring = await begun(TWENTY, Deferral("deferred"), Message("user", "x"), *calls)
    assert len(deferring.fetched) == MAX_PINNED
    shown = [message for message in deferring.request.messages if message.role == "tool"]
    assert len(shown) == MAX_PINNED


async def test_what_a_session_fetched_stands_where_it_was_fetched() -> None:
    messages = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    earlier = (Fetched("room_1_set", 1), Fetched("gone", 1), Fetched("room_2_set", 99))
    deferring = await begun(TWENTY, Deferral("deferred", fetched=earlier), *messages)
    roles = [message.role for message in deferring.request.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert list(deferring.fetched) == ["room_1_set", "room_2_set"]


async def test_in_direct_a_session_spares_no_schema_that_no_call_has() -> None:
    deferring = await begun(TWENTY, Deferral("direct", fetched=(Fetched("room_1_set", 1), Fetched("room_2_set", 0))))
    assert deferring.request.messages == deferring.asked.messages
    for name in ("room_1_set", "room_2_set"):
        text = f'{{"tool":"{name}","arguments":'
        assert '"parameters":' in deferring.spliced(text, [Begun(name, len(text))])


async def test_our_own_names_are_refused_where_they_are_added() -> None:
    named = Catalogue((Tool(INFO, "d"), *TWENTY))
    with pytest.raises(RequestError, match=INFO):
        await begun(named, Deferral("deferred"))
    assert (await begun(named, Deferral("direct"))).index.fetch is False


async def test_errors_that_a_model_reads_are_escaped_json() -> None:
    deferring = await begun(TWENTY, Deferral("deferred"))
    for name in ('<|im_end|>"\n', "room_1_sett", 7, None):
        told = json.loads(text := await deferring.info(Call(INFO, {"name": name})))
        assert "<" not in text
        assert "error" in told
    assert json.loads(await deferring.info(Call(INFO, {"name": "room_1_sett"})))["close"][0] == "room_1_set"


async def last(endpoint: LocalEndpoint, request: TurnRequest) -> TurnResult:
    async for event in run_local(endpoint, request):
        if isinstance(event, TurnResult):
            return event
    raise AssertionError


@pytest.mark.engine
@pytest.mark.model
async def test_the_second_phase_reads_the_schema_and_no_more(small: LocalEndpoint) -> None:
    request = ask("Set room 17 on.", TWENTY, choice=Choice("required"))
    # Whatever is called, the engine has the index from here on.
    await last(small, replace(request, modes=Modes("direct", tokens=8000)))
    result = await last(
        small, ask("Set room 18 on.", TWENTY, choice=Choice("required"), modes=Modes("direct", tokens=8000))
    )
    assert isinstance(result.completion, Call)
    schema = await small.text_tokens(dumps(dict(TWENTY[result.completion.name].parameters)))
    new = result.usage.prompt - result.usage.cached
    question = 40
    assert new < len(schema) + question + 60, result.timings
    assert result.saved > 1000


@pytest.mark.engine
@pytest.mark.model
async def test_a_hop_reads_the_schema_and_its_frame(small: LocalEndpoint) -> None:
    request = ask("Set room 17 on.", TWENTY, choice=Choice("required"), modes=Modes("deferred", tokens=8000))
    for seed in range(8):
        sampling = Sampling(temperature=1.0, seed=seed, max_tokens=128)
        result = await last(small, replace(request, sampling=sampling))
        again = await last(small, replace(request, sampling=sampling))
        if again.infos:
            assert again.usage.prompt - again.usage.cached < 160 * (again.infos + 1)
            assert again.fetched
            assert result.mode == "deferred"
            return
    pytest.fail("nothing was fetched")
