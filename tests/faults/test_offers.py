"""What the server adds to requests: the machine's two tools, answered unseen, and a catalogue of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacid.api import offers
from tacid.api.service import Service
from tacid.catalogue import Catalogue
from tacid.chat import Call, Message
from tacid.config import Config
from tacid.engine.process import Engine
from tacid.errors import CatalogueError
from tacid.jsontext import dumps
from tacid.metrics import Metrics
from tacid.turn import full
from tests.faults.asking import OPENAI, PROTOCOLS, Protocol, Running, long, running
from tests.serving import joined

pytestmark = [pytest.mark.engine, pytest.mark.model]

A, B = "first-key-0123456789", "second-key-0123456789"
SERVICES = ["grafana", "paperless-ngx"]
OWN = [
    {"name": "lamp", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}},
    {"name": "door", "parameters": {"type": "object", "properties": {}}},
]
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "What can be done?"}], "temperature": 2.0}


@pytest.fixture(scope="module")
def settings(random_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("offers")
    (home / "keys").write_text(f"a:{A}\nb:{B}\n", encoding="utf-8")
    (home / "services.json").write_text(json.dumps(SERVICES), encoding="utf-8")
    (home / "tools.json").write_text(json.dumps(OWN), encoding="utf-8")
    machine = {"services": str(home / "services.json"), "state_dir": str(home / "state")}
    return {"machine": machine, "server": {"keys": str(home / "keys")}, "model": {"aliases": {"helper": "random"}}}


@pytest.fixture(scope="module")
def machine(random_engine: Engine, settings: dict[str, Any]) -> Iterator[Running]:
    """A server that offers the machine to the key ``a`` and to whoever asks for ``helper``."""
    offer = {**settings["machine"], "offer": ["a", "helper"]}
    with running(joined(random_engine, **{**settings, "machine": offer}), {"x-api-key": A}) as made:
        yield made


@pytest.fixture(scope="module")
def tooled(
    random_engine: Engine, settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server with two tools of its own."""
    path = Path(settings["server"]["keys"]).parent / "tools.json"
    with running(joined(random_engine, server={"tools": str(path)})) as made:
        yield made


class Seen:
    """What each generation of the turns since was asked, and the calls that were answered unseen."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.prompts: list[tuple[tuple[Message, ...], Catalogue]] = []
        self.calls: list[Call] = []
        render = full.render

        def rendered(messages: tuple[Message, ...], *, catalogue: Catalogue, **settings: Any) -> Any:
            self.prompts.append((messages, catalogue))
            return render(messages, catalogue=catalogue, **settings)

        patch.setattr(full, "render", rendered)
        for name in ("_facts", "_proposed"):
            run = getattr(offers, name)

            async def counted(call: Call, run: Any = run) -> str:
                self.calls.append(call)
                return str(await run(call))

            patch.setattr(offers, name, counted)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


async def until_called(server: Running, seen: Seen, name: str, **more: Any) -> Any:
    """Ask with one seed after the other until the model calls this one.

    In a thread, as the engine's log is read by this loop: a full pipe would stop the engine.
    """
    return await asyncio.to_thread(_until_called, server, seen, name, more)


def _until_called(server: Running, seen: Seen, name: str, more: dict[str, Any]) -> Any:
    for seed in range(200):
        seen.prompts.clear()
        seen.calls.clear()
        reply = server.http.post(OPENAI.path, json={**ASK, "seed": seed, "max_tokens": 120, **more})
        assert reply.status_code in (200, 502), reply.text
        if reply.status_code == 200 and [call.name for call in seen.calls][:1] == [name]:
            return reply
    raise AssertionError(f"{name} was never called")


@pytest.mark.parametrize("stream", [False, True])
async def test_facts_are_answered_unseen_and_their_tokens_counted(machine: Running, seen: Seen, stream: bool) -> None:
    more: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    reply = await until_called(machine, seen, "facts_get", **more)
    if stream:
        events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        usage = next(event["usage"] for event in events if event.get("usage"))
        assert OPENAI.whole(reply.text)
    else:
        usage = reply.json()["usage"]
        choice = reply.json()["choices"][0]
        assert not choice["message"].get("tool_calls")
        assert choice["finish_reason"] in ("stop", "length")
    assert '"tool_calls"' not in reply.text
    # One generation for each call that was answered, one for the reply, and one for each that failed its check.
    assert len(seen.prompts) >= len(seen.calls) + 1
    messages, catalogue = seen.prompts[1]
    assert [tool.name for tool in catalogue] == ["facts_get", "propose_changes"]
    call, result = messages[-2:]
    assert call.calls[0].name == "facts_get"
    assert result.role == "tool"
    assert result.call_id == call.calls[0].id
    assert json.loads(result.content)
    # Each generation reads the whole conversation again.
    first = machine.http.post("/v1/messages/count_tokens", json={**ASK, "model": "random"}).json()["input_tokens"]
    assert usage["prompt_tokens"] > 1.9 * first


async def test_the_verdict_on_a_proposal_goes_to_the_model_and_only_listed_services_can_be_named(
    machine: Running, seen: Seen
) -> None:
    await until_called(machine, seen, "propose_changes")
    messages, catalogue = seen.prompts[1]
    verdict = json.loads(messages[-1].content)
    assert verdict["verdict"] == "ask"
    assert verdict["changed"] is False
    schema = dumps(next(tool for tool in catalogue if tool.name == "propose_changes").parameters)
    assert all(name in schema for name in SERVICES)
    assert '"enum":["grafana","paperless-ngx"]' in schema.replace(" ", "")


def test_only_the_named_get_the_offer(machine: Running, seen: Seen) -> None:
    def offered(key: str, model: str) -> list[str]:
        seen.prompts.clear()
        body = {**ASK, "model": model, "max_tokens": 2}
        assert machine.http.post(OPENAI.path, json=body, headers={"x-api-key": key}).status_code == 200
        return [tool.name for tool in seen.prompts[0][1]]

    both = ["facts_get", "propose_changes"]
    assert offered(A, "random") == both
    assert offered(B, "random") == []
    assert offered(B, "helper") == both
    body = {**ASK, "max_tokens": 2, "tool_choice": "none"}
    seen.prompts.clear()
    assert machine.http.post(OPENAI.path, json=body).status_code == 200
    assert [tool.name for tool in seen.prompts[0][1]] == []


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_clients_own_tool_stands_beside_the_offer(machine: Running, seen: Seen, protocol: Protocol) -> None:
    body = protocol.body("call", stream=False, schema=long(1))
    machine.http.post(protocol.path, json=body)
    assert {tool.name for tool in seen.prompts[0][1]} == {"facts_get", "propose_changes", "note"}


def test_a_name_of_the_machines_is_a_clear_error(machine: Running) -> None:
    tool = {"type": "function", "function": {"name": "facts_get", "parameters": {"type": "object"}}}
    reply = machine.http.post(OPENAI.path, json={**ASK, "tools": [tool]})
    assert reply.status_code == 400
    assert 'The tool "facts_get" is this server\'s own' in reply.json()["error"]["message"]


def called(reply: Any) -> list[tuple[str, Any]]:
    message = reply.json()["choices"][0]["message"]
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message["tool_calls"]]


NAMED = {"type": "function", "function": {"name": "lamp"}}


@pytest.mark.parametrize("more", [{}, OPENAI.body("call", stream=False)], ids=["alone", "beside"])
def test_a_tool_of_the_servers_own_can_be_named(tooled: Running, more: dict[str, Any]) -> None:
    reply = tooled.http.post(OPENAI.path, json={**ASK, **more, "tool_choice": NAMED})
    ((name, arguments),) = called(reply)
    assert name == "lamp"
    assert type(arguments["on"]) is bool
    assert reply.json()["choices"][0]["finish_reason"] == "tool_calls"


def test_it_can_be_named_in_every_protocol(tooled: Running) -> None:
    body = {"input": "x", "tool_choice": {"type": "function", "name": "lamp"}}
    item = tooled.http.post("/v1/responses", json=body).json()["output"][-1]
    assert (item["type"], item["name"]) == ("function_call", "lamp")
    choice = {"type": "tool", "name": "lamp"}
    body = {"model": "random", "max_tokens": 99, "messages": ASK["messages"], "tool_choice": choice}
    block = tooled.http.post("/v1/messages", json=body).json()["content"][-1]
    assert (block["type"], block["name"]) == ("tool_use", "lamp")
    body["tool_choice"] = {"type": "any"}
    assert tooled.http.post("/v1/messages", json=body).json()["content"][-1]["name"] in ("lamp", "door")


def test_required_means_one_of_them_and_allowed_cuts_them_down(tooled: Running) -> None:
    names = {
        called(tooled.http.post(OPENAI.path, json={**ASK, "tool_choice": "required", "seed": seed}))[0][0]
        for seed in range(12)
    }
    assert names <= {"lamp", "door"}
    only = [{"type": "function", "function": {"name": "door"}}]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": only}}
    body = {**ASK, **OPENAI.body("call", stream=False), "tool_choice": allowed}
    assert {called(tooled.http.post(OPENAI.path, json={**body, "seed": seed}))[0][0] for seed in range(4)} == {"door"}


def test_a_name_of_nobodys_is_still_an_error(tooled: Running) -> None:
    body = {**ASK, "tool_choice": {"type": "function", "function": {"name": "lamps"}}}
    reply = tooled.http.post(OPENAI.path, json=body)
    assert reply.status_code == 400
    assert '"lamps"' in reply.json()["error"]["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("stream", [False, True])
def test_a_name_in_both_is_a_clear_error(tooled: Running, protocol: Protocol, stream: bool) -> None:
    body = json.loads(json.dumps(protocol.body("call", stream=stream)).replace('"note"', '"lamp"'))
    reply = tooled.http.post(protocol.path, json=body)
    assert reply.status_code == 400
    assert 'The tool "lamp" is this server\'s own; give yours another name.' in (protocol.error(reply.json()) or "")


def test_a_tool_of_the_servers_own_that_is_the_machines_is_refused_at_the_start(
    random_engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{**OWN[1], "name": "facts_get"}]), encoding="utf-8")
    config = joined(random_engine, server={"tools": str(path)}, machine={"offer": ["*"]})
    with pytest.raises(CatalogueError, match="facts_get"):
        Service(Config.model_validate(config), Metrics())
