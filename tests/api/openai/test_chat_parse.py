"""What of a request is read, what is refused with its field's name, and what a past conversation may look like."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacid.api.openai.chat_parse import parse_chat
from tacid.api.request import ChatRequest, Limits
from tacid.catalogue import AUTO, Choice
from tacid.chat import Call, Message, Sampling
from tacid.errors import InputError, RequestError
from tacid.turn.request import MAX_CALLS

USER = {"role": "user", "content": "weather in Oslo?"}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **more}}


TOOLS = [tool("weather"), tool("add")]
SCHEMA = {"type": "object", "properties": {"t": {"type": "integer"}}}


def parse(**body: Any) -> ChatRequest:
    return parse_chat({"messages": [USER], **body}, Limits())


def refused(**body: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse(**body)
    assert str(caught.value).endswith(".")
    return caught.value


def history(*messages: dict[str, Any]) -> list[Message]:
    return list(parse(messages=[*messages, USER]).messages[:-1])


# Line 6: what is accepted


def test_a_plain_chat_leaves_everything_to_the_server() -> None:
    assert parse() == ChatRequest(None, (Message("user", "weather in Oslo?"),))


def test_null_is_the_same_as_absent() -> None:
    keys = (
        "model tools tool_choice parallel_tool_calls response_format stop seed temperature top_p top_k min_p n stream "
        "stream_options max_tokens max_completion_tokens presence_penalty frequency_penalty repeat_penalty logit_bias "
        "logprobs top_logprobs audio modalities grammar json_schema reasoning_effort think chat_template_kwargs "
        "functions function_call store user metadata service_tier"
    )
    assert parse(**dict.fromkeys(keys.split())) == parse()


def test_fields_that_nobody_knows_and_those_that_change_nothing_are_ignored() -> None:
    known = {"store": True, "user": "u", "metadata": {"a": "b"}, "service_tier": "auto", "prediction": {"x": 1}}
    assert parse(**known, whatever=[1], logprobs=False, top_logprobs=0, modalities=["text"]) == parse()


def test_sampling_is_read() -> None:
    asked = parse(
        model="m", temperature=0, top_p=0.5, top_k=40, min_p=0.1, presence_penalty=-2, frequency_penalty=2,
        repeat_penalty=1.1, seed=-7, stop=["a", "b"], max_tokens=5, stream=True,
        stream_options={"include_usage": True}, n=1, logit_bias={"12": -100, " yes": 5},
    )  # fmt: skip
    assert asked.sampling == Sampling(
        0, 0.5, 40, 0.1, -2, 2, 1.1, -7, stop=("a", "b"), logit_bias=((12, -100), (" yes", 5))
    )
    assert (asked.model, asked.max_tokens, asked.stream, asked.include_usage) == ("m", 5, True, True)


def test_stop_is_a_text_or_up_to_sixteen() -> None:
    assert parse(stop="END").sampling.stop == ("END",)
    assert parse(stop=["", "END"]).sampling.stop == ("END",)
    assert parse(stop=[]).sampling.stop == ()
    assert len(parse(stop=["x"] * 16).sampling.stop) == 16
    assert "16" in str(refused(stop=["x"] * 17))


def test_biases_in_llama_cpps_own_form() -> None:
    assert parse(logit_bias=[[12, 1.5], ["a", False]]).sampling.logit_bias == ((12, 1.5), ("a", -math.inf))
    assert parse(logit_bias=[]).sampling.logit_bias == ()


def test_the_newer_name_of_the_length_goes_first() -> None:
    assert parse(max_tokens=5, max_completion_tokens=7).max_tokens == 7
    assert parse(max_completion_tokens=7.0).max_tokens == 7


def test_roles() -> None:
    roles = ["system", "developer", "user", "assistant", "tool", "function"]
    found = history(*({"role": role, "content": role} for role in roles))
    assert [message.role for message in found] == ["system", "system", "user", "assistant", "tool", "tool"]
    assert [message.content for message in found] == roles


def test_content_as_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert history({"role": "user", "content": parts}) == [Message("user", "a\nb")]


@pytest.mark.parametrize(
    ("body", "think"),
    [
        ({}, None),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "minimal"}, False),
        ({"reasoning_effort": "low"}, True),
        ({"reasoning_effort": "high"}, True),
        ({"think": False}, False),
        ({"think": "high"}, True),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"chat_template_kwargs": {}}, None),
        ({"think": False, "reasoning_effort": "high"}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "none"}, True),
    ],
)
def test_thinking_is_turned_on_and_off(body: dict[str, Any], think: bool | None) -> None:
    assert parse(**body).think is think


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": {"type": "json_object"}}, {"type": "object"}),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, SCHEMA),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}}, SCHEMA),
        ({"response_format": {"type": "json_schema", "schema": SCHEMA}}, SCHEMA),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": True, "strict": True}}}, True),
        ({"json_schema": SCHEMA}, SCHEMA),
    ],
)
def test_the_answers_schema(given: dict[str, Any], answer: Any) -> None:
    assert parse(**given).answer == answer


def test_a_schema_for_the_answer_stands_beside_tools() -> None:
    asked = parse(tools=TOOLS, response_format={"type": "json_object"})
    assert asked.answer is not None
    assert len(asked.tools) == 2


def test_a_clients_own_grammar_is_taken_without_tools_only() -> None:
    assert parse(grammar='root ::= "a"').grammar == 'root ::= "a"'
    assert parse(grammar='root ::= "a"', tools=[]).grammar
    assert parse(grammar="", tools=TOOLS).grammar is None
    assert refused(grammar='root ::= "a"', tools=TOOLS).param == "grammar"
    assert refused(json_schema=SCHEMA, tools=TOOLS).param == "json_schema"
    assert refused(grammar='root ::= "a"', response_format={"type": "json_object"}).param == "grammar"
    assert refused(json_schema=SCHEMA, response_format={"type": "json_object"}).param == "json_schema"


# Tools and the choice of them


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools_are_a_plain_chat(tools: Any) -> None:
    for choice in (None, "auto", "none"):
        assert not parse(tools=tools, tool_choice=choice).tools


def test_tools_with_and_without_strict_are_the_same() -> None:
    names = ["s", "t"]
    for strict in (True, False, None):
        assert [one.name for one in parse(tools=[tool(name, strict=strict) for name in names]).tools] == names


@pytest.mark.parametrize(
    ("wanted", "choice"),
    [
        (None, AUTO),
        ("auto", AUTO),
        ("none", Choice("none")),
        ("required", Choice("required")),
        ("any", Choice("required")),
        ({"type": "auto"}, AUTO),
        ({"type": "function", "function": {"name": "add"}}, Choice("named", "add")),
        ({"type": "function", "name": "add"}, Choice("named", "add")),
    ],
)
def test_the_choice(wanted: Any, choice: Choice) -> None:
    asked = parse(tools=TOOLS, tool_choice=wanted)
    assert asked.choice == choice
    assert len(asked.tools) == 2


def allowed(mode: Any, *names: str) -> dict[str, Any]:
    entries = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": entries}}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_cut_the_catalogue_down(mode: Any) -> None:
    asked = parse(tools=[*TOOLS, tool("third")], tool_choice=allowed(mode, "third", "weather"))
    assert [one.name for one in asked.tools] == ["weather", "third"]
    assert asked.choice == Choice(mode)
    assert asked.extra["allowed_tools"] == ("weather", "third")


def test_allowed_tools_in_the_flat_form() -> None:
    wanted = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "add"}]}
    assert [one.name for one in parse(tools=TOOLS, tool_choice=wanted).tools] == ["add"]


@pytest.mark.parametrize(("parallel", "most"), [(None, 1), (False, 1), (True, MAX_CALLS)])
def test_several_calls_only_where_asked_for(parallel: Any, most: int) -> None:
    assert parse(tools=TOOLS, parallel_tool_calls=parallel).max_calls == most
    assert MAX_CALLS == 8


@pytest.mark.parametrize(
    ("wanted", "choice"),
    [(None, AUTO), ("auto", AUTO), ("none", Choice("none")), ({"name": "add"}, Choice("named", "add"))],
)
def test_the_older_functions(wanted: Any, choice: Choice) -> None:
    asked = parse(functions=[{"name": "weather"}, {"name": "add", "parameters": {}}], function_call=wanted)
    assert [one.name for one in asked.tools] == ["weather", "add"]
    assert (asked.choice, asked.legacy, asked.max_calls) == (choice, True, 1)


def test_beside_tools_the_older_functions_are_not_read() -> None:
    asked = parse(tools=TOOLS, functions=[{"name": "x"}], function_call={"name": "x"})
    assert (len(asked.tools), asked.legacy, asked.choice) == (2, False, AUTO)


# What can't be honoured


@pytest.mark.parametrize(
    ("body", "param", "named"),
    [
        ({"messages": None}, "messages", "missing"),
        ({"messages": []}, "messages", "empty"),
        ({"messages": "x"}, "messages", "text"),
        ({"messages": [USER, 3]}, "messages[1]", "number"),
        ({"messages": [USER, {"content": "x"}]}, "messages[1].role", "no role"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role", "wizard"),
        ({"messages": [{"role": ["user"]}]}, "messages[0].role", "user"),
        ({"messages": [USER, USER, USER, {"role": "user", "content": 5}]}, "messages[3].content", "number"),
        ({"messages": [{"role": "user", "content": "\ud83d"}]}, "messages[0].content", "surrogate"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}]},
            "messages[0].content[1]",
            "image_url",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "messages[0].content[0]",
            "input_audio",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "messages[0].content[0]", "file"),
        ({"model": 3}, "model", "number"),
        ({"tools": {}}, "tools", "object"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type", "custom"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "web_search"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0]", "name"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "tools", "weather"),
        ({"tools": TOOLS, "tool_choice": "maybe"}, "tool_choice", "maybe"),
        ({"tools": TOOLS, "tool_choice": 3}, "tool_choice", "number"),
        ({"tools": TOOLS, "tool_choice": {"type": "custom"}}, "tool_choice.type", "custom"),
        ({"tools": TOOLS, "tool_choice": {"type": ["auto"]}}, "tool_choice.type", "auto"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "gone"}}}, "tool_choice", "gone"),
        ({"tools": TOOLS, "tool_choice": {"type": "function"}}, "tool_choice", "names no function"),
        ({"tool_choice": "required"}, "tool_choice", "offered"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice", "offered"),
        ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice", "x"),
        ({"tools": TOOLS, "tool_choice": allowed("auto", "gone")}, "tool_choice.allowed_tools.tools[0]", "gone"),
        ({"tools": TOOLS, "tool_choice": allowed("none")}, "tool_choice.allowed_tools.mode", "none"),
        ({"tools": TOOLS, "tool_choice": allowed("required")}, "tool_choice", "offered"),
        ({"tools": TOOLS, "tool_choice": {"type": "allowed_tools"}}, "tool_choice.allowed_tools.tools", "null"),
        ({"functions": [{"name": "a"}], "function_call": {"name": "b"}}, "function_call", "b"),
        ({"functions": "x"}, "functions", "text"),
        ({"tools": TOOLS, "parallel_tool_calls": 1}, "parallel_tool_calls", "number"),
        ({"response_format": "json"}, "response_format", "text"),
        ({"response_format": {"type": "grammar"}}, "response_format.type", "grammar"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema", "schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "r"}}},
            "response_format.json_schema.schema",
            "schema",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": [1]}}},
            "response_format.json_schema.schema",
            "list",
        ),
        ({"json_schema": "x"}, "json_schema", "text"),
        ({"temperature": -0.1}, "temperature", "least is 0"),
        ({"temperature": "hot"}, "temperature", "text"),
        ({"top_p": 1.1}, "top_p", "most is 1"),
        ({"top_k": -2}, "top_k", "least is -1"),
        ({"top_k": 2**31}, "top_k", "most"),
        ({"presence_penalty": 3}, "presence_penalty", "most is 2"),
        ({"seed": 1.5}, "seed", "whole"),
        ({"stop": 3}, "stop", "number"),
        ({"logit_bias": {"-1": 1}}, "logit_bias", "-1"),
        ({"logit_bias": {"5": 200}}, 'logit_bias["5"].bias', "most is 100"),
        ({"logit_bias": [1]}, "logit_bias", "pair"),
        ({"logit_bias": [[True, 1]]}, "logit_bias", "boolean"),
        ({"max_tokens": 0}, "max_tokens", "least is 1"),
        ({"max_tokens": -1}, "max_tokens", "least is 1"),
        ({"max_tokens": 131_073}, "max_tokens", "131,072"),
        ({"max_completion_tokens": 10**9}, "max_completion_tokens", "131,072"),
        ({"n": 2}, "n", "more than 1"),
        ({"n": 0}, "n", "least is 1"),
        ({"stream": "yes"}, "stream", "text"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage", "number"),
        ({"logprobs": True}, "logprobs", "logprobs"),
        ({"top_logprobs": 2}, "top_logprobs", "top_logprobs"),
        ({"audio": {"voice": "x"}}, "audio", "text"),
        ({"modalities": ["text", "audio"]}, "modalities", "audio"),
        ({"grammar": 3}, "grammar", "number"),
        ({"chat_template_kwargs": {"enable_thinking": "no"}}, "chat_template_kwargs.enable_thinking", "text"),
        ({"reasoning_effort": 3}, "reasoning_effort", "number"),
    ],
)
def test_what_can_not_be_honoured_is_said_with_its_field(body: dict[str, Any], param: str, named: str) -> None:
    error = refused(**body)
    assert error.param == param
    assert named in str(error)


def test_limits_are_named() -> None:
    small = Limits(messages=1, tools=1, schema_bytes=60, nesting=3, tokens=4)
    wide = {"description": "x" * 60}
    deep = {"a": {"a": {"a": {}}}}
    for body, named in (
        ({"messages": [USER, USER]}, "limit is 1"),
        ({"tools": TOOLS}, "limit is 1"),
        ({"tools": [tool("a", parameters=wide)]}, "limit is 60"),
        ({"tools": [tool("a", parameters=deep)]}, "3 levels"),
        ({"response_format": {"type": "json_object", "schema": wide}}, "limit is 60"),
        ({"response_format": {"type": "json_object", "schema": deep}}, "3 levels"),
        ({"max_tokens": 5}, "limit is 4"),
    ):
        with pytest.raises(RequestError, match=named):
            parse_chat({"messages": [USER], **body}, small)


# Line 7: history as found in the wild


def made(arguments: Any, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}, **more}


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_history_null_content(content: dict[str, Any]) -> None:
    call = Call("weather", {"city": "Oslo"}, '{"city":"Oslo"}', "c1")
    entry = {"role": "assistant", "tool_calls": [made('{"city":"Oslo"}')], **content}
    assert history(entry) == [Message("assistant", calls=(call,))]


@pytest.mark.parametrize(
    ("arguments", "read"),
    [({"city": "Oslo"}, {"city": "Oslo"}), ('{"city":"Os', {}), (None, {}), ("", {}), (7, {}), ("[1]", {})],
)
def test_history_arguments_as_object_or_broken(arguments: Any, read: dict[str, Any]) -> None:
    (message,) = history({"role": "assistant", "tool_calls": [made(arguments)]})
    assert message.calls[0].arguments == read


def test_history_orphans_tools_that_are_gone_and_repeated_ids() -> None:
    found = history(
        {"role": "tool", "tool_call_id": "nope", "content": "stray"},
        {"role": "assistant", "tool_calls": [made("{}", id=None)]},
        {"role": "tool", "tool_call_id": None, "content": None},
        {"role": "assistant", "tool_calls": [made("{}"), made("{}")]},
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain"},
    )
    assert [message.call_id for message in found] == ["nope", None, None, None, "c1"]
    assert [[call.id for call in message.calls] for message in found] == [[], [None], [], ["c1", "c1"], []]
    assert found[-1].name == "weather"


def test_history_of_the_older_form() -> None:
    found = history(
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a":1}'}},
        {"role": "function", "name": "add", "content": "3"},
    )
    assert found == [
        Message("assistant", calls=(Call("add", {"a": 1}, '{"a":1}'),)),
        Message("tool", "3", name="add"),
    ]


@pytest.mark.parametrize(
    "calls",
    ["x", {}, [None], ["x"], [[]], 3, [{"function": None, "type": ["x"]}], [{"id": 3, "function": {"name": 4}}]],
)
def test_a_malformed_past_call_poisons_nothing(calls: Any) -> None:
    (message,) = history({"role": "assistant", "content": "a", "tool_calls": calls, "function_call": "x"})
    assert message.content == "a"
    assert all(call.name for call in message.calls)


def test_a_past_custom_call_is_kept() -> None:
    entry = {"id": "c", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    assert history({"role": "assistant", "tool_calls": [entry]})[0].calls == (Call("shell", {}, "ls", "c"),)


def test_past_thoughts_are_dropped() -> None:
    entry = {"role": "assistant", "content": "a", "reasoning_content": "hm", "reasoning": "hm"}
    assert history(entry) == [Message("assistant", "a")]


# Any body

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "model",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "stop",
    "seed",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "n",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "repeat_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "audio",
    "modalities",
    "grammar",
    "json_schema",
    "reasoning_effort",
    "think",
    "chat_template_kwargs",
    "functions",
    "function_call",
    "web_search_options",
]
WORDS = st.sampled_from(
    [
        "function",
        "auto",
        "none",
        "required",
        "allowed_tools",
        "text",
        "json_object",
        "json_schema",
        "weather",
        "add",
        "user",
        "assistant",
        "tool",
    ]
)
FIELDS = st.sampled_from(
    [
        "type",
        "name",
        "function",
        "arguments",
        "id",
        "role",
        "content",
        "tool_calls",
        "function_call",
        "schema",
        "json_schema",
        "mode",
        "tools",
        "parameters",
        "allowed_tools",
        "text",
        "tool_call_id",
    ]
)
NEAR = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, "{", "{}", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, NEAR)),
    st.lists(st.dictionaries(FIELDS, NEAR, max_size=4) | st.just(USER), max_size=3) | NEAR | JSON,
)
def test_no_body_raises_anything_but_an_error_that_names_its_field(body: dict[str, Any], messages: Any) -> None:
    for given_tools in ({}, {"tools": TOOLS}):
        try:
            asked = parse_chat({**body, "messages": messages, **given_tools}, Limits())
        except InputError as error:
            assert isinstance(error, RequestError)
            assert error.param
        else:
            assert asked.messages
            assert asked.choice.name is None or asked.choice.name in asked.tools
