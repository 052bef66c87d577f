"""``langchain-ollama`` from PyPI: ``ChatOllama``.

Neither it nor the protocol has a choice of tools (it drops ``tool_choice``): that the model must call can't be said. So
there are several questions, and at one of them the model calls; a single tool stands for a named one, and a shape that
must be kept goes by ``format``.
"""

from __future__ import annotations

from typing import Any, Literal

import ollama
import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from pydantic import BaseModel

from tests.clients.common import ANSWER, ASKING, KEY, MODEL, NOBODY, RESULT, judged
from tests.clients.test_langchain_openai import said
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


@tool
def light_set(room: Literal["hall", "kitchen"], on: bool) -> str:
    """Switch the light of a room."""
    judged("light_set", {"room": room, "on": on})
    return "Done."


def chat(server: Served, **options: Any) -> ChatOllama:
    return ChatOllama(base_url=server.url, **{"model": MODEL, "temperature": 0, "num_predict": ANSWER, **options})


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_its_result_and_an_answer(served: Served, streamed: bool) -> None:
    model = chat(served)
    tools = model.bind_tools([weather, light_set])
    for question in ASKING:
        messages: list[Any] = [HumanMessage(question)]
        called = said(tools, messages, streamed=streamed)
        if called.tool_calls:
            break
    (call,) = called.tool_calls
    result = {"weather": weather, "light_set": light_set}[call["name"]].invoke(call)
    answered = said(model, [*messages, called, result], streamed=streamed)
    assert answered.text
    assert not answered.tool_calls


def test_what_is_not_bound_can_not_be_called(quick: Served) -> None:
    calls: list[Any] = []
    for seed in range(50):
        bound = chat(quick, seed=seed, temperature=2.0, num_predict=120).bind_tools([light_set])
        calls += bound.invoke(f"Hello, {seed}.").tool_calls
        if len(calls) > 1:
            break
    assert calls
    for call in calls:
        assert call["name"] == "light_set"
        judged("light_set", call["args"])


def test_an_answer_is_parsed_into_a_model(quick: Served) -> None:
    assert isinstance(chat(quick).with_structured_output(City, method="json_schema").invoke("Hello"), City)


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(quick: Served, locked: Served, streamed: bool) -> None:
    """It hands on that of the client below it."""

    def ask(model: Any, messages: Any = "Hello") -> None:
        for _ in model.stream(messages) if streamed else [model.invoke(messages)]:
            pass

    with pytest.raises(ollama.ResponseError, match=NOBODY) as unknown:
        ask(chat(quick, model=NOBODY))
    assert unknown.value.status_code == 404
    image = {"type": "image_url", "image_url": "data:image/png;base64,AAAA"}
    with pytest.raises(ollama.ResponseError, match="image") as bad:
        ask(chat(quick), [HumanMessage([image])])
    assert bad.value.status_code == 400
    with pytest.raises(ollama.ResponseError, match="key") as closed:
        ask(chat(locked))
    assert closed.value.status_code == 401
    ask(chat(locked, client_kwargs={"headers": {"Authorization": f"Bearer {KEY}"}}, num_predict=4))
