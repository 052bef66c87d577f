"""docs/scaling.md, tried: tacid before Ray Serve, whose replicas speak OpenAI's chat protocol with a real model."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tacid.config import Config
from tacid.engine.process import Engine
from tests.serving import Served, serving

pytestmark = [
    pytest.mark.engine,
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (group ray)"),
]

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": PARAMETERS}}
BODY = {
    "messages": [{"role": "user", "content": "Weather in Oslo for 3 days?"}],
    "tools": [TOOL],
    "tool_choice": "required",
    "max_tokens": 60,
}


@pytest.fixture(scope="module")
def ray(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A deployment on loopback; its address."""
    home = tmp_path_factory.mktemp("ray")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # Everything that Ray keeps stands in a directory of its own; the path of its sockets has to be short.
    environment = {**os.environ, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-m", "tests.endpoints.ray_serve", str(port), engine.client.url, engine.client.key or ""]
    with (home / "log").open("w+") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            while line and line.strip() != "serving":
                line = process.stdout.readline()
            assert line, (home / "log").read_text()[-3000:]
            yield f"http://127.0.0.1:{port}"
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(60)
            finally:
                process.kill()
                assert process.stdout is not None
                process.stdout.close()


@pytest.fixture(scope="module")
def served(ray: str) -> Iterator[Served]:
    config = Config.model_validate({"endpoints": [{"name": "ray", "kind": "tools", "url": f"{ray}/v1"}]})
    with serving(config) as server:
        yield server


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=120) as client:
        end = time.monotonic() + 60
        while client.get("/ready").status_code != 200:
            assert time.monotonic() < end, client.get("/ready").text
            time.sleep(0.2)
        yield client


def fits(answer: Any) -> bool:
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    arguments = json.loads(call["function"]["arguments"])
    return set(arguments) == {"city", "days"} and arguments["city"] in ("Oslo", "Rome") and 1 <= arguments["days"] <= 9


def test_a_call_through_ray_fits(http: httpx.Client, served: Served) -> None:
    answer = http.post("/v1/chat/completions", json={**BODY, "temperature": 0})
    assert answer.status_code == 200, answer.text
    assert fits(answer.json())
    assert answer.json()["usage"]["prompt_tokens"] > 100
    assert [line["endpoint"] for line in served.log() if line.get("path") == "/v1/chat/completions"][-1] == "ray"


def test_calls_side_by_side_over_several_replicas_fit(http: httpx.Client) -> None:
    def one(seed: int) -> Any:
        return http.post("/v1/chat/completions", json={**BODY, "temperature": 1.0, "seed": seed}).json()

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(lambda seed: fits(one(seed)), range(3)))


def test_words_stream_through_ray(http: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "stream": True}
    pieces = 0
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            pieces += '"content":"' in line and '"content":""' not in line
    assert pieces > 2
