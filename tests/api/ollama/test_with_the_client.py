"""Every body is one that Ollama's own client reads, and every request of its is one that we read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacid.api.faults import Fault
from tacid.api.ollama import CHAT, GENERATE, is_raw, parse_raw
from tacid.api.ollama.show import NEVER, ps_body, show_body, tags_body
from tacid.api.request import ChatRequest, CompletionRequest, Limits
from tacid.chat import Call, Say, Think
from tests.api.ollama.test_encode import CALLED, OSLO, ROME, SPOKEN, about, result
from tests.api.ollama.test_show import CARD

pytest.importorskip("ollama")
import httpx
import ollama
from ollama import _types as types


def client(wire: Any, events: tuple[Any, ...], seen: list[Any], fault: Fault | None = None) -> ollama.Client:
    """The real client, with its connection ending in our wire instead of a socket."""

    def answer(sent: httpx.Request) -> httpx.Response:
        body = json.loads(sent.content)
        request = parse_raw(body, Limits()) if is_raw(body) else wire.parse(body, Limits())
        seen.append(request)
        if isinstance(request, ChatRequest) and request.extra.get("load"):
            return httpx.Response(200, json=wire.loaded(request, about()))
        if not request.stream:
            return httpx.Response(200, json=wire.whole(request, about(), events[-1]))
        encoder = wire.stream(request, about())
        lines = [encoder.event(event) for event in events[:-1]]
        lines.append(encoder.fault(fault) if fault else encoder.event(events[-1]))
        return httpx.Response(200, content=b"".join(lines), headers={"content-type": wire.media_type})

    return ollama.Client(host="http://127.0.0.1:9", transport=httpx.MockTransport(answer))


def weather(city: str, unit: str | None = None) -> str:
    """Tell the weather.

    Args:
      city: Where.
      unit: c or f.
    """
    return f"{city} {unit}"


def test_an_answer_whole_and_streamed() -> None:
    seen: list[ChatRequest] = []
    with client(CHAT, SPOKEN, seen) as real:
        whole = real.chat("m", [{"role": "user", "content": "hello"}], options={"seed": 1, "num_ctx": 2048})
        parts = list(real.chat("m", [{"role": "user", "content": "hello"}], stream=True, format="json", think=False))
    assert whole.message.content == "".join(part.message.content or "" for part in parts) == "It is warm."
    assert (whole.done_reason, whole.eval_count, whole.prompt_eval_duration) == ("stop", 7, 12_345_678)
    assert [part.done for part in parts] == [False, False, False, True]
    assert (seen[0].stream, seen[0].sampling.seed, seen[0].extra["num_ctx"]) == (False, 1, 2048)
    assert (seen[1].stream, seen[1].answer, seen[1].think) == (True, {"type": "object"}, False)


def test_a_call_its_result_and_the_tools_that_the_client_makes_of_functions() -> None:
    seen: list[ChatRequest] = []
    with client(CHAT, CALLED, seen) as real:
        asked = [{"role": "user", "content": "weather in Oslo?"}]
        parts = list(real.chat("m", asked, tools=[weather], stream=True))
        (called,) = [part.message for part in parts if part.message.tool_calls]
        assert called.tool_calls is not None
        (call,) = called.tool_calls
        assert (call.function.name, call.function.arguments) == ("weather", {"city": "Oslo"})
        history = [*asked, called, {"role": "tool", "tool_name": "weather", "content": "12 °C"}]
        real.chat("m", history, tools=[weather])
    tool = seen[0].tools["weather"]
    assert tool.parameters["required"] == ["city"]
    assert seen[1].messages[1].calls == (Call("weather", {"city": "Oslo"}, '{"city":"Oslo"}'),)
    assert (seen[1].messages[2].role, seen[1].messages[2].name) == ("tool", "weather")


def test_generate_and_a_thought() -> None:
    events = (Think("hm"), Say("Yes."), result(Think("hm"), Say("Yes.")))
    seen: list[ChatRequest] = []
    with client(GENERATE, events, seen) as real:
        whole = real.generate("m", "hello", system="Be brief.")
        parts = list(real.generate("m", "hello", stream=True, think="low"))
    assert (whole.response, whole.thinking, whole.done) == ("Yes.", "hm", True)
    assert "".join(part.response or "" for part in parts) == "Yes."
    assert "".join(part.thinking or "" for part in parts) == "hm"
    assert seen[0].messages[0].role == "system"
    assert seen[1].think


def test_a_raw_prompt() -> None:
    seen: list[CompletionRequest] = []
    with client(GENERATE, SPOKEN, seen) as real:
        assert real.generate("m", "<|im_start|>", raw=True).response == "It is warm."
        assert [part.response for part in real.generate("m", "<|im_start|>", raw=True, stream=True)][-2] == "warm."
    assert [request.prompt for request in seen] == ["<|im_start|>"] * 2


@pytest.mark.parametrize("stream", [False, True])
def test_loading_and_letting_go(stream: bool) -> None:
    seen: list[ChatRequest] = []
    with client(CHAT, SPOKEN, seen) as real:
        got = real.chat("m", [], stream=stream, keep_alive=0)
        last = list(got)[-1] if stream else got
    assert last.done_reason == "unload"
    with client(GENERATE, SPOKEN, seen) as real:
        assert real.generate("m").done_reason == "load"


def test_an_error_in_mid_stream_is_the_clients_own() -> None:
    with client(CHAT, SPOKEN, [], Fault(503, "The engine ended.", "server_error")) as real:
        parts = real.chat("m", [{"role": "user", "content": "hello"}], stream=True)
        with pytest.raises(ollama.ResponseError, match=r"The engine ended\."):
            list(parts)


def test_the_clients_own_types_take_every_body() -> None:
    whole = CHAT.whole(ChatRequest("m", ()), about(), result(OSLO, ROME, invalid={"call_2": ("no",)}))
    read = types.ChatResponse(**whole)
    assert [call.function.arguments["city"] for call in read.message.tool_calls or []] == ["Oslo", "Rome"]
    assert types.ListResponse(**tags_body([CARD])).models[0].modified_at == CARD.modified
    shown = types.ShowResponse(**show_body(CARD))
    assert shown.modelinfo is not None
    assert shown.modelinfo["llama.context_length"] == CARD.context
    assert "tools" in (shown.capabilities or [])
    running = types.ProcessResponse(**ps_body([(CARD, NEVER)])).models[0]
    assert (running.name, running.context_length) == ("smollm2:latest", 4096)


def test_langchain_reads_the_stream() -> None:
    models = pytest.importorskip("langchain_ollama")
    seen: list[ChatRequest] = []
    chat = models.ChatOllama(model="m", base_url="http://127.0.0.1:9", reasoning=True)
    events = (Think("Oslo?"), *CALLED[:-1], result(Think("Oslo?"), OSLO))
    with client(CHAT, events, seen) as real:
        chat._client = real
        got = chat.bind_tools([weather]).invoke("weather in Oslo?")
    assert [(call["name"], call["args"]) for call in got.tool_calls] == [("weather", {"city": "Oslo"})]
    assert got.usage_metadata == {"input_tokens": 40, "output_tokens": 7, "total_tokens": 47}
    assert got.additional_kwargs["reasoning_content"] == "Oslo?"
    assert got.response_metadata["done_reason"] == "stop"
    assert "weather" in seen[0].tools
