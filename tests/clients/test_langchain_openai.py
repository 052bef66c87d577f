"""``langchain-openai`` from PyPI: ``ChatOpenAI`` over Chat Completions and over Responses."""

from __future__ import annotations

from typing import Any, Literal

import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from tests.clients.common import ANSWER, FUNCTIONS, KEY, MODEL, NOBODY, QUESTION, RESULT, judged
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]


class City(BaseModel):
    """A city."""

    name: Literal["Oslo", "Rome"]
    cold: bool


@tool
def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
    """The weather of a city for some days."""
    judged("weather", {"city": city, "days": days})
    return RESULT


def chat(server: Served, **options: Any) -> ChatOpenAI:
    settings: dict[str, Any] = {"model": MODEL, "api_key": "none", "max_retries": 0, "temperature": 0}
    settings["stream_usage"] = True
    return ChatOpenAI(base_url=f"{server.url}/v1", **{**settings, **options})


def said(runnable: Any, messages: list[Any], *, streamed: bool) -> AIMessage:
    if not streamed:
        reply = runnable.invoke(messages)
    else:
        chunks: list[AIMessageChunk] = list(runnable.stream(messages))
        assert len(chunks) > 1
        reply = chunks[0]
        for chunk in chunks[1:]:
            reply = reply + chunk
    assert isinstance(reply, AIMessage)
    assert not reply.invalid_tool_calls
    return reply


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("responses", [False, True], ids=["chat", "responses"])
def test_a_call_its_result_and_an_answer(served: Served, responses: bool, streamed: bool) -> None:
    model = chat(served, use_responses_api=responses, max_tokens=ANSWER)
    messages: list[Any] = [HumanMessage(QUESTION)]
    called = said(model.bind_tools([weather], tool_choice="required"), messages, streamed=streamed)
    (call,) = called.tool_calls
    assert call["name"] == "weather"
    result = weather.invoke(call)
    assert isinstance(result, ToolMessage)
    assert result.content == RESULT
    messages += [called, result]
    answered = said(model.bind_tools([weather], tool_choice="none"), messages, streamed=streamed)
    assert answered.text
    assert not answered.tool_calls
    assert answered.usage_metadata is not None
    assert answered.usage_metadata["output_tokens"] > 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_named_choice_holds_whatever_was_asked(quick: Served, streamed: bool) -> None:
    bound = chat(quick).bind_tools(FUNCTIONS, tool_choice="light_set")
    (call,) = said(bound, [HumanMessage(QUESTION)], streamed=streamed).tool_calls
    assert call["name"] == "light_set"
    judged("light_set", call["args"])


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
def test_an_answer_is_parsed_into_a_model(quick: Served, method: Literal["function_calling", "json_schema"]) -> None:
    assert isinstance(chat(quick).with_structured_output(City, method=method).invoke(QUESTION), City)


async def test_the_asynchronous_client(quick: Served) -> None:
    bound = chat(quick).bind_tools(FUNCTIONS, tool_choice="any")
    (call,) = (await bound.ainvoke(QUESTION)).tool_calls
    judged(call["name"], call["args"])


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(quick: Served, locked: Served, streamed: bool) -> None:
    """It hands on those of the SDK below it."""

    def ask(model: Any, messages: Any = QUESTION) -> None:
        for _ in model.stream(messages) if streamed else [model.invoke(messages)]:
            pass

    with pytest.raises(openai.NotFoundError, match=NOBODY):
        ask(chat(quick, model=NOBODY))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    with pytest.raises(openai.BadRequestError, match="image"):
        ask(chat(quick), [HumanMessage([image])])
    with pytest.raises(openai.AuthenticationError, match="key"):
        ask(chat(locked))
    ask(chat(locked, api_key=KEY, max_tokens=4))
