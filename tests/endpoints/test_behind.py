"""Several endpoints behind one server: who is asked, when a fallback is, and when it never is."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tacid.config import Config
from tacid.engine import supervise
from tests.api.scripted import Scripted, scripted
from tests.endpoints.chat_server import ChatServer, chat_server
from tests.serving import Served, serving

PARAMETERS = {
    "type": "object",
    "properties": {"room": {"enum": ["hall", "attic"]}},
    "required": ["room"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "light", "description": "Light.", "parameters": PARAMETERS}}
BODY = {"messages": [{"role": "user", "content": "Light in the hall."}], "tools": [TOOL]}
ON = {"call": [{"name": "light", "arguments": {"room": "hall"}}]}
REFUSED = {"http": {"status": 400, "body": {"error": {"code": 400, "message": "Failed to parse grammar"}}}}


@pytest.fixture
def engine() -> Iterator[Scripted]:
    with scripted(slots=2) as running:
        yield running


@pytest.fixture
def remote() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def unused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def local(url: str, name: str = "here", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "local", "url": url, **more}


def other(server: ChatServer, name: str = "there", kind: str = "remote", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "url": server.url, **more}


@pytest.fixture
def served() -> Iterator[Callable[..., tuple[Served, httpx.Client]]]:
    with ExitStack() as stack:

        def start(*endpoints: dict[str, Any], **sections: Any) -> tuple[Served, httpx.Client]:
            engine = {"start_timeout": 8.0, **sections.pop("engine", {})}
            server = stack.enter_context(
                serving(Config.model_validate({"endpoints": endpoints, "engine": engine, **sections}))
            )
            return server, stack.enter_context(httpx.Client(base_url=server.url, timeout=30))

        yield start


def until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def states(http: httpx.Client) -> dict[str, str]:
    return {one["name"]: one["state"] for one in http.get("/ready").json()["engines"]}


def logged(server: Served) -> list[Any]:
    return [line.get("endpoint") for line in server.log() if line.get("path") == "/v1/chat/completions"]


def called(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return json.loads(answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])


def test_the_local_one_is_first_and_the_log_and_the_figures_say_who_it_was(
    engine: Scripted, remote: ChatServer, served: Any
) -> None:
    server, http = served(other(remote, fallback=True), local(engine.url))
    until(lambda: states(http) == {"here": "ready", "there": "ready"})
    engine.play(ON)
    assert called(http.post("/v1/chat/completions", json=BODY)) == {"room": "hall"}
    assert remote.sent == []
    assert logged(server) == ["here"]
    assert 'tacid_turns_total{endpoint="here",outcome="ok"} 1.0' in http.get("/metrics").text


def test_a_fallback_is_asked_where_the_first_is_not_there(remote: ChatServer, served: Any) -> None:
    server, http = served(local(unused()), other(remote, fallback=True))
    until(lambda: states(http)["there"] == "ready")
    remote.play(ON, ON)
    begun = time.monotonic()
    assert called(http.post("/v1/chat/completions", json={**BODY, "model": "whatever"})) == {"room": "hall"}
    assert time.monotonic() - begun < 6
    assert logged(server) == ["there"]
    ready = http.get("/ready").json()
    assert ready["ready"] is True
    assert [one.get("fallback") for one in ready["engines"]] == [None, True]


def test_a_fallback_is_asked_where_the_first_ends_before_anything_was_sent(
    engine: Scripted, remote: ChatServer, served: Any
) -> None:
    server, http = served(local(engine.url), other(remote, fallback=True))
    until(lambda: set(states(http).values()) == {"ready"})
    engine.play({**ON, "drop_after_chunks": 0}, {**ON, "drop_after_chunks": 0})
    remote.play(ON)
    text = http.post("/v1/chat/completions", json={**BODY, "stream": True}).text
    assert "hall" in "".join(json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", [{}])[0].get("function", {}).get("arguments", "") for line in text.splitlines() if line.startswith("data: {") and json.loads(line[6:])["choices"])  # fmt: skip
    assert logged(server) == ["there"]
    assert engine.calls == 2, "the engine is tried again first"


def test_after_something_was_sent_no_fallback_is_asked(engine: Scripted, remote: ChatServer, served: Any) -> None:
    _, http = served(local(engine.url), other(remote, fallback=True))
    until(lambda: set(states(http).values()) == {"ready"})
    engine.play({"say": "One two three four five six.", "drop_after_chunks": 5})
    remote.play({"say": "Never."})
    text = http.post("/v1/chat/completions", json={**BODY, "stream": True}).text
    assert '"error"' in text
    assert "[DONE]" not in text
    assert remote.sent == []


def test_a_refused_grammar_is_never_taken_to_a_fallback(engine: Scripted, remote: ChatServer, served: Any) -> None:
    _, http = served(local(engine.url), other(remote, fallback=True))
    until(lambda: set(states(http).values()) == {"ready"})
    engine.play(REFUSED, REFUSED)
    remote.play(ON)
    answer = http.post("/v1/chat/completions", json=BODY)
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "grammar_refused"
    assert remote.sent == []


def test_without_a_configured_fallback_there_is_none(remote: ChatServer, served: Any) -> None:
    _, http = served(local(unused()), other(remote), engine={"start_timeout": 0.5})
    until(lambda: states(http)["there"] == "ready")
    remote.play(ON, ON)
    answer = http.post("/v1/chat/completions", json=BODY)
    assert answer.status_code == 503
    assert remote.sent == []


def test_another_server_is_asked_by_its_models_name(engine: Scripted, remote: ChatServer, served: Any) -> None:
    server, http = served(
        local(engine.url), other(remote), model={"name": "m", "aliases": {"big": "small", "mine": "m"}}
    )
    until(lambda: set(states(http).values()) == {"ready"})
    remote.play(ON, ON)
    engine.play(ON, ON)
    for name, endpoint in (("small", "there"), ("big", "there"), ("mine", "here"), ("m", "here")):
        assert called(http.post("/v1/chat/completions", json={**BODY, "model": name})) == {"room": "hall"}
        assert logged(server)[-1] == endpoint
    names = {one["id"] for one in http.get("/v1/models").json()["data"]}
    assert {"small", "big", "mine", "m"} <= names
    answer = http.post("/v1/chat/completions", json={**BODY, "model": "nope"})
    assert answer.status_code == 404
    assert "small" in answer.text


def test_a_server_may_have_no_engine_of_its_own(remote: ChatServer, served: Any) -> None:
    server, http = served(other(remote))
    until(lambda: states(http)["there"] == "ready")
    remote.play(ON, {"say": "Hello."}, {"say": "Hello."})
    assert called(http.post("/v1/chat/completions", json=BODY)) == {"room": "hall"}
    assert "max_tokens" not in remote.sent[0].body, "its server knows its context"
    assert http.post("/v1/chat/completions", json={**BODY, "model": "smollm2-135m-instruct"}).status_code == 404
    assert [one["id"] for one in http.get("/v1/models").json()["data"]] == ["small"]
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}], "stream": False}
    assert http.post("/api/chat", json=body).json()["message"]["content"] == "Hello."
    message = http.post("/v1/messages", json={**body, "max_tokens": 9}).json()
    assert message["content"][0]["text"] == "Hello."
    for path, asked in (
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/embeddings", {"input": "x"}),
        ("/v1/messages/count_tokens", {**body, "max_tokens": 9}),
    ):
        answer = http.post(path, json=asked)
        assert answer.status_code == 400, answer.text
        assert "engine of this server's own" in answer.text
    assert logged(server) == ["there", None], "the 404 got to nobody"


def test_a_server_that_refuses_our_key_is_not_ready_and_the_fallback_is_asked(remote: ChatServer, served: Any) -> None:
    with chat_server(key="sesame") as locked:
        _, http = served(other(locked, "locked", key="wrong"), other(remote, fallback=True))
        until(lambda: states(http) == {"locked": "restarting", "there": "ready"})
        assert "refuses our key" in http.get("/ready").text
        remote.play(ON)
        assert called(http.post("/v1/chat/completions", json=BODY)) == {"room": "hall"}
        _, http = served(other(locked, "open", key="sesame"))
        until(lambda: states(http)["open"] == "ready")


def test_a_limit_that_is_called_otherwise_is_sent_by_that_name(remote: ChatServer, served: Any) -> None:
    _, http = served(other(remote))
    until(lambda: states(http)["there"] == "ready")
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    remote.play({"status": 400, "error": {"error": {"message": words}}}, ON, ON)
    for _ in range(2):
        assert called(http.post("/v1/chat/completions", json={**BODY, "max_tokens": 77})) == {"room": "hall"}
    assert [one.body.get("max_completion_tokens") for one in remote.sent] == [None, 77, 77]


def test_a_server_that_is_busy_is_a_429_with_its_retry_after(remote: ChatServer, served: Any) -> None:
    _, http = served(other(remote))
    until(lambda: states(http)["there"] == "ready")
    remote.play({"status": 429, "error": {"error": {"message": "slow down"}}, "headers": {"retry-after": "7"}})
    answer = http.post("/v1/chat/completions", json=BODY)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "7"


def test_a_server_that_was_away_is_taken_again(served: Any) -> None:
    url = unused()
    _, http = served({"name": "there", "kind": "remote", "url": url}, engine={"start_timeout": 0.5})
    until(lambda: states(http)["there"] == "restarting")
    answer = http.post("/v1/chat/completions", json=BODY)
    assert answer.status_code == 503
    assert "there" in answer.text
    assert http.get("/ready").status_code == 503
    with chat_server(port=int(url.rsplit(":", 1)[1])) as server:
        until(lambda: states(http)["there"] == "ready", 20)
        server.play(ON)
        assert called(http.post("/v1/chat/completions", json=BODY)) == {"room": "hall"}


def test_a_tools_server_that_holds_no_grammar_says_so_and_no_fallback_is_asked(remote: ChatServer, served: Any) -> None:
    with chat_server(models=("other",)) as bare:
        bare.play(*[{"say": "noon"}] * 20)
        _, http = served(other(bare, "vllm", "tools"), other(remote, fallback=True))
        until(lambda: states(http)["vllm"] == "failed")
        remote.play(ON)
        answer = http.post("/v1/chat/completions", json=BODY)
        assert answer.status_code == 500
        assert "holds no grammar" in answer.json()["error"]["message"]
        assert remote.sent == []


def test_an_engine_with_another_model_is_not_let_into_the_pool(engine: Scripted, served: Any) -> None:
    with scripted() as stranger:
        stranger._props = {**stranger._props, "model_path": "other.gguf"}
        server, http = served(local(engine.url, "one"), local(stranger.url, "two"))
        until(lambda: "starting" not in states(http).values())
        engine.play(*[ON] * 4)
        stranger.play(*[ON] * 4)
        for _ in range(4):
            http.post("/v1/chat/completions", json=BODY)
        assert {engine.calls, stranger.calls} == {0, 4}
        until(lambda: "refused" in states(http).values())
        reason = next(one["reason"] for one in http.get("/ready").json()["engines"] if one["state"] == "refused")
        assert "other.gguf" in reason
        assert "m.gguf" in reason
        assert len(set(logged(server))) == 1


def test_engines_whose_tables_name_models_are_chosen_by_them(engine: Scripted, served: Any) -> None:
    with scripted() as second:
        second._props = {**second._props, "model_path": "large.gguf"}
        _, http = served(
            local(engine.url, "one", model="small"), local(second.url, "two", model="large"),
            model={"aliases": {"gpt-4o": "large"}},
        )  # fmt: skip
        until(lambda: set(states(http).values()) == {"ready"})
        engine.play(*[ON] * 2)
        second.play(*[ON] * 2)
        for name, model in (("large", "large"), ("gpt-4o", "gpt-4o"), ("small", "small"), (None, "m")):
            answer = http.post("/v1/chat/completions", json={**BODY, **({"model": name} if name else {})})
            assert called(answer) == {"room": "hall"}
            assert answer.json()["model"] == model
        assert (engine.calls, second.calls) == (2, 2)
        assert {entry["id"] for entry in http.get("/v1/models").json()["data"]} == {"m", "large", "gpt-4o"}
        assert http.post("/v1/chat/completions", json={**BODY, "model": "none"}).status_code == 404


def test_an_engine_that_is_down_leaves_the_others_and_its_model_is_told_when_to_ask_again(
    engine: Scripted, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "GONE", 0.5)
    _, http = served(local(unused(), "down", model="large"), local(engine.url, "up", model="small"))
    until(lambda: states(http)["up"] == "ready")
    engine.play(ON)
    assert called(http.post("/v1/chat/completions", json={**BODY, "model": "small"})) == {"room": "hall"}
    assert http.get("/ready").json()["ready"] is True
    assert {entry["id"] for entry in http.get("/v1/models").json()["data"]} == {"m", "large"}
    for path, body in (("/v1/chat/completions", BODY), ("/v1/messages", {**BODY, "tools": [], "max_tokens": 9})):
        answer = http.post(path, json={**body, "model": "large"})
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert "Nothing answers at" in answer.text


def test_two_engines_are_asked_in_turns(engine: Scripted, served: Any) -> None:
    with scripted() as second:
        _, http = served(local(engine.url, "one"), local(second.url, "two"))
        until(lambda: set(states(http).values()) == {"ready"})
        engine.play(endless={**ON, "delay_s": 0.05})
        second.play(endless={**ON, "delay_s": 0.05})
        import concurrent.futures as futures

        with futures.ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: called(http.post("/v1/chat/completions", json=BODY)), range(6)))
        assert engine.calls
        assert second.calls
