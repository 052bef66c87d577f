"""What Ollama's routes tell of the models."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from tacid.api.cards import ModelCard
from tacid.api.ollama.show import (
    NEVER,
    normal_name,
    parameter_size,
    ps_body,
    show_body,
    tagged_name,
    tags_body,
    version_body,
    wanted_model,
)
from tacid.errors import RequestError

CARD = ModelCard(
    name="smollm2",
    size=98_362_432,
    digest="b1" * 32,
    modified=datetime(2025, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    architecture="llama",
    parameters=134_515_008,
    quantization="Q4_1",
    context=4096,
    licence="Apache-2.0",
    memory=600_000_000,
    template="{{ messages }}",
    sampling={"temperature": 0.2, "top_k": 40},
    info={"llama.block_count": 30, "llama.context_length": 8192},
)
DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "134.52M",
    "quantization_level": "Q4_1",
}


@pytest.mark.parametrize(
    ("name", "normal"), [("m", "m"), ("m:latest", "m"), (" M:Latest ", "m"), ("m:q4", "m:q4"), ("a/m:latest", "a/m")]
)
def test_latest_is_the_same_as_no_tag(name: str, normal: str) -> None:
    assert normal_name(name) == normal
    assert normal_name(tagged_name(normal)) == normal


def test_a_name_is_listed_with_a_tag() -> None:
    assert [tagged_name(name) for name in ("m", "m:q4", "host:80/m")] == ["m:latest", "m:q4", "host:80/m:latest"]


def test_tags_have_what_clients_read() -> None:
    assert tags_body([CARD]) == {
        "models": [
            {
                "name": "smollm2:latest",
                "model": "smollm2:latest",
                "modified_at": "2025-01-02T03:04:05.000678Z",
                "size": 98_362_432,
                "digest": "b1" * 32,
                "details": DETAILS,
            }
        ]
    }
    assert tags_body([]) == {"models": []}


def test_a_model_is_shown_with_its_tools_and_the_context_that_is_served() -> None:
    body = show_body(CARD)
    assert body["capabilities"] == ["completion", "tools"]
    assert body["details"] == DETAILS
    assert body["model_info"] == {
        "llama.block_count": 30,
        "general.architecture": "llama",
        "general.parameter_count": 134_515_008,
        "llama.context_length": 4096,
    }
    assert body["parameters"].split() == ["temperature", "0.2", "top_k", "40"]
    assert body["modelfile"].startswith("FROM smollm2:latest\n")
    assert body["template"] == "{{ messages }}"
    assert body["license"] == "Apache-2.0"
    json.dumps(body, allow_nan=False)


def test_a_model_that_thinks_says_so() -> None:
    thinks = ModelCard("m", 1, "0" * 64, CARD.modified, "qwen3", 1, "Q8_0", 1024, thinking=True)
    assert show_body(thinks)["capabilities"] == ["completion", "tools", "thinking"]


def test_running_models_have_their_memory_and_no_end() -> None:
    (entry,) = ps_body([(CARD, NEVER)])["models"]
    assert (entry["size"], entry["size_vram"], entry["context_length"]) == (600_000_000, 0, 4096)
    assert entry["expires_at"] == "2300-01-01T00:00:00.000000Z"
    (entry,) = ps_body([(CARD, CARD.modified)], size_vram=5)["models"]
    assert (entry["expires_at"], entry["size_vram"]) == ("2025-01-02T03:04:05.000678Z", 5)


def test_the_version_is_one_that_clients_can_compare() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version_body()["version"])


@pytest.mark.parametrize(
    ("count", "text"),
    [(134_515_008, "134.52M"), (1_543_714_304, "1.5B"), (8_000_000_000, "8B"), (22_016, "22K"), (12, "12"), (0, "0")],
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert parameter_size(count) == text


@pytest.mark.parametrize(
    "body", [{"model": "m"}, {"name": "m"}, {"model": "", "name": "m"}, {"model": "m", "name": "x"}]
)
def test_a_model_is_named_in_either_field(body: dict[str, Any]) -> None:
    assert wanted_model(body) == "m"


@pytest.mark.parametrize("body", [{}, {"model": None}, {"name": " "}, {"model": 7}])
def test_a_body_that_names_no_model_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as caught:
        wanted_model(body)
    assert caught.value.param == "model"
