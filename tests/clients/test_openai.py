"""``openai`` from PyPI: Chat Completions and Responses, streamed and whole, and answers held to a pydantic model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict

from tests.clients.common import ANSWER, FUNCTIONS, KEY, MODEL, NOBODY, QUESTION, RESULT, SCHEMAS, WORDS, judged, pieced
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
TOOLS: list[Any] = FUNCTIONS
FLAT: list[Any] = [
    {"type": "function", "name": name, "description": WORDS[name], "parameters": schema, "strict": True}
    for name, schema in SCHEMAS.items()
]
LIGHT_SET: Any = {"type": "function", "function": {"name": "light_set"}}


class City(BaseModel):
    """A city."""

    model_config = ConfigDict(extra="forbid")

    name: Literal["Oslo", "Rome"]
    cold: bool


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0, timeout=60) as made:
        yield made


@pytest.fixture(scope="module")
def hasty(client: openai.OpenAI, quick: Served) -> openai.OpenAI:
    """The client of a server whose model says anything."""
    return client.with_options(base_url=f"{quick.url}/v1")


@pytest.mark.parametrize("streamed", [False, True])
def test_chat_a_call_its_result_and_an_answer(client: openai.OpenAI, streamed: bool) -> None:
    """The streamed half reads by the client's own accumulator, which turns chunks into a message."""

    def message(**asked: Any) -> Any:
        if not streamed:
            return client.chat.completions.create(model=MODEL, temperature=0, **asked).choices[0]
        with client.chat.completions.stream(model=MODEL, temperature=0, **asked) as stream:
            kinds = [event.type for event in stream]
            assert kinds.count("chunk") > 3
            return stream.get_final_completion().choices[0]

    called = message(messages=ASKED, tools=TOOLS, tool_choice="required")
    assert called.finish_reason == "tool_calls"
    (call,) = called.message.tool_calls
    assert call.type == "function"
    judged(call.function.name, call.function.arguments)
    history = [
        *ASKED,
        called.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    answered = message(messages=history, tools=TOOLS, tool_choice="none", max_tokens=ANSWER)
    assert answered.message.content
    assert not answered.message.tool_calls


def test_chat_a_stream_of_chunks_says_what_the_whole_says(hasty: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": ASKED, "tools": TOOLS, "temperature": 0, "seed": 1}
    whole = hasty.chat.completions.create(**asked, tool_choice=LIGHT_SET)
    chunks = list(
        hasty.chat.completions.create(
            **asked, tool_choice=LIGHT_SET, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    assert [delta.id for delta in deltas if delta.id] == [deltas[0].id]
    (call,) = whole.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert pieced(delta.function and delta.function.arguments for delta in deltas) == call.function.arguments
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


@pytest.mark.parametrize(
    "choice",
    [
        LIGHT_SET,
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "light_set"}}]},
        },
    ],
    ids=["named", "allowed"],
)
def test_chat_a_named_choice_holds_whatever_was_asked(hasty: openai.OpenAI, choice: Any) -> None:
    reply = hasty.chat.completions.create(model=MODEL, messages=ASKED, tools=TOOLS, tool_choice=choice, temperature=0)
    (call,) = reply.choices[0].message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "light_set"
    judged("light_set", call.function.arguments)


@pytest.mark.parametrize("streamed", [False, True])
def test_chat_an_answer_is_parsed_into_a_model(hasty: openai.OpenAI, streamed: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": ASKED, "response_format": City, "temperature": 0}
    if streamed:
        with hasty.chat.completions.stream(**asked) as stream:
            pieced(event.delta for event in stream if event.type == "content.delta")
            parsed = stream.get_final_completion().choices[0].message.parsed
    else:
        parsed = hasty.chat.completions.parse(**asked).choices[0].message.parsed
    assert isinstance(parsed, City)


def test_chat_parse_takes_tools_made_of_models(hasty: openai.OpenAI) -> None:
    reply = hasty.chat.completions.parse(
        model=MODEL, messages=ASKED, tools=[openai.pydantic_function_tool(City)], tool_choice="required", temperature=0
    )
    (call,) = reply.choices[0].message.tool_calls or []
    assert isinstance(call.function.parsed_arguments, City)


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_a_call_its_result_and_an_answer(client: openai.OpenAI, streamed: bool) -> None:
    def response(**asked: Any) -> Any:
        if not streamed:
            return client.responses.create(model=MODEL, temperature=0, **asked)
        with client.responses.stream(model=MODEL, temperature=0, **asked) as stream:
            assert sum(event.type.endswith(".delta") for event in stream) > 1
            return stream.get_final_response()

    first = response(input=QUESTION, tools=FLAT, tool_choice="required")
    (call,) = [item for item in first.output if item.type == "function_call"]
    judged(call.name, call.arguments)
    again = response(
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": RESULT}],
        previous_response_id=first.id,
        tools=FLAT,
        tool_choice="none",
        max_output_tokens=ANSWER,
    )
    assert again.output_text
    assert again.previous_response_id == first.id


def test_responses_a_named_choice_holds_whatever_was_asked(hasty: openai.OpenAI) -> None:
    named: Any = {"type": "function", "name": "light_set"}
    reply = hasty.responses.create(model=MODEL, input=QUESTION, tools=FLAT, tool_choice=named, temperature=0)
    (call,) = [item for item in reply.output if item.type == "function_call"]
    assert call.name == "light_set"
    judged("light_set", call.arguments)


@pytest.mark.parametrize("streamed", [False, True])
def test_responses_an_answer_is_parsed_into_a_model(hasty: openai.OpenAI, streamed: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "input": QUESTION, "text_format": City, "temperature": 0}
    if streamed:
        with hasty.responses.stream(**asked) as stream:
            for _ in stream:
                pass
            parsed = stream.get_final_response().output_parsed
    else:
        parsed = hasty.responses.parse(**asked).output_parsed
    assert isinstance(parsed, City)


async def test_the_asynchronous_client(quick: Served) -> None:
    async with openai.AsyncOpenAI(base_url=f"{quick.url}/v1", api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model=MODEL, messages=ASKED, tools=TOOLS, tool_choice="required", temperature=0, stream=True
        )
        deltas = [call async for chunk in stream for choice in chunk.choices for call in choice.delta.tool_calls or []]
    assert deltas[0].function is not None
    judged(deltas[0].function.name or "", pieced(each.function and each.function.arguments for each in deltas))


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(hasty: openai.OpenAI, locked: Served, streamed: bool) -> None:
    asked: dict[str, Any] = {"messages": ASKED, "max_tokens": 4, "stream": streamed}
    with pytest.raises(openai.NotFoundError) as unknown:
        hasty.chat.completions.create(model=NOBODY, **asked)
    assert unknown.value.code == "model_not_found"
    assert NOBODY in unknown.value.message
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    with pytest.raises(openai.BadRequestError, match="image"):
        hasty.chat.completions.create(model=MODEL, **{**asked, "messages": [{"role": "user", "content": [image]}]})
    nothing: Any = {"type": "function", "function": {"name": "nothing"}}
    with pytest.raises(openai.BadRequestError) as choice:
        hasty.chat.completions.create(model=MODEL, tools=TOOLS, tool_choice=nothing, **asked)
    assert choice.value.param == "tool_choice"
    with pytest.raises(openai.NotFoundError, match=NOBODY):
        hasty.responses.create(model=NOBODY, input=QUESTION, stream=streamed)
    door = hasty.with_options(base_url=f"{locked.url}/v1")
    with pytest.raises(openai.AuthenticationError, match="key"):
        door.chat.completions.create(model=MODEL, **asked)
    assert door.with_options(api_key=KEY).models.list().data[0].id
