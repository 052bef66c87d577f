"""Requests of ``/api/chat`` and ``/api/generate``: what is read, what is refused by name, what is ignored."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.ollama import CHAT, GENERATE, is_raw, parse_raw
from tacid.api.request import ChatRequest, CompletionRequest, Limits
from tacid.catalogue import AUTO
from tacid.chat import Call, Message, Sampling
from tacid.errors import RequestError

HELLO = [{"role": "user", "content": "hello"}]
LIMITS = Limits()
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def chat(**body: Any) -> ChatRequest:
    return CHAT.parse({"model": "m", "messages": HELLO, **body}, LIMITS)


def generate(**body: Any) -> ChatRequest:
    return GENERATE.parse({"model": "m", "prompt": "hello", **body}, LIMITS)


def raw(**body: Any) -> CompletionRequest:
    return parse_raw({"model": "m", "prompt": "hello", "raw": True, **body}, LIMITS)


def refused(read: Any, **body: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read(**body)
    assert caught.value.param
    assert caught.value.param.split(".")[0].split("[")[0] in str(caught.value)
    return caught.value


@pytest.mark.parametrize("read", [chat, generate])
def test_a_plain_request_streams_and_leaves_all_else_open(read: Any) -> None:
    request = read()
    assert request == ChatRequest("m", (Message("user", "hello"),), stream=True)
    assert request.choice == AUTO
    assert read(stream=None).stream
    assert not read(stream=False).stream


@pytest.mark.parametrize("read", [chat, generate])
@pytest.mark.parametrize("model", [None, "", "  ", 7])
def test_a_model_must_be_named(read: Any, model: Any) -> None:
    assert refused(read, model=model).param == "model"


def test_the_name_of_the_model_is_left_as_it_is() -> None:
    assert chat(model="SmolLM2:latest").model == "SmolLM2:latest"


def test_a_whole_conversation_is_read() -> None:
    request = chat(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "weather in Oslo?"},
            {
                "role": "assistant",
                "thinking": "Let me see.",
                "tool_calls": [{"id": "call_1", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}],
            },
            {"role": "tool", "content": "12 °C", "tool_name": "weather", "tool_call_id": "call_1"},
            {"role": "assistant", "content": "12 degrees."},
        ],
        tools=[TOOL],
    )
    assert request.messages == (
        Message("system", "Be brief."),
        Message("user", "weather in Oslo?"),
        Message("assistant", calls=(Call("weather", {"city": "Oslo"}, '{"city":"Oslo"}', "call_1"),)),
        Message("tool", "12 °C", name="weather", call_id="call_1"),
        Message("assistant", "12 degrees."),
    )
    assert request.tools["weather"].description == "Weather."
    assert request.max_calls == 1


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"function": {"name": "f", "arguments": '{"a":1}'}}, Call("f", {"a": 1}, '{"a":1}')),
        ({"function": {"name": "f", "arguments": '{"a":'}}, Call("f", {}, '{"a":')),
        ({"function": {"name": "f"}}, Call("f", {})),
        ({"function": {}}, Call("unknown", {})),
        ("nonsense", None),
        ({"function": "f"}, None),
    ],
)
def test_one_broken_call_of_the_past_spoils_nothing(entry: Any, expected: Call | None) -> None:
    request = chat(messages=[{"role": "assistant", "content": None, "tool_calls": [entry]}, *HELLO])
    assert request.messages[0].calls == (() if expected is None else (expected,))


def test_results_without_a_call_and_the_older_name_are_read() -> None:
    request = chat(messages=[{"role": "tool", "content": "x"}, {"role": "tool", "content": "y", "name": "f"}])
    assert request.messages == (Message("tool", "x"), Message("tool", "y", name="f"))


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"content": "x"}, "messages[1].role"),
        ({"role": "robot", "content": "x"}, "messages[1].role"),
        ({"role": ["user"], "content": "x"}, "messages[1].role"),
        ({"role": "user", "content": 7}, "messages[1].content"),
        ({"role": "user", "content": "\ud800"}, "messages[1].content"),
        ({"role": "user", "content": "x", "images": ["aGk="]}, "messages[1].images"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "messages[1].content[0]"),
        ("x", "messages[1]"),
    ],
)
def test_a_message_that_cant_be_read_is_named(message: Any, param: str) -> None:
    assert refused(chat, messages=[*HELLO, message]).param == param


def test_an_empty_list_of_images_is_none() -> None:
    assert chat(messages=[{"role": "user", "content": "x", "images": []}]).messages == (Message("user", "x"),)
    assert generate(images=[]).messages == (Message("user", "hello"),)


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools_are_no_tools(tools: Any) -> None:
    assert len(chat(tools=tools).tools) == 0


def test_a_tool_that_cant_be_read_is_named() -> None:
    assert refused(chat, tools=[{"type": "function", "function": {}}]).param == "tools[0]"
    with pytest.raises(RequestError, match=r"both called .weather.") as caught:
        chat(tools=[TOOL, TOOL])
    assert caught.value.param == "tools"


OPTIONS = {
    "temperature": 0,
    "seed": 42.0,
    "num_predict": 64,
    "stop": ["\n", ""],
    "top_p": 0.5,
    "top_k": 10,
    "min_p": 0.1,
    "repeat_penalty": 1.1,
    "presence_penalty": 0.2,
    "frequency_penalty": 0.3,
    "num_ctx": 4096,
    "num_gpu": 1,
    "mirostat": 0,
    "of_tomorrow": {"x": 1},
    "typical_p": None,
}


@pytest.mark.parametrize("read", [chat, generate])
def test_options_are_honoured_and_unknown_ones_ignored(read: Any) -> None:
    request = read(options=OPTIONS)
    assert request.sampling == Sampling(
        temperature=0,
        top_p=0.5,
        top_k=10,
        min_p=0.1,
        presence_penalty=0.2,
        frequency_penalty=0.3,
        repeat_penalty=1.1,
        seed=42,
        stop=("\n",),
    )
    assert request.max_tokens == 64
    assert request.extra == {"num_ctx": 4096}


@pytest.mark.parametrize("count", [-2, -1, 0, None])
def test_a_length_without_limit_is_left_to_the_server(count: Any) -> None:
    assert chat(options={"num_predict": count}).max_tokens is None


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": "hot"},
        {"temperature": -1},
        {"temperature": True},
        {"seed": 1.5},
        {"num_predict": "many"},
        {"num_predict": LIMITS.tokens + 1},
        {"stop": [7]},
        {"top_p": 1.5},
        {"num_ctx": -1},
    ],
)
def test_an_option_that_cant_be_used_is_named(options: dict[str, Any]) -> None:
    assert str(refused(chat, options=options).param).startswith(f"options.{next(iter(options))}")


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize("read", [chat, generate])
@pytest.mark.parametrize(
    ("given_format", "answer"), [(None, None), ("", None), ("json", {"type": "object"}), (SCHEMA, SCHEMA), ({}, {})]
)
def test_format_is_a_schema_of_the_answer(read: Any, given_format: Any, answer: Any) -> None:
    assert read(format=given_format).answer == answer


def test_format_and_tools_are_both_kept() -> None:
    request = chat(format=SCHEMA, tools=[TOOL])
    assert request.answer == SCHEMA
    assert "weather" in request.tools


def test_a_format_that_is_none_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(LIMITS.nesting + 1):
        deep = {"items": deep}
    for value in ("yaml", 7, True, ["json"], deep, {"description": "x" * LIMITS.schema_bytes}):
        assert refused(chat, format=value).param == "format"


@pytest.mark.parametrize(
    ("value", "think", "effort"),
    [(None, None, None), ("", None, None), (True, True, None), (False, False, None), ("low", True, "low")],
)
def test_thinking_is_on_off_or_as_the_model_is(value: Any, think: bool | None, effort: str | None) -> None:
    request = chat(think=value)
    assert request.think is think
    assert request.extra.get("effort") == effort


@pytest.mark.parametrize("value", ["yes", 1, [], {}])
def test_any_other_thinking_is_refused(value: Any) -> None:
    assert refused(chat, think=value).param == "think"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (-1, math.inf),
        (10**400, math.inf),
        (1.5, 1.5),
        ("0", 0.0),
        ("300", 300.0),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("-1s", math.inf),
        ("-1", math.inf),
        ("500ms", 0.5),
        (None, None),
        ("", None),
    ],
)
def test_keep_alive_is_seconds_in_any_form(value: Any, seconds: float | None) -> None:
    assert chat(keep_alive=value).extra.get("keep_alive") == seconds


@pytest.mark.parametrize("value", ["soon", "5 minutes", "5x", True, [], {}, float("nan"), "٣m", "1" * 100])
def test_a_keep_alive_that_is_no_time_is_refused(value: Any) -> None:
    assert refused(chat, keep_alive=value).param == "keep_alive"


@pytest.mark.parametrize("body", [{"messages": []}, {"messages": None}])
def test_no_messages_load_the_model_and_with_no_time_to_stay_let_it_go(body: dict[str, Any]) -> None:
    assert chat(**body).extra == {"load": True}
    assert chat(**body, keep_alive="10m").extra == {"load": True, "keep_alive": 600.0}
    assert chat(**body, keep_alive=0).extra == {"load": True, "unload": True, "keep_alive": 0.0}
    assert chat(keep_alive=0).extra == {"keep_alive": 0.0}


@pytest.mark.parametrize("prompt", ["", None])
def test_no_prompt_loads_the_model(prompt: Any) -> None:
    assert generate(prompt=prompt).extra == {"load": True}
    assert generate(prompt=prompt, keep_alive="0s").extra["unload"]


def test_a_system_text_stands_before_the_prompt() -> None:
    assert generate(system="Be brief.").messages == (Message("system", "Be brief."), Message("user", "hello"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("template", "{{ .Prompt }}"), ("suffix", "}"), ("context", [1, 2]), ("images", ["aGk="])],
)
@pytest.mark.parametrize("generate", [generate, raw])
def test_what_a_prompt_cant_have_here_is_refused_with_the_remedy(generate: Any, key: str, value: Any) -> None:
    error = refused(generate, **{key: value})
    assert (error.param, error.code) == (key, "unsupported")
    empty: dict[str, Any] = {key: type(value)()}
    assert generate(**empty) == generate()


def test_a_raw_prompt_is_continued_as_it_is() -> None:
    assert is_raw({"raw": True, "prompt": "x"})
    assert not is_raw({"raw": False, "prompt": "x"})
    assert not is_raw({"prompt": "x"})
    request = raw(prompt="<|im_start|>user", options={"num_predict": 5, "stop": "x"}, stream=False)
    assert request == CompletionRequest("m", "<|im_start|>user", Sampling(stop=("x",)), 5, stream=False)
    assert refused(raw, system="Be brief.").param == "system"
    assert refused(raw, format="json").param == "format"
    assert refused(generate, raw=True).param == "raw", "such a request is no conversation"
    assert refused(generate, raw="yes").param == "raw"
    assert generate(raw=True, prompt="").extra == {"load": True}


@pytest.mark.parametrize("read", [chat, generate, raw])
def test_likelihoods_are_refused_and_other_fields_ignored(read: Any) -> None:
    assert refused(read, logprobs=True).param == "logprobs"
    assert read(logprobs=False, truncate=True, shift=False, of_tomorrow=1) == read()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["json", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "messages", "tools", "format", "options", "stream", "think", "keep_alive", "prompt", "system", "raw", "suffix",
        "template", "context", "images", "logprobs",
    ]
)  # fmt: skip
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]) | JSON},
    optional={
        "content": JSON,
        "tool_calls": JSON
        | st.lists(st.fixed_dictionaries({}, optional={"id": JSON, "function": JSON | st.fixed_dictionaries({"name": JSON, "arguments": JSON})}), max_size=3),
        "tool_name": JSON,
        "images": JSON,
    },
)  # fmt: skip
BODIES = st.builds(
    lambda known, more, options, messages: {**more, **known, **options, **messages},
    st.fixed_dictionaries({"model": st.just("m") | JSON}),
    st.dictionaries(FIELDS, JSON, max_size=6),
    st.just({}) | st.builds(lambda given: {"options": given}, st.dictionaries(st.sampled_from(sorted(OPTIONS)), JSON)),
    st.just({}) | st.builds(lambda given: {"messages": given}, st.lists(MESSAGE, max_size=3)),
)


@settings(max_examples=200, deadline=None)
@given(BODIES)
def test_any_body_is_a_request_or_a_refusal(body: dict[str, Any]) -> None:
    for wire in (CHAT, GENERATE):
        try:
            request = wire.parse(body, LIMITS)
        except RequestError as error:
            assert str(error)
            assert error.param
        else:
            assert request.model
            asked = any(message.role != "system" for message in request.messages)
            assert wire is CHAT or bool(request.extra.get("load")) != asked
    with suppress(RequestError):
        parse_raw(body, LIMITS)
