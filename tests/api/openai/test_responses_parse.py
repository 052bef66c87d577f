"""Bodies of ``/v1/responses`` as people's clients send them, what is refused by name, and what is kept."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings

from tacid.api.openai.responses import ResponsesWire
from tacid.api.openai.responses_store import ResponseStore, Shelf
from tacid.api.request import About, ChatRequest, Limits
from tacid.catalogue import AUTO, Choice
from tacid.chat import Completion, Message, Say, SayDelta, Think, Truncated
from tacid.errors import InputError, RequestError
from tacid.turn.request import MAX_CALLS
from tests.api.replies import JSON, bodies, call, result

TOOL = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
OTHER = {"type": "function", "name": "now", "parameters": None}


@pytest.fixture
def shelf() -> Shelf:
    return ResponseStore().shelf("a")


def parse(**body: Any) -> ChatRequest:
    return ResponsesWire(ResponseStore().shelf("a")).parse({"model": "m", "input": "hi", **body}, Limits())


def answer(shelf: Shelf, identity: str, *done: Completion, **body: Any) -> dict[str, Any]:
    """A response, given and kept."""
    wire = ResponsesWire(shelf)
    return wire.whole(wire.parse({"input": "hi", **body}, Limits()), About(identity, 1, "m"), result(*done))


def test_the_plain_request() -> None:
    request = parse(
        instructions="Be brief.",
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=9,
        stream=True,
        include=["reasoning.encrypted_content"],
    )
    assert request.messages == (Message("system", "Be brief."), Message("user", "hi"))
    assert (request.max_tokens, request.stream, request.choice, request.max_calls) == (9, True, AUTO, 1)
    assert (request.sampling.temperature, request.sampling.top_p) == (0.5, 0.9)


def test_items_of_every_kind() -> None:
    messages = parse(
        input=[
            {"role": "developer", "content": "Be kind."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain"}, {"type": "input_text", "text": "?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
            {"type": "function_call", "call_id": "call_1", "id": "fc_1", "name": "weather", "arguments": '{"city":"Oslo"}'},
            {"type": "reasoning", "id": "rs_2", "summary": []},
            {"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
            {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "noon"}]},
        ]
    ).messages  # fmt: skip
    assert [message.role for message in messages] == ["system", "user", "assistant", "assistant", "tool", "tool"]
    assert (messages[1].content, messages[2].content) == ("Rain\n?", "I look.")
    # The words stand for themselves, as a message that holds calls too may lose them.
    assert [(one.name, one.id, one.arguments) for one in messages[3].calls] == [
        ("weather", "call_1", {"city": "Oslo"}),
        ("now", "call_2", {}),
    ]
    assert messages[5] == Message("tool", "noon", call_id="call_2")


@pytest.mark.parametrize(
    ("choice", "expected", "tools"),
    [
        ("none", Choice("none"), ["weather", "now"]),
        ("auto", AUTO, ["weather", "now"]),
        ("required", Choice("required"), ["weather", "now"]),
        ({"type": "function", "name": "now"}, Choice("named", "now"), ["weather", "now"]),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "now"}]},
            Choice("required"),
            ["now"],
        ),
    ],
)
def test_tool_choice(choice: Any, expected: Choice, tools: list[str]) -> None:
    request = parse(tools=[TOOL, OTHER], tool_choice=choice)
    assert request.choice == expected
    assert [tool.name for tool in request.tools] == tools
    assert request.extra["echo"]["tool_choice"] == choice


def test_several_calls_where_they_are_asked_for() -> None:
    assert parse(tools=[TOOL], parallel_tool_calls=True).max_calls == MAX_CALLS
    assert parse(tools=[TOOL]).max_calls == 1
    assert parse(tools=[TOOL]).extra["echo"]["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "json_schema", "name": "a", "schema": {"type": "array"}, "strict": True}, {"type": "array"}),
        (None, None),
    ],
)
def test_the_format_of_the_answer(form: Any, expected: Any) -> None:
    assert parse(text={"format": form, "verbosity": "low"}).answer == expected


@pytest.mark.parametrize(
    ("effort", "think"), [("none", False), ("minimal", False), ("low", True), ("xhigh", True), (None, None)]
)
def test_effort(effort: str | None, think: bool | None) -> None:
    assert parse(reasoning={"effort": effort, "summary": "auto"}).think is think


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": [7]}, "input[0]"),
        ({"input": ["a"]}, "input[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type"),
        ({"input": [{"type": {}}]}, "input[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"id": "msg_1"}]}, "input[0].id"),
        ({"input": [{}]}, "input[0].id"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "custom", "name": "a"}]}, "tools[0].type"),
        ({"tools": [TOOL], "tool_choice": {"type": "web_search"}}, "tool_choice.type"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "b"}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "schema": []}}}, "text.format.schema"),
        ({"reasoning": {"effort": "extreme"}}, "reasoning.effort"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": 10**9}, "max_output_tokens"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"store": "no"}, "store"),
        ({"previous_response_id": 7}, "previous_response_id"),
    ],
)  # fmt: skip
def test_what_can_not_be_honoured_is_refused_by_name(body: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(**body)
    assert caught.value.param == param
    assert param.partition("[")[0].partition(".")[0].removesuffix("s") in str(caught.value)


def test_the_next_request_begins_where_the_response_ended(shelf: Shelf) -> None:
    first = answer(shelf, "1", Think("Hm."), call("weather", {"city": "Oslo"}), instructions="Once.", tools=[TOOL])
    output = {"type": "function_call_output", "call_id": "call_0001", "output": "rain"}
    second = answer(shelf, "2", Say("It rains."), input=[output], previous_response_id=first["id"])
    assert second["previous_response_id"] == "resp_1"
    third = ResponsesWire(shelf).parse(
        {"input": "Sure?", "instructions": "Now.", "previous_response_id": "resp_2"}, Limits()
    )
    # Instructions hold for one response only.
    assert [(m.role, m.content) for m in third.messages] == [
        ("system", "Now."), ("user", "hi"), ("assistant", ""), ("tool", "rain"), ("assistant", "It rains."), ("user", "Sure?"),
    ]  # fmt: skip
    assert third.messages[2].calls[0].id == third.messages[3].call_id == "call_0001"


def test_items_may_be_referred_to(shelf: Shelf) -> None:
    thought, made = answer(shelf, "1", Think("Hm."), call("weather", {"city": "Oslo"}))["output"]
    said = answer(shelf, "2", Say("Yes."))["output"][0]
    references = [{"type": "item_reference", "id": item["id"]} for item in (thought, made)] + [{"id": said["id"]}]
    messages = ResponsesWire(shelf).parse({"input": references}, Limits()).messages
    assert messages[0].calls[0].arguments == {"city": "Oslo"}
    assert messages[1] == Message("assistant", "Yes.")


def test_a_streamed_response_is_kept_before_its_last_event_leaves(shelf: Shelf) -> None:
    wire = ResponsesWire(shelf)
    encoder = wire.stream(wire.parse({"input": "hi", "stream": True}, Limits()), About("1", 1, "m"))
    encoder.event(SayDelta("Yes."))
    encoder.event(Say("Yes."))
    assert shelf.find("resp_1") is None
    last = encoder.event(result(Say("Yes.")))
    assert json.loads(last.partition(b"data: ")[2])["response"] == shelf.body("resp_1")


def test_what_is_not_to_be_stored_is_not(shelf: Shelf) -> None:
    answer(shelf, "1", Say("Yes."), store=False)
    assert shelf.find("resp_1") is None
    assert answer(shelf, "2", Say("Yes."))["store"] is True


def test_a_call_cut_off_is_not_part_of_the_conversation(shelf: Shelf) -> None:
    answer(shelf, "1", Truncated("{", "weather"))
    kept = shelf.find("resp_1")
    assert kept is not None
    assert kept.messages == (Message("user", "hi"),)


def test_a_response_that_is_not_there_has_its_code(shelf: Shelf) -> None:
    with pytest.raises(RequestError, match="resp_9") as caught:
        ResponsesWire(shelf).parse({"input": "hi", "previous_response_id": "resp_9"}, Limits())
    assert caught.value.code == "previous_response_not_found"


def test_a_conversation_has_a_limit_however_it_grew(shelf: Shelf) -> None:
    answer(shelf, "1", Say("Yes."))
    with pytest.raises(RequestError, match="the limit is 2"):
        ResponsesWire(shelf).parse({"input": "hi", "previous_response_id": "resp_1"}, Limits(messages=2))


SHAPE: dict[str, list[Any]] = {
    "input": ["hi", [{"role": "user", "content": "x"}], [{"type": "function_call", "name": 1}, {"type": "function_call_output"}]],
    "instructions": ["s", [{"type": "input_text", "text": "s"}]],
    "tools": [[TOOL], [{"type": "mcp"}], [None], [{"function": {"name": "a"}, "name": 7}], [TOOL, OTHER], {}],
    "tool_choice": ["required", {"type": "allowed_tools", "tools": [7]}, {"type": "function", "name": []}],
    "text": [{"format": {"type": "json_schema", "schema": {}}}, {"format": {"type": []}}],
    "reasoning": [{"effort": "low"}, {"effort": 1}],
    "max_output_tokens": [9, 1e400],
    "metadata": [{"a": "b"}, {"a": None}],
    "parallel_tool_calls": [True],
    "previous_response_id": ["resp_1", "resp_9"],
    "include": [["message.output_text.logprobs"]],
    "store": [False],
    "user": ["u"],
}  # fmt: skip


@settings(deadline=None)
@given(bodies(SHAPE))
def test_any_body_is_read_or_refused_and_what_is_read_makes_a_response(given: dict[str, Any]) -> None:
    shelf = ResponseStore().shelf("a")
    answer(shelf, "1", Say("Yes."))
    wire = ResponsesWire(shelf)
    with contextlib.suppress(InputError):
        request = wire.parse(given, Limits())
        body = wire.whole(request, About("2", 1, "m"), result(Say("a")))
        with contextlib.suppress(ImportError):
            from openai.types.responses import Response

            Response.model_validate(body, strict=True)
        assert (shelf.body("resp_2") == body) is request.extra["store"]


@given(JSON)
def test_any_item_is_read_or_refused(item: Any) -> None:
    for entry in (
        item,
        {"role": "user", "content": item},
        {"type": "function_call_output", "output": item},
        {"type": item},
    ):
        with contextlib.suppress(InputError):
            parse(input=[entry])
