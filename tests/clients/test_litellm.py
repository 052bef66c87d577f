"""``litellm`` from PyPI, the SDK: to our OpenAI surface, to Ollama's and to Anthropic's, all in OpenAI's words."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from typing import Any

import jsonschema_rs
import litellm
import pytest
import pytest_asyncio

from tests.clients.common import ANSWER, CITY, FUNCTIONS, KEY, MODEL, NOBODY, QUESTION, RESULT, judged
from tests.serving import Served

pytestmark = [
    pytest.mark.engine,
    pytest.mark.model,
    # What it defines on its first call.
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class:UserWarning"),
]

litellm.telemetry = False

ASKED = [{"role": "user", "content": QUESTION}]
LIGHT_SET = {"type": "function", "function": {"name": "light_set"}}
#: litellm's names of the protocols, and what each has as the address of a server.
PROVIDERS = {"openai": "/v1", "anthropic": "", "ollama_chat": ""}


@pytest_asyncio.fixture(scope="module", autouse=True)
async def closed() -> AsyncIterator[None]:
    """It keeps its connections for whoever asks next; closed after the last test, they are no leak of another's."""
    yield
    litellm.module_level_client.close()
    await litellm.close_litellm_async_clients()
    for client in list(litellm.in_memory_llm_clients_cache.cache_dict.values()):
        if not inspect.iscoroutinefunction(client.close):
            client.close()
    litellm.in_memory_llm_clients_cache.flush_cache()


def said(server: Served, provider: str = "openai", *, streamed: bool = False, **asked: Any) -> Any:
    settings: dict[str, Any] = {"model": f"{provider}/{MODEL}", "api_key": "none", "max_retries": 0, "timeout": 60}
    settings |= {"api_base": server.url + PROVIDERS[provider], "messages": ASKED, "stream": streamed, **asked}
    reply = litellm.completion(**settings)
    if not streamed:
        return reply.choices[0].message
    chunks = list(reply)
    assert len(chunks) > 2
    return litellm.stream_chunk_builder(chunks, messages=settings["messages"]).choices[0].message


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_call_its_result_and_an_answer(served: Served, provider: str, streamed: bool) -> None:
    options: dict[str, Any] = {"streamed": streamed, "temperature": 0, "max_tokens": ANSWER, "tools": FUNCTIONS}
    called = said(served, provider, tool_choice="required", **options)
    (call,) = called.tool_calls
    judged(call.function.name, call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": RESULT}
    answered = said(served, provider, messages=[*ASKED, called, result], tool_choice="none", **options)
    assert answered.content
    assert not answered.tool_calls


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_named_choice_holds_whatever_was_asked(quick: Served, provider: str, streamed: bool) -> None:
    message = said(quick, provider, streamed=streamed, tools=FUNCTIONS, tool_choice=LIGHT_SET, max_tokens=90)
    (call,) = message.tool_calls
    assert call.function.name == "light_set"
    judged("light_set", call.function.arguments)


def test_an_answer_keeps_to_a_schema(quick: Served) -> None:
    shape = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}
    fits(said(quick, response_format=shape).content)


def fits(content: str) -> None:
    jsonschema_rs.validator_for(CITY).validate(json.loads(content))


async def test_the_asynchronous_client(quick: Served) -> None:
    reply = await litellm.acompletion(
        model=f"openai/{MODEL}", api_base=f"{quick.url}/v1", api_key="none", messages=ASKED, tools=FUNCTIONS,
        tool_choice="required",
    )  # fmt: skip
    (call,) = reply.choices[0].message.tool_calls
    judged(call.function.name, call.function.arguments)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_errors_are_the_clients_own(quick: Served, locked: Served, provider: str, streamed: bool) -> None:
    with pytest.raises(litellm.NotFoundError, match=NOBODY):
        said(quick, provider, streamed=streamed, model=f"{provider}/{NOBODY}", max_tokens=4)
    nothing = {"type": "function", "function": {"name": "nothing"}}
    with pytest.raises(litellm.BadRequestError, match="nothing"):
        said(quick, provider, streamed=streamed, tools=FUNCTIONS, tool_choice=nothing, max_tokens=4)
    with pytest.raises(litellm.AuthenticationError, match="key"):
        said(locked, provider, streamed=streamed, max_tokens=4)
    assert said(locked, provider, api_key=KEY, max_tokens=4).role == "assistant"


def test_the_address_of_ollama(quick: Served) -> None:
    """Without a choice of tools, which this protocol hasn't: an answer held by a schema, whole and streamed."""
    for streamed in (False, True):
        message = said(quick, "ollama_chat", streamed=streamed, format=CITY)
        fits(message.content)
