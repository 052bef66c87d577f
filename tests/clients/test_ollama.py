"""``ollama`` from PyPI: chat and generate, streamed and whole.

Ollama's protocol has no choice of tools: that a tool must be called, or which one, can't be said in it. So there are
several questions, and at one of them the model calls; what isn't among the ``tools`` can't be called in any case.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

import ollama
import pytest

from tests.clients.common import ANSWER, ASKING, CITY, FUNCTIONS, KEY, MODEL, NOBODY, RESULT, judged, pieced
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

OPTIONS = {"temperature": 0, "num_predict": ANSWER}
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[ollama.Client]:
    with ollama.Client(host=served.url, timeout=60) as made:
        yield made


@pytest.fixture(scope="module")
def hasty(quick: Served) -> Iterator[ollama.Client]:
    """The client of a server whose model says anything."""
    with ollama.Client(host=quick.url, timeout=60) as made:
        yield made


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_its_result_and_an_answer(client: ollama.Client, streamed: bool) -> None:
    def message(messages: list[Any], **more: Any) -> ollama.Message:
        asked: dict[str, Any] = {"model": MODEL, "messages": messages, "options": OPTIONS, **more}
        if not streamed:
            return client.chat(**asked).message
        parts = list(client.chat(**asked, stream=True))
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
        calls = [call for part in parts for call in part.message.tool_calls or []]
        content = "".join(part.message.content or "" for part in parts)
        return ollama.Message(role="assistant", content=content, tool_calls=calls or None)

    for question in ASKING:
        asked = [{"role": "user", "content": question}]
        called = message(asked, tools=FUNCTIONS)
        if called.tool_calls:
            break
        assert called.content
    (call,) = called.tool_calls or []
    judged(call.function.name, call.function.arguments)
    history = [*asked, called, {"role": "tool", "tool_name": call.function.name, "content": RESULT}]
    assert message(history).content


def test_a_function_is_the_only_tool_that_can_be_called(hasty: ollama.Client) -> None:
    """Instead of a named choice; the client makes the schema from the function, without the enum.

    It can't read annotations that are text, so this module has no ``from __future__ import annotations``.
    """

    def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
        """The weather of a city.

        Args:
            city: Which city.
            days: For how many days.
        """
        raise AssertionError

    calls: list[Any] = []
    for seed in range(50):
        options = {"seed": seed, "temperature": 2.0, "num_predict": 120}
        asked = [{"role": "user", "content": f"Hello, {seed}."}]
        calls += hasty.chat(MODEL, asked, tools=[weather], options=options).message.tool_calls or []
        if len(calls) > 1:
            break
    assert calls
    assert {call.function.name for call in calls} == {"weather"}
    for call in calls:
        arguments = call.function.arguments
        assert set(arguments) == {"city", "days"}
        assert isinstance(arguments["city"], str)
        assert type(arguments["days"]) is int


@pytest.mark.parametrize("streamed", [False, True])
def test_a_format_holds_the_answer(hasty: ollama.Client, streamed: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "format": CITY}
    if streamed:
        text = pieced(part.message.content for part in hasty.chat(**asked, stream=True))
    else:
        text = hasty.chat(**asked).message.content or ""
    assert set(json.loads(text)) == {"name", "cold"}


@pytest.mark.parametrize("streamed", [False, True])
def test_generate(hasty: ollama.Client, streamed: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "prompt": "Hello", "format": CITY}
    if streamed:
        text = pieced(part.response for part in hasty.generate(**asked, stream=True))
    else:
        text = hasty.generate(**asked).response
    assert set(json.loads(text)) == {"name", "cold"}


def test_what_is_served_is_listed_and_shown(client: ollama.Client) -> None:
    (listed,) = client.list().models
    assert (listed.model or "").startswith(MODEL)
    shown = client.show(listed.model or "")
    assert "tools" in (shown.capabilities or [])
    assert client.ps().models[0].model == listed.model


async def test_the_asynchronous_client(hasty: ollama.Client, quick: Served) -> None:
    async with ollama.AsyncClient(host=quick.url) as client:
        parts = [part async for part in await client.chat(MODEL, HELLO, stream=True, format=CITY, options={"seed": 3})]
    whole = hasty.chat(MODEL, HELLO, format=CITY, options={"seed": 3})
    assert "".join(part.message.content or "" for part in parts) == whole.message.content


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(hasty: ollama.Client, locked: Served, streamed: bool) -> None:
    def ask(client: ollama.Client, **asked: Any) -> None:
        got = client.chat(**{"model": MODEL, "messages": HELLO, "stream": streamed, **asked})
        if streamed:
            list(got)

    with pytest.raises(ollama.ResponseError, match=NOBODY) as unknown:
        ask(hasty, model=NOBODY)
    assert unknown.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="image") as bad:
        ask(hasty, messages=[{**HELLO[0], "images": [b"no picture"]}])
    assert bad.value.status_code == 400
    with ollama.Client(host=locked.url) as door, pytest.raises(ollama.ResponseError, match="key") as closed:
        ask(door)
    assert closed.value.status_code == 401
    with ollama.Client(host=locked.url, headers={"Authorization": f"Bearer {KEY}"}) as door:
        assert door.list().models
