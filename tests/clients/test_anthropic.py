"""``anthropic`` from PyPI: Messages, streamed and whole, and the client's own loop over tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import anthropic
import pytest

from tests.clients.common import ANSWER, KEY, MODEL, NOBODY, QUESTION, RESULT, SCHEMAS, WORDS, judged, pieced
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

#: The client no longer knows this option; servers do.
COLD = {"temperature": 0}
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
TOOLS: list[Any] = [
    {"name": name, "description": WORDS[name], "input_schema": schema} for name, schema in SCHEMAS.items()
]


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=served.url, api_key="none", max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture(scope="module")
def hasty(client: anthropic.Anthropic, quick: Served) -> anthropic.Anthropic:
    """The client of a server whose model says anything."""
    return client.with_options(base_url=quick.url)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_its_result_and_an_answer(client: anthropic.Anthropic, streamed: bool) -> None:
    def message(**asked: Any) -> Any:
        if not streamed:
            return client.messages.create(model=MODEL, max_tokens=ANSWER, extra_body=COLD, **asked)
        with client.messages.stream(model=MODEL, max_tokens=ANSWER, extra_body=COLD, **asked) as stream:
            pieced(
                event.delta.partial_json if event.delta.type == "input_json_delta" else event.delta.text
                for event in stream
                if event.type == "content_block_delta"
            )
            return stream.get_final_message()

    called = message(messages=ASKED, tools=TOOLS, tool_choice={"type": "any"})
    assert called.stop_reason == "tool_use"
    (use,) = [block for block in called.content if block.type == "tool_use"]
    judged(use.name, use.input)
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": RESULT}]}
    history = [*ASKED, {"role": "assistant", "content": called.content}, result]
    answered = message(messages=history, tools=TOOLS, tool_choice={"type": "none"})
    assert answered.stop_reason in ("end_turn", "max_tokens")
    assert answered.content[0].text
    assert [block.type for block in answered.content] == ["text"]
    assert answered.usage.output_tokens > 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_named_choice_holds_whatever_was_asked(hasty: anthropic.Anthropic, streamed: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 90, "messages": ASKED, "tools": TOOLS}
    named: Any = {"type": "tool", "name": "light_set"}
    if streamed:
        with hasty.messages.stream(**asked, tool_choice=named) as stream:
            message = stream.get_final_message()
    else:
        message = hasty.messages.create(**asked, tool_choice=named)
    (use,) = message.content
    assert use.type == "tool_use"
    assert use.name == "light_set"
    judged("light_set", use.input)


def test_the_clients_own_loop_runs_the_tool(hasty: anthropic.Anthropic) -> None:
    """The runner makes the schema of a function, runs what is called and hands back what came of it."""
    ran: list[dict[str, Any]] = []

    @anthropic.beta_tool
    def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
        """The weather of a city for some days.

        Args:
            city: Which city.
            days: For how many days.
        """
        ran.append(judged("weather", {"city": city, "days": days}))
        return RESULT

    choice: Any = {"type": "any"}
    runner = hasty.beta.messages.tool_runner(
        model=MODEL, max_tokens=90, tools=[weather], messages=ASKED, tool_choice=choice, max_iterations=2
    )
    messages = list(runner)
    assert [message.stop_reason for message in messages] == ["tool_use", "tool_use"]
    assert ran


def test_tokens_are_counted_and_models_are_listed(hasty: anthropic.Anthropic) -> None:
    counted = hasty.messages.count_tokens(model=MODEL, messages=ASKED, tools=TOOLS)
    assert counted.input_tokens > hasty.messages.count_tokens(model=MODEL, messages=ASKED).input_tokens


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(hasty: anthropic.Anthropic, locked: Served, streamed: bool) -> None:
    asked: dict[str, Any] = {"messages": ASKED, "max_tokens": 4, "stream": streamed}
    with pytest.raises(anthropic.NotFoundError, match=NOBODY) as unknown:
        hasty.messages.create(model=NOBODY, **asked)
    assert unknown.value.type == "not_found_error"
    nothing: Any = {"type": "tool", "name": "nothing"}
    with pytest.raises(anthropic.BadRequestError, match="nothing"):
        hasty.messages.create(model=MODEL, tools=TOOLS, tool_choice=nothing, **asked)
    door = hasty.with_options(base_url=locked.url)
    with pytest.raises(anthropic.AuthenticationError, match="key"):
        door.messages.create(model=MODEL, **asked)
    assert door.with_options(api_key=KEY).messages.count_tokens(model=MODEL, messages=ASKED).input_tokens
