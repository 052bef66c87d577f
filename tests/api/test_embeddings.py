"""Embeddings of an engine that was started for them, as OpenAI's and Ollama's clients ask for them."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import pytest

from tacid.config import Config
from tacid.engine.process import Engine
from tests.api.clients import asking
from tests.engine.random_model import make_random_model
from tests.engine.test_process import script
from tests.serving import Served, joined, serving
from tests.test_every_grammar import floor_binary

pytestmark = [pytest.mark.engine, pytest.mark.model]


@pytest.fixture(scope="module")
def served(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose engine was started for embeddings, by a command of the person's own."""
    folder = tmp_path_factory.mktemp("embeddings")
    model = make_random_model(folder / "random.gguf", smollm2, plain=True)
    try:
        own = floor_binary()
    except PackageNotFoundError as error:
        pytest.skip(f"no prebuilt llama-server is installed: {error}")
    wrapped = script(folder / "llama-server", f'exec {own} "$@" --device none --embeddings --pooling mean')
    engine = {"binary": wrapped.where, "threads": 1, "context": 1024, "batch": 512}
    with serving(Config.model_validate({"engine": engine, "model": {"name": str(model)}})) as server:
        reason = httpx.get(f"{server.url}/api/tags", timeout=60)
        if reason.status_code == 503:
            pytest.skip(f"the prebuilt llama-server, made for CPUs with AVX-512, doesn't run here: {reason.text}")
        yield server


def test_openais_client_gets_a_vector_for_each_text(served: Served) -> None:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        openais(client)


def openais(client: openai.OpenAI) -> None:
    one = client.embeddings.create(model="random", input="one")
    assert len(one.data) == 1
    assert one.usage.prompt_tokens > 0
    both = client.embeddings.create(model="random", input=["one", "two words"])
    assert [entry.index for entry in both.data] == [0, 1]
    assert both.data[0].embedding == pytest.approx(one.data[0].embedding, abs=1e-3)
    assert both.data[1].embedding != pytest.approx(one.data[0].embedding, abs=1e-3)
    size = len(one.data[0].embedding)
    assert len(client.embeddings.create(model="random", input="one", dimensions=size).data[0].embedding) == size
    with pytest.raises(openai.BadRequestError, match="leave it out"):
        client.embeddings.create(model="random", input="one", dimensions=size + 1)


def test_floats_and_base64_are_the_same_vector(served: Served) -> None:
    url = f"{served.url}/v1/embeddings"
    floats = httpx.post(url, json={"input": "one"}).json()["data"][0]["embedding"]
    packed = httpx.post(url, json={"input": "one", "encoding_format": "base64"}).json()["data"][0]["embedding"]
    raw = base64.b64decode(packed)
    assert struct.unpack(f"<{len(raw) // 4}f", raw) == pytest.approx(floats, rel=1e-6)


def test_ollamas_client_gets_them_in_its_shape(served: Served) -> None:
    client = asking(served)
    answer = client.embed("random:latest", ["one", "two words"])
    assert answer.model == "random:latest"
    assert len(answer.embeddings) == 2
    assert answer.prompt_eval_count > 0
    older = client.embeddings("random", "one")
    assert list(older.embedding) == pytest.approx(list(answer.embeddings[0]), abs=1e-3)
    assert list(client.embed("random", "").embeddings) == []


@pytest.mark.parametrize(
    "body", [{}, {"input": ""}, {"input": []}, {"input": [1, "a"]}, {"input": {"a": 1}}, {"input": ["a", ""]}]
)
def test_what_is_no_text_is_a_clear_400(served: Served, body: dict[str, Any]) -> None:
    answer = httpx.post(f"{served.url}/v1/embeddings", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "input"


def test_an_engine_that_gives_none_is_a_sentence_in_each_shape(random_engine: Engine) -> None:
    with serving(joined(random_engine)) as server:
        answer = httpx.post(f"{server.url}/v1/embeddings", json={"input": "a"})
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "embeddings_unavailable"
        with pytest.raises(ollama.ResponseError, match="gives no embeddings") as caught:
            asking(server).embed("random", "a")
        assert caught.value.status_code == 400
        with pytest.raises(ollama.ResponseError, match="There is no model"):
            asking(server).embed("other", "a")
