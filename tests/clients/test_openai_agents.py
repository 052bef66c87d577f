"""``openai-agents`` from PyPI: its runner, by Chat Completions and by Responses, streamed and whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import agents
import openai
import pytest
from pydantic import BaseModel

from tests.clients.common import ANSWER, KEY, MODEL, NOBODY, QUESTION, RESULT, judged
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

KINDS: dict[str, Any] = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}


class City(BaseModel):
    """A city."""

    name: Literal["Oslo", "Rome"]
    cold: bool


@asynccontextmanager
async def model(server: Served, kind: str = "chat", name: str = MODEL, key: str = "none") -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as client:
        yield KINDS[kind](model=name, openai_client=client)


def tooled(chosen: Any, choice: str, **more: Any) -> tuple[agents.Agent[Any], list[tuple[str, dict[str, Any]]]]:
    """An agent with two tools, which it has until one was called; and its calls."""
    ran: list[tuple[str, dict[str, Any]]] = []

    def is_enabled(*_: Any) -> bool:
        return not ran

    @agents.function_tool(is_enabled=is_enabled, failure_error_function=None)
    def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
        """The weather of a city for some days."""
        ran.append(("weather", {"city": city, "days": days}))
        return RESULT

    @agents.function_tool(is_enabled=is_enabled, failure_error_function=None)
    def light_set(room: Literal["hall", "kitchen"], on: bool) -> str:
        """Switch the light of a room."""
        ran.append(("light_set", {"room": room, "on": on}))
        return "Done."

    settings = agents.ModelSettings(tool_choice=choice, temperature=0, max_tokens=ANSWER)
    tools: list[Any] = [weather, light_set]
    return agents.Agent(name="tests", model=chosen, tools=tools, model_settings=settings, **more), ran


async def outcome(agent: agents.Agent[Any], words: Any = QUESTION, *, streamed: bool) -> Any:
    if not streamed:
        return (await agents.Runner.run(agent, words, max_turns=3)).final_output
    result = agents.Runner.run_streamed(agent, words, max_turns=3)
    kinds = [event.data.type async for event in result.stream_events() if event.type == "raw_response_event"]
    assert any(kind.endswith(".delta") for kind in kinds)
    return result.final_output


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_call_its_result_and_an_answer(served: Served, kind: str, streamed: bool) -> None:
    async with model(served, kind) as chosen:
        agent, ran = tooled(chosen, "required")
        assert await outcome(agent, streamed=streamed)
    ((name, arguments),) = ran
    judged(name, arguments)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_named_choice_holds_whatever_was_asked(quick: Served, kind: str, streamed: bool) -> None:
    async with model(quick, kind) as chosen:
        agent, ran = tooled(chosen, "light_set", tool_use_behavior="stop_on_first_tool")
        assert await outcome(agent, streamed=streamed) == "Done."
    assert [name for name, _ in ran] == ["light_set"]
    judged(*ran[0])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_an_output_has_its_type(quick: Served, kind: str, streamed: bool) -> None:
    async with model(quick, kind) as chosen:
        agent = agents.Agent(name="tests", model=chosen, output_type=City)
        assert isinstance(await outcome(agent, streamed=streamed), City)


@pytest.mark.parametrize("streamed", [False, True])
async def test_errors_are_the_clients_own(quick: Served, locked: Served, streamed: bool) -> None:
    """It hands on those of the SDK below it."""

    async def ask(server: Served, words: Any = "Hello", **options: Any) -> None:
        async with model(server, **options) as chosen:
            settings = agents.ModelSettings(max_tokens=16, temperature=0)
            await outcome(agents.Agent(name="tests", model=chosen, model_settings=settings), words, streamed=streamed)

    for kind in KINDS:
        with pytest.raises(openai.NotFoundError, match=NOBODY):
            await ask(quick, name=NOBODY, kind=kind)
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
    with pytest.raises(openai.BadRequestError, match="image"):
        await ask(quick, [{"role": "user", "content": [image]}])
    with pytest.raises(openai.AuthenticationError, match="key"):
        await ask(locked)
    await ask(locked, key=KEY)
