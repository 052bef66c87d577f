"""``instructor`` from PyPI: a pydantic model as the reply, by a call of a named tool, by a schema, by one of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import instructor
import openai
import pytest
from instructor.core import InstructorRetryException
from pydantic import BaseModel, ValidationError

from tests.clients.common import ANSWER, KEY, MODEL, NOBODY, QUESTION, RESULT
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

ASKED: list[Any] = [{"role": "user", "content": QUESTION}]


class Weather(BaseModel):
    """The weather of a city for some days."""

    city: Literal["Oslo", "Rome"]
    days: int


class Light(BaseModel):
    """Switch the light of a room."""

    room: Literal["hall", "kitchen"]
    on: bool


def made(server: Served, mode: instructor.Mode = instructor.Mode.TOOLS, key: str = "none") -> instructor.Instructor:
    return instructor.from_openai(
        openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=60), mode=mode
    )


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[instructor.Instructor]:
    client = made(served)
    yield client
    client.client.close()


@pytest.fixture(scope="module")
def hasty(quick: Served) -> Iterator[instructor.Instructor]:
    """The client of a server whose model says anything."""
    client = made(quick)
    yield client
    client.client.close()


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_its_result_and_an_answer(client: instructor.Instructor, streamed: bool) -> None:
    """Its calls are the reply, so what comes of them is handed back by hand, and the next reply is a model again."""
    asked: dict[str, Any] = {"model": MODEL, "temperature": 0, "max_tokens": ANSWER, "max_retries": 0}
    if streamed:
        *_, last = client.create_partial(Weather, messages=ASKED, **asked)
        weather = Weather.model_validate(last.model_dump())
        function = {"name": "Weather", "arguments": weather.model_dump_json()}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        said: Any = {"role": "assistant", "content": None, "tool_calls": calls}
    else:
        weather, completion = client.create_with_completion(ASKED, Weather, **asked)
        assert isinstance(weather, Weather)
        assert completion.choices[0].finish_reason == "tool_calls"
        # It looks for the content of every message, also where there is none.
        said = {"content": None, **completion.choices[0].message.model_dump(exclude_none=True)}
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": RESULT}
    assert isinstance(client.create(Light, [*ASKED, said, result], **asked), Light)
    answered = client.create(None, [*ASKED, said, result], **asked)
    assert answered.choices[0].message.content


@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.RESPONSES_TOOLS])
def test_a_named_choice_holds_whatever_was_asked(quick: Served, mode: instructor.Mode) -> None:
    """A choice is what its modes of tools work by; that of a schema holds the answer instead."""
    client = made(quick, mode)
    assert isinstance(client.create(Light, ASKED, model=MODEL, max_retries=0), Light)
    client.client.close()


def test_many_models_stream(hasty: instructor.Instructor) -> None:
    """Its schema doesn't require the list of them, and it can't read the arguments ``{}``, which are thus valid."""
    asked: dict[str, Any] = {"messages": ASKED, "model": MODEL, "max_retries": 0, "max_tokens": 1000}
    seen: list[Light] = []
    for seed in range(20):
        try:
            seen += hasty.create_iterable(response_model=Light, seed=seed, **asked)
        except ValidationError as error:
            assert {fault["type"] for fault in error.errors()} == {"missing"}
            assert all(fault["input"] == {} for fault in error.errors())
        if len(seen) > 1:
            break
    assert len(seen) > 1
    assert all(isinstance(light, Light) for light in seen)


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(hasty: instructor.Instructor, locked: Served, streamed: bool) -> None:
    """It wraps those of the SDK below it."""

    def ask(client: instructor.Instructor, model: str = MODEL, messages: Any = ASKED) -> None:
        if streamed:
            list(client.create_partial(Light, messages=messages, model=model, max_retries=0))
        else:
            client.create(Light, messages, model=model, max_retries=0)

    with pytest.raises(InstructorRetryException, match=NOBODY):
        ask(hasty, model=NOBODY)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    with pytest.raises(InstructorRetryException, match="image"):
        ask(hasty, messages=[{"role": "user", "content": [image]}])
    door = made(locked)
    with pytest.raises(InstructorRetryException, match="key"):
        ask(door)
    door.client.close()
    door = made(locked, key=KEY)
    ask(door)
    door.client.close()
