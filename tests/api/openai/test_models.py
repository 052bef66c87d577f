"""The list of models."""

from __future__ import annotations

import pytest

from tacid.api.openai.models import ModelEntry, find_model, model_body, models_body
from tacid.errors import ModelUnknown

SMALL = ModelEntry("smollm2", 1_700_000_000, context=8192)
OTHER = ModelEntry("qwen3:0.6b", 1_700_000_001, "someone")


def test_a_model_tells_its_context_where_it_is_known() -> None:
    assert model_body(SMALL) == {
        "id": "smollm2",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "tacid",
        "max_model_len": 8192,
        "meta": {"n_ctx": 8192},
    }
    assert model_body(OTHER) == {
        "id": "qwen3:0.6b",
        "object": "model",
        "created": 1_700_000_001,
        "owned_by": "someone",
    }


def test_the_list() -> None:
    assert models_body([SMALL, OTHER]) == {"object": "list", "data": [model_body(SMALL), model_body(OTHER)]}
    assert models_body([]) == {"object": "list", "data": []}


def test_one_is_found_by_its_name_and_an_unknown_one_names_those_there_are() -> None:
    assert find_model([SMALL, OTHER], "qwen3:0.6b") is OTHER
    with pytest.raises(ModelUnknown, match=r'"gpt-4".*"smollm2", "qwen3:0.6b"'):
        find_model([SMALL, OTHER], "gpt-4")
