"""One turn on each kind of endpoint: the same events, the same checks, the same completions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest

from tacid.catalogue import Catalogue, Choice, Tool
from tacid.chat import (
    Call,
    CallDelta,
    CallStart,
    Message,
    ReplyEvent,
    Sampling,
    Say,
    SayDelta,
    Think,
    ThinkDelta,
    Truncated,
)
from tacid.endpoints.chat_client import ChatClient
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.remote import RemoteEndpoint
from tacid.endpoints.tools import ToolsEndpoint
from tacid.engine.client import EngineClient
from tacid.errors import CallInvalid, EngineDied, GrammarRefused, RequestError
from tacid.prompt.families import CHATML, Thinking
from tacid.turn.full import run_full
from tacid.turn.remote import run_remote
from tacid.turn.request import TurnRequest, TurnResult
from tests.api.scripted import Scripted, scripted
from tests.endpoints.chat_server import ChatServer, chat_server

LIGHT = Tool(
    "light_set",
    "Switch a light.",
    {
        "type": "object",
        "properties": {"room": {"enum": ["hall", "attic"]}, "on": {"type": "boolean"}},
        "required": ["room", "on"],
        "additionalProperties": False,
    },
)
FACTS = Tool("facts_get", "What machine is this?")
ON = {"name": "light_set", "arguments": {"room": "hall", "on": True}}
OFF = {"name": "light_set", "arguments": {"room": "attic", "on": False}}

Server: TypeAlias = Scripted | ChatServer


@dataclass
class Kind:
    """One kind of endpoint with a scripted server behind it."""

    name: str
    server: Server
    run: Callable[[TurnRequest], Any]


@asynccontextmanager
async def kind_of(name: str) -> AsyncIterator[Kind]:
    if name == "local":
        with scripted(thinks=True) as engine:
            async with EngineClient(engine.url) as client:
                family = replace(CHATML, thinking=Thinking(CHATML.reply + "<think>\n"))
                endpoint = LocalEndpoint(client, family, "small")
                yield Kind(name, engine, lambda request: run_full(endpoint, request))
        return
    with chat_server(field="structured_outputs" if name == "tools" else None) as server:
        async with ChatClient(server.url, name="other", grammars=name == "tools") as client:
            other = ToolsEndpoint(client, "small") if name == "tools" else RemoteEndpoint(client, "small")
            yield Kind(name, server, lambda request: run_remote(other, request))


KINDS = ("local", "tools", "remote")


async def take(kind: Kind, *tools: Tool, **more: Any) -> tuple[list[ReplyEvent], TurnResult]:
    messages = more.pop("messages", (Message("system", "Be kind."), Message("user", "Light in the hall, please.")))
    more.setdefault("sampling", Sampling(temperature=0.0, max_tokens=200))
    events: list[ReplyEvent] = []
    result: TurnResult | None = None
    async for event in kind.run(TurnRequest(messages, Catalogue(tools), **more)):
        assert result is None
        if isinstance(event, TurnResult):
            result = event
        else:
            events.append(event)
    assert result is not None
    assert [e for e in events if isinstance(e, (Say, Call, Think, Truncated))] == list(result.completions)
    return events, result


def plain(result: TurnResult) -> list[Any]:
    """The completions without the ids, which are new each time."""
    return [replace(one, id=None) if isinstance(one, Call) else one for one in result.completions]


SCRIPTS: dict[str, tuple[list[Mapping[str, Any]], dict[str, Any]]] = {
    "a call": ([{"call": [ON]}], {}),
    "an answer": ([{"say": "It is dark.\n„Ja“ ✓"}], {}),
    "several calls": ([{"call": [ON, OFF]}], {"max_calls": 8}),
    "a thought and a call": ([{"think": "Dark, so on.", "call": [ON]}], {"think": 64}),
    "a stop text": ([{"say": "One. STOP Two."}], {"sampling": Sampling(max_tokens=200, stop=("STOP",))}),
    "a call that a check refuses once": (
        [{"call": [OFF]}, {"call": [ON]}],
        {"checks": {"light_set": lambda name, arguments: () if arguments["on"] else ('"/on": not off',)}},
    ),
    "a call refused twice, marked": (
        [{"call": [OFF]}, {"call": [OFF]}],
        {"checks": {"light_set": lambda name, arguments: ('"/on": not off',)}, "on_invalid": "mark"},
    ),
    "an answer under a schema": (
        [{"say": '{"n":3}'}],
        {
            "answer": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            }
        },
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_one_scripted_turn_gives_equal_completions_everywhere(name: str) -> None:
    script, more = SCRIPTS[name]
    results: dict[str, TurnResult] = {}
    shapes: dict[str, list[type[Any]]] = {}
    for one in KINDS:
        async with kind_of(one) as kind:
            kind.server.play(*script)
            events, results[one] = await take(kind, LIGHT, **more)
            shapes[one] = [type(e) for i, e in enumerate(events) if i == 0 or type(e) is not type(events[i - 1])]
            said = "".join(e.text for e in events if isinstance(e, SayDelta))
            assert said == "".join(done.text for done in results[one].completions if isinstance(done, Say))
    local = results["local"]
    for one in KINDS[1:]:
        assert plain(results[one]) == plain(local), one
        assert results[one].retries == local.retries
        assert results[one].problems == local.problems
        assert list(results[one].invalid.values()) == list(local.invalid.values())
        assert results[one].stop == local.stop
        assert shapes[one] == shapes["local"]


@pytest.fixture
def executed() -> dict[str, Any]:
    async def facts(call: Call) -> str:
        return '{"system":"NixOS"}'

    return {"facts_get": facts}


@pytest.mark.parametrize("name", KINDS)
async def test_calls_of_ours_are_hidden_hops(name: str, executed: dict[str, Any]) -> None:
    async with kind_of(name) as kind:
        kind.server.play({"call": [{"name": "facts_get", "arguments": {}}]}, {"say": "NixOS."})
        events, result = await take(kind, FACTS, LIGHT, execute=executed)
        assert result.hops == 1
        assert plain(result) == [Say("NixOS.")]
        assert not any(isinstance(event, (Call, CallStart)) for event in events)
        second = kind.server.sent[1]
        told = second.prompt if isinstance(kind.server, Scripted) else json.dumps(second.body["messages"])
        assert "NixOS" in told


@pytest.mark.parametrize("name", KINDS)
async def test_a_refused_call_is_told_with_its_reason_and_never_seen(name: str) -> None:
    checks = {"light_set": lambda _, arguments: () if arguments["on"] else ('"/on": not off today',)}
    async with kind_of(name) as kind:
        kind.server.play({"call": [OFF]}, {"call": [ON]})
        events, _ = await take(kind, LIGHT, checks=checks)
        assert sum(isinstance(event, CallStart) for event in events) == 1
        second = kind.server.sent[1]
        told = second.prompt if isinstance(kind.server, Scripted) else json.dumps(second.body["messages"])
        assert "not off today" in told


@pytest.fixture
async def remote() -> AsyncIterator[Kind]:
    async with kind_of("remote") as kind:
        yield kind


@pytest.fixture
async def tools() -> AsyncIterator[Kind]:
    async with kind_of("tools") as kind:
        yield kind


async def test_a_remote_gets_the_schemas_as_tools_and_neither_grammar_nor_catalogue(remote: Kind) -> None:
    remote.server.play({"call": [ON]})
    call = Call("facts_get", {}, id="call_x")
    history = (
        Message("system", "Be kind."),
        Message("user", "What is this?"),
        Message("assistant", "Let me see.", calls=(call,)),
        Message("tool", "NixOS", name="facts_get", call_id="call_x"),
        Message("user", "Light on."),
    )
    await take(remote, LIGHT, FACTS, messages=history, facts=("It is night.",), choice=Choice("required"))
    body = remote.server.sent[0].body
    assert isinstance(body, dict)
    assert [one["function"]["name"] for one in body["tools"]] == ["light_set", "facts_get"]
    assert body["tools"][0]["function"]["parameters"] == LIGHT.parameters
    assert body["tools"][0]["function"]["strict"] is True
    assert body["tool_choice"] == "required"
    assert body["parallel_tool_calls"] is False
    assert body["stream"] is True
    assert not {"grammar", "structured_outputs", "guided_grammar"} & set(body)
    assert [one["role"] for one in body["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert body["messages"][0]["content"].count("light_set") == 0
    assert "It is night." in body["messages"][0]["content"]
    assert body["messages"][2]["tool_calls"][0]["id"] == body["messages"][3]["tool_call_id"] == "call_x"


async def test_a_tools_endpoint_is_told_twice(tools: Kind) -> None:
    tools.server.play({"call": [ON]})
    await take(tools, LIGHT)
    assert isinstance(tools.server, ChatServer)
    body = tools.server.sent[0].body
    assert body["tools"][0]["function"]["parameters"] == LIGHT.parameters
    assert body["tool_choice"] == "none", "what holds is found out by trying"
    assert "root ::=" in body["structured_outputs"]["grammar"]
    system = body["messages"][0]["content"]
    assert '{"tool":' in system
    assert "Be kind." in system
    assert "<tools>" not in system, "the template shows them"
    assert [one["role"] for one in body["messages"]][-1] == "user"
    assert len(tools.server.tried) == 2


@pytest.mark.parametrize(
    ("settings", "habits"),
    [
        ({"field": "structured_outputs", "holds": (None, "none", "auto")}, ("structured_outputs", "none", True)),
        ({"field": "structured_outputs", "holds": (None, "auto")}, ("structured_outputs", "auto", True)),
        ({"field": "guided_grammar"}, ("guided_grammar", "none", True)),
        ({"field": "grammar", "shows": False}, ("grammar", "none", False)),
    ],
)
async def test_how_a_server_is_asked_is_found_out(settings: dict[str, Any], habits: tuple[str, str, bool]) -> None:
    with chat_server(**settings) as server:
        async with ChatClient(server.url, name="vllm", grammars=True) as client:
            endpoint = ToolsEndpoint(client, "small")
            found = await endpoint.learn()
            assert (found.field, found.choice, found.shows) == habits
            server.play({"call": [ON]})
            kind = Kind("tools", server, lambda request: run_remote(endpoint, request))
            await take(kind, LIGHT)
            shown = "<tools>" in server.sent[0].body["messages"][0]["content"]
            assert shown is not found.shows


async def test_a_server_that_holds_no_grammar_is_refused_with_what_was_tried() -> None:
    with chat_server() as server:
        async with ChatClient(server.url, name="vllm", grammars=True) as client:
            server.play(*[{"say": "noon"}] * 6)
            with pytest.raises(GrammarRefused, match=r'"vllm" holds no grammar.*guided_grammar.*remote'):
                await ToolsEndpoint(client, "small").learn()


async def test_a_reply_outside_the_grammar_is_an_error_and_no_answer(tools: Kind) -> None:
    tools.server.play({"raw": "Sure! Let me switch it on for you."})
    with pytest.raises(GrammarRefused, match="left the grammar"):
        await take(tools, LIGHT)


async def test_a_call_that_a_tools_server_makes_by_itself_is_checked_like_any(tools: Kind) -> None:
    wrong = {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "light_set", "arguments": '{"room":"cellar","on":true}'}}]}, "finish_reason": "tool_calls"}]}  # fmt: skip
    tools.server.play({"chunks": [wrong]}, {"call": [ON]})
    events, result = await take(tools, LIGHT)
    assert result.retries == 1
    assert plain(result) == [Call("light_set", ON["arguments"], '{"room":"hall","on":true}')]
    assert sum(isinstance(event, CallStart) for event in events) == 1


async def test_a_remotes_call_outside_the_narrowed_schema_is_told_and_made_again(remote: Kind) -> None:
    cellar = {"name": "light_set", "arguments": {"room": "cellar", "on": True}}
    remote.server.play({"call": [cellar]}, {"call": [ON]})
    events, result = await take(remote, LIGHT)
    assert result.retries == 1
    assert "cellar" in result.problems[0] or "room" in result.problems[0]
    assert [type(event) for event in events] == [CallStart, CallDelta, Call]
    assert isinstance(remote.server, ChatServer)
    last = remote.server.sent[1].body["messages"][-1]
    assert last["role"] == "tool"
    assert "refused" in last["content"]
    remote.server.play({"call": [cellar]}, {"call": [cellar]})
    with pytest.raises(CallInvalid, match="light_set"):
        await take(remote, LIGHT)


async def test_a_remote_that_calls_what_nobody_offered_or_says_what_should_be_a_call(remote: Kind) -> None:
    remote.server.play({"call": [{"name": "rm", "arguments": {}}]}, {"call": [ON]})
    _, result = await take(remote, LIGHT)
    assert result.problems == ('there is no tool called "rm"',)
    remote.server.play({"say": "I did it!"}, {"call": [ON]})
    events, result = await take(remote, LIGHT, choice=Choice("required"))
    assert not any(isinstance(event, (Say, SayDelta)) for event in events)
    assert isinstance(result.completion, Call)
    remote.server.play({"call": [ON]}, {"call": [{"name": "facts_get", "arguments": {}}]})
    _, result = await take(remote, LIGHT, FACTS, choice=Choice("named", "facts_get"))
    assert result.retries == 1
    assert isinstance(result.completion, Call)
    assert result.completion.name == "facts_get"


async def test_a_remotes_json_in_text_is_text(remote: Kind) -> None:
    text = '{"tool":"light_set","arguments":{"room":"hall","on":true}}'
    remote.server.play({"say": text})
    _, result = await take(remote, LIGHT)
    assert plain(result) == [Say(text)]


async def test_words_beside_a_call_stand_before_it(remote: Kind) -> None:
    remote.server.play({"say": "I switch it on.", "call": [ON]})
    events, result = await take(remote, LIGHT)
    assert plain(result) == [Say("I switch it on."), Call("light_set", ON["arguments"], '{"room":"hall","on":true}')]
    assert isinstance(events[0], SayDelta)
    # What was said can't be taken back, so a call that fails then is marked, not made again.
    remote.server.play({"say": "I switch it on.", "call": [{"name": "light_set", "arguments": {}}]})
    _, result = await take(remote, LIGHT, on_invalid="mark")
    assert result.retries == 0
    assert len(result.invalid) == 1


async def test_more_calls_than_were_asked_for_are_left_out(remote: Kind, executed: dict[str, Any]) -> None:
    remote.server.play({"call": [ON, OFF]})
    _, result = await take(remote, LIGHT)
    assert len(result.completions) == 1
    remote.server.play({"call": [ON, {"name": "facts_get", "arguments": {}}]}, {"call": [ON, OFF]})
    _, result = await take(remote, LIGHT, FACTS, max_calls=8, execute=executed)
    assert result.hops == 1
    assert [type(one) for one in result.completions] == [Call, Call]


async def test_one_wrong_call_of_several_is_marked_by_itself(remote: Kind) -> None:
    remote.server.play({"call": [ON, {"name": "light_set", "arguments": {"room": 1}}]})
    _, result = await take(remote, LIGHT, max_calls=8, on_invalid="mark")
    second = result.completions[1]
    assert isinstance(second, Call)
    assert list(result.invalid) == [second.id]


async def test_a_cut_off_call_is_truncated(remote: Kind) -> None:
    remote.server.play({"call": [{"name": "light_set", "arguments": '{"room":"ha'}], "finish": "length"})
    _, result = await take(remote, LIGHT)
    assert result.completions == (Truncated('{"room":"ha', "light_set"),)


async def test_words_cut_off_are_incomplete(remote: Kind, tools: Kind) -> None:
    remote.server.play({"say": "It was a dark and", "finish": "length"})
    _, result = await take(remote, LIGHT)
    assert result.completions == (Say("It was a dark and", complete=False),)
    tools.server.play({"raw": '{"say":"It was a dark and', "finish": "length"})
    _, result = await take(tools, LIGHT)
    assert result.completions == (Say("It was a dark and", complete=False),)


async def test_an_answer_under_a_schema_is_checked_and_passed_on(remote: Kind) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    remote.server.play({"say": '{"n":"three"}'}, {"say": '{"n":3}'})
    events, result = await take(remote, answer=schema)
    assert plain(result) == [Say('{"n":3}')]
    assert "".join(event.text for event in events if isinstance(event, SayDelta)) == '{"n":3}'
    assert isinstance(remote.server, ChatServer)
    sent = remote.server.sent[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"] == schema
    assert sent["json_schema"]["strict"] is False, "its object is open"


async def test_thoughts_are_given_first_and_passed_over_where_nobody_listens(remote: Kind) -> None:
    remote.server.play({"think": "Hmm.", "say": "Yes."})
    events, result = await take(remote, think=100)
    assert result.completions == (Think("Hmm."), Say("Yes."))
    assert isinstance(events[0], ThinkDelta)
    remote.server.play({"think": "Hmm.", "say": "Yes."})
    _, result = await take(remote)
    assert result.completions == (Say("Yes."),)


async def test_a_server_that_does_not_stream_is_read_all_the_same(remote: Kind) -> None:
    remote.server.play({"call": [ON], "whole": True, "usage": {"completion_tokens": 9}})
    _, result = await take(remote, LIGHT)
    assert isinstance(result.completion, Call)
    assert result.usage.completion == 9


async def test_a_grammar_of_the_clients_is_not_for_a_remote(remote: Kind) -> None:
    with pytest.raises(RequestError, match="other"):
        await take(remote, grammar='root ::= "yes"')


async def test_a_reply_that_breaks_off_is_an_error_with_the_endpoints_name(remote: Kind, tools: Kind) -> None:
    for kind in (remote, tools):
        kind.server.play({"say": "One two three", "drop": 3})
        with pytest.raises(EngineDied, match='"other" ended in the middle'):
            await take(kind, LIGHT)


async def test_closing_the_turn_closes_the_request(remote: Kind) -> None:
    import asyncio

    remote.server.play({"say": "word " * 400, "pause": 0.02})
    turn = remote.run(TurnRequest((Message("user", "x"),), Catalogue()))
    async for event in turn:
        if isinstance(event, SayDelta):
            break
    await turn.aclose()
    assert isinstance(remote.server, ChatServer)
    for _ in range(100):
        if remote.server.sent[0].closed:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the server went on")


@pytest.mark.parametrize("name", KINDS)
async def test_a_tool_without_a_legal_call_is_left_out_on_every_road(name: str) -> None:
    never = Tool("never", "d", {"type": "object", "properties": {"a": False}, "required": ["a"]})
    async with kind_of(name) as kind:
        kind.server.play({"call": [ON]})
        _, result = await take(kind, never, LIGHT)
        assert [tool.tool for tool in result.report.left_out] == ["never"]
        assert "never" not in json.dumps(kind.server.sent[-1].body.get("tools"))
        with pytest.raises(RequestError, match="No tool is left"):
            await take(kind, never)
