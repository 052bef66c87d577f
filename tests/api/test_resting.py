"""``keep_alive``: the engine goes when a client says so, and comes back with the next request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacid.config import Config, EngineConfig
from tacid.engine.process import Engine
from tests.api.clients import asking
from tests.engine.test_process import running
from tests.serving import Served, joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

ASK = {"messages": [{"role": "user", "content": "Hi"}], "options": {"num_predict": 4}}
#: Seconds on a machine that does other work as well.
PATIENCE = 20.0


@pytest.fixture(scope="module")
def served(random_model: Path, engine_config: EngineConfig) -> Iterator[Served]:
    engine = {**engine_config.model_dump(), "threads": 1, "context": 2048}
    with serving(Config.model_validate({"engine": engine, "model": {"name": str(random_model)}})) as server:
        yield server


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=60) as client:
        chat(client)
        yield client


def chat(http: httpx.Client, **more: Any) -> dict[str, Any]:
    answer = http.post("/api/chat", json={"model": "random", **ASK, "stream": False, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def pid(served: Served) -> int | None:
    return served.service.pool.backends[0].supervisor.engine.pid


def state(http: httpx.Client) -> tuple[int, bool, str]:
    answer = http.get("/ready")
    return answer.status_code, answer.json()["ready"], answer.json()["engines"][0]["state"]


def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_unload_ends_the_engine_and_the_next_request_waits_for_its_start(http: httpx.Client, served: Served) -> None:
    before = pid(served)
    assert len(http.get("/api/ps").json()["models"]) == 1
    gone = http.post("/api/generate", json={"model": "random", "keep_alive": 0}).json()
    assert (gone["done"], gone["done_reason"]) == (True, "unload")
    assert not running(before), "what was told is true already"
    assert http.get("/api/ps").json() == {"models": []}
    assert state(http) == (200, True, "resting")
    # What only asks about the model doesn't wake it.
    assert [one["name"] for one in http.get("/api/tags").json()["models"]] == ["random:latest"]
    assert http.get("/v1/models").json()["data"][0]["id"] == "random"
    assert http.post("/api/show", json={"model": "random"}).status_code == 200
    again = http.post("/api/generate", json={"model": "random", "keep_alive": 0}).json()
    assert again["done_reason"] == "unload"
    assert state(http)[2] == "resting"
    answer = http.post("/v1/chat/completions", json={"messages": ASK["messages"], "max_tokens": 4})
    assert answer.status_code == 200
    assert answer.json()["usage"]["completion_tokens"] > 0
    assert state(http) == (200, True, "ready")
    assert served.metrics.engine_restarts._value.get() == 0


def test_a_load_wakes_it_and_says_so_as_ollama_does(http: httpx.Client, served: Served) -> None:
    client = asking(served)
    assert client.generate("random", keep_alive=0).done_reason == "unload"
    assert client.ps().models == []
    assert client.generate("random").done_reason == "load"
    assert [one.model for one in client.ps().models] == ["random:latest"]


def test_a_reply_with_keep_alive_nought_comes_whole_and_then_it_goes(http: httpx.Client, served: Served) -> None:
    before = pid(served)
    assert chat(http, keep_alive=0)["eval_count"] > 0
    until(lambda: not running(before))
    assert http.get("/api/ps").json() == {"models": []}
    assert chat(http)["eval_count"] > 0
    time.sleep(0.3)
    assert state(http)[2] == "ready", "it was asked for that one time"


def test_it_goes_after_the_seconds_that_a_client_asked_for(http: httpx.Client, served: Served) -> None:
    before = pid(served)
    chat(http, keep_alive="1500ms")
    assert "2300" not in http.get("/api/ps").json()["models"][0]["expires_at"]
    time.sleep(0.8)
    chat(http)  # which counts as use, whoever asks
    time.sleep(1.0)
    assert running(before)
    until(lambda: not running(before))
    chat(http, keep_alive="1s")
    chat(http, keep_alive=-1)
    again = pid(served)
    time.sleep(1.3)
    assert running(again)
    assert http.get("/api/ps").json()["models"][0]["expires_at"].startswith("2300")


def test_an_unload_while_others_are_served_waits_for_them(http: httpx.Client, served: Served) -> None:
    before = pid(served)
    body = {"prompt": "a", "max_tokens": 1500, "grammar": "root ::= [a-z ]+", "logit_bias": {"0": -100, "2": -100}}
    got: list[httpx.Response] = []
    other = threading.Thread(
        target=lambda: got.append(httpx.post(f"{served.url}/v1/completions", json=body, timeout=60))
    )
    other.start()
    until(lambda: not served.service.pool.rest.idle)
    assert http.post("/api/generate", json={"model": "random", "keep_alive": 0}).json()["done_reason"] == "unload"
    still = other.is_alive()
    other.join()
    assert got[0].status_code == 200, got[0].text
    assert got[0].json()["usage"]["completion_tokens"] > 100
    until(lambda: not running(before))
    assert still, "the test was too slow to see anything"


def test_many_at_once_wake_it_once(http: httpx.Client, served: Served) -> None:
    lives = served.service.pool.backends[0].supervisor.lives
    http.post("/api/generate", json={"model": "random", "keep_alive": 0})
    codes: list[int] = []
    body = {"model": "random", **ASK, "stream": False}
    asking = [
        threading.Thread(
            target=lambda: codes.append(httpx.post(f"{served.url}/api/chat", json=body, timeout=60).status_code)
        )
        for _ in range(6)
    ]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert codes == [200] * 6
    assert served.service.pool.backends[0].supervisor.lives == lives + 1


def test_an_engine_that_somebody_else_started_cannot_be_let_go(random_engine: Engine) -> None:
    with serving(joined(random_engine)) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        answer = http.post("/api/generate", json={"model": "random", "keep_alive": 0})
        assert answer.status_code == 400
        assert "not started by this server" in answer.json()["error"]
        assert chat(http, keep_alive=0)["done"] is True
        assert len(http.get("/api/ps").json()["models"]) == 1
