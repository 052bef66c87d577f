"""The other endpoints before real servers with a real model: llama-server as one that holds grammars, a tacid as a remote."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import Call, CallDelta, CallStart, Message, Sampling, Say, SayDelta
from tacid.endpoints.chat_client import ChatClient
from tacid.endpoints.remote import RemoteEndpoint
from tacid.endpoints.tools import ToolsEndpoint
from tacid.engine.process import Engine
from tacid.errors import ContextExceeded, EngineDied, EngineError
from tacid.turn.remote import run_remote
from tacid.turn.request import TurnRequest, TurnResult
from tests.serving import Served, joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

WEATHER = Tool(
    "weather",
    "The weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
)
NAPS = Tool(
    "nap", "Sleep.", {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]}
)
ASK = (Message("user", "Weather in Oslo for 3 days?"),)


@pytest.fixture(scope="module")
def served(engine: Engine) -> Iterator[Served]:
    with serving(joined(engine)) as server:
        yield server


@pytest.fixture(scope="module")
def served_random(random_engine: Engine) -> Iterator[Served]:
    with serving(joined(random_engine)) as server:
        yield server


@pytest_asyncio.fixture
async def remote(served: Served) -> AsyncIterator[RemoteEndpoint]:
    async with ChatClient(served.url, name="other tacid") as client:
        yield RemoteEndpoint(client, "smollm2-135m-instruct")


@pytest_asyncio.fixture
async def holding(engine: Engine) -> AsyncIterator[ToolsEndpoint]:
    async with ChatClient(engine.client.url, key=engine.client.key, name="llama-server", grammars=True) as client:
        yield ToolsEndpoint(client, "smollm2")


@pytest.fixture(params=["remote", "holding"])
def endpoint(request: pytest.FixtureRequest) -> ToolsEndpoint | RemoteEndpoint:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


async def take(
    endpoint: ToolsEndpoint | RemoteEndpoint, *tools: Tool, **more: object
) -> tuple[list[object], TurnResult]:
    more.setdefault("sampling", Sampling(temperature=0.0, seed=3, max_tokens=48))
    events: list[object] = []
    async for event in run_remote(endpoint, TurnRequest(ASK, Catalogue(tools), **more)):  # type: ignore[arg-type]
        if isinstance(event, TurnResult):
            return events, event
        events.append(event)
    raise AssertionError


async def test_a_call_of_a_real_model_fits(endpoint: ToolsEndpoint | RemoteEndpoint) -> None:
    events, result = await take(endpoint, WEATHER, NAPS, choice=Choice("named", "weather"))
    call = result.completion
    assert isinstance(call, Call)
    assert call.name == "weather"
    assert call.arguments["city"] in ("Oslo", "Rome")
    assert 1 <= call.arguments["days"] <= 9
    assert isinstance(events[0], CallStart)
    assert "".join(event.text for event in events if isinstance(event, CallDelta)) == call.text
    assert result.usage.prompt > 100
    assert result.retries == 0


async def test_hot_random_weights_and_several_calls_keep_to_the_shapes(
    served_random: Served, random_engine: Engine
) -> None:
    client = random_engine.client
    async with (
        ChatClient(served_random.url, name="other tacid") as first,
        ChatClient(client.url, key=client.key, name="llama-server", grammars=True) as second,
    ):
        names = await first.models()
        assert names is not None
        several = 0
        for endpoint in (RemoteEndpoint(first, names[0]), ToolsEndpoint(second, "random")):
            for seed in range(6):
                sampling = Sampling(temperature=1.8, seed=seed, max_tokens=160)
                _, result = await take(
                    endpoint, WEATHER, NAPS, max_calls=8, choice=Choice("required"), sampling=sampling
                )
                assert not result.invalid
                calls = [done for done in result.completions if isinstance(done, Call)]
                several += len(calls) > 1
                for call in calls:
                    assert call.name in ("weather", "nap")
                    if call.name == "weather":
                        assert call.arguments["city"] in ("Oslo", "Rome")
        assert several


async def test_plain_chat_streams_and_a_stop_text_ends_it(endpoint: ToolsEndpoint | RemoteEndpoint) -> None:
    events, result = await take(endpoint, sampling=Sampling(temperature=0.0, max_tokens=12))
    assert isinstance(result.completion, Say)
    assert sum(isinstance(event, SayDelta) for event in events) > 3
    word = result.completion.text.split()[2]
    _, stopped = await take(endpoint, sampling=Sampling(temperature=0.0, max_tokens=12, stop=(word,)))
    assert isinstance(stopped.completion, Say)
    assert stopped.stop == word
    assert word not in stopped.completion.text


async def test_an_answer_fits_its_schema(endpoint: ToolsEndpoint | RemoteEndpoint) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    _, result = await take(endpoint, answer=schema)
    assert isinstance(result.completion, Say)
    assert result.completion.text.startswith('{"n":')
    assert not result.invalid


async def test_how_llama_server_is_asked(holding: ToolsEndpoint) -> None:
    habits = await holding.learn()
    assert (habits.field, habits.choice) == ("grammar", "none")


async def test_errors_of_real_servers_are_ours_with_the_endpoints_name(
    remote: RemoteEndpoint, holding: ToolsEndpoint, engine: Engine
) -> None:
    with pytest.raises(EngineError, match=r'"other tacid".*no model'):
        await take(RemoteEndpoint(remote.client, "nope"))
    long = TurnRequest((Message("user", "word " * 40_000),), Catalogue())
    for endpoint in (remote, holding):
        with pytest.raises(ContextExceeded):
            async for _ in run_remote(endpoint, long):
                pass
    async with ChatClient(engine.client.url, key="wrong", name="locked") as client:
        with pytest.raises(EngineError, match='"locked" refuses our key'):
            await client.models()
    async with ChatClient("http://127.0.0.1:9", name="nobody") as client:
        with pytest.raises(EngineDied, match='"nobody" isn\'t there'):
            await client.models()


async def test_a_tacid_lists_what_it_serves(remote: RemoteEndpoint) -> None:
    assert await remote.client.models() == ["smollm2-135m-instruct"]
