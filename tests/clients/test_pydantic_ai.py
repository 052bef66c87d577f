"""``pydantic-ai`` from PyPI: its agent, by Chat Completions and by Responses, with typed output."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, NativeOutput, RunContext, ToolOutput
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from tests.clients.common import ANSWER, KEY, MODEL, NOBODY, QUESTION, RESULT, judged
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

KINDS = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


class City(BaseModel):
    """A city."""

    name: Literal["Oslo", "Rome"]
    cold: bool


@asynccontextmanager
async def model(server: Served, kind: str = "chat", name: str = MODEL, key: str = "none") -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as client:
        yield KINDS[kind](name, provider=OpenAIProvider(openai_client=client))


def first(choice: Any) -> Any:
    """Settings by which the first reply is held to the choice, and what follows is an answer."""

    def settings(context: RunContext[Any]) -> ModelSettings:
        return ModelSettings(temperature=0, max_tokens=ANSWER, tool_choice=choice if context.run_step == 1 else "none")

    return settings


def tooled(chosen: Any, choice: Any) -> tuple[Agent[Any, str], list[tuple[str, dict[str, Any]]]]:
    """An agent with two tools, and the calls that it makes; arguments were checked by its own model of them."""
    agent = Agent(chosen, model_settings=first(choice), retries=0)
    ran: list[tuple[str, dict[str, Any]]] = []

    @agent.tool_plain
    def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
        """The weather of a city for some days."""
        ran.append(("weather", {"city": city, "days": days}))
        return RESULT

    @agent.tool_plain
    def light_set(room: Literal["hall", "kitchen"], on: bool) -> str:
        """Switch the light of a room."""
        ran.append(("light_set", {"room": room, "on": on}))
        return "Done."

    return agent, ran


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_call_its_result_and_an_answer(served: Served, kind: str, streamed: bool) -> None:
    async with model(served, kind) as chosen:
        agent, ran = tooled(chosen, "required")
        if streamed:
            async with agent.run_stream(QUESTION) as result:
                parts = [part async for part in result.stream_text(delta=True, debounce_by=None)]
                assert len(parts) > 1
                output, messages = "".join(parts), result.all_messages()
        else:
            whole = await agent.run(QUESTION)
            output, messages = whole.output, whole.all_messages()
    assert output
    ((name, arguments),) = ran
    judged(name, arguments)
    replies = [message for message in messages if isinstance(message, ModelResponse)]
    assert [reply.finish_reason for reply in replies] == ["tool_call" if kind == "chat" else "stop", "stop"]
    assert all(reply.usage.output_tokens for reply in replies)


async def test_a_named_choice_holds_whatever_was_asked(quick: Served) -> None:
    async with model(quick) as chosen:
        agent, ran = tooled(chosen, ["light_set"])
        async with agent.iter(QUESTION) as run:
            async for _ in run:
                if ran:
                    break
    assert [name for name, _ in ran] == ["light_set"]
    judged(*ran[0])


@pytest.mark.parametrize("shape", [ToolOutput(City), NativeOutput(City)], ids=["tool", "native"])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_an_output_has_its_type(quick: Served, kind: str, shape: Any, streamed: bool) -> None:
    async with model(quick, kind) as chosen:
        agent: Agent[Any, Any] = Agent(chosen, output_type=shape, retries=0)
        if streamed:
            async with agent.run_stream(QUESTION) as result:
                output = await result.get_output()
        else:
            output = (await agent.run(QUESTION)).output
    assert isinstance(output, City)


@pytest.mark.parametrize("streamed", [False, True])
async def test_errors_are_the_clients_own(quick: Served, locked: Served, streamed: bool) -> None:
    async def ask(server: Served, words: Any = "Hello", **options: Any) -> None:
        async with model(server, **options) as chosen:
            agent = Agent(chosen, model_settings=ModelSettings(max_tokens=4))
            if streamed:
                async with agent.run_stream(words) as result:
                    await result.get_output()
            else:
                await agent.run(words)

    from pydantic_ai import BinaryContent

    with pytest.raises(ModelHTTPError, match=NOBODY) as unknown:
        await ask(quick, name=NOBODY)
    assert unknown.value.status_code == 404
    with pytest.raises(ModelHTTPError, match="image") as bad:
        await ask(quick, [BinaryContent(b"no picture", media_type="image/png")])
    assert bad.value.status_code == 400
    with pytest.raises(ModelHTTPError, match="key") as closed:
        await ask(locked)
    assert closed.value.status_code == 401
    await ask(locked, key=KEY)
