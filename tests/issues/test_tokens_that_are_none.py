"""Seen by schemathesis on ``/v1/completions``: a token id beyond the model's words was a 502."""

from __future__ import annotations

import httpx
import pytest

from tacid.engine.process import Engine
from tests.serving import joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]


def test_an_id_that_is_no_token_is_a_400_that_names_the_prompt(random_engine: Engine) -> None:
    with serving(joined(random_engine)) as server:
        for stream in (False, True):
            body = {"prompt": [15884, 2147483646, 8], "stream": stream, "max_tokens": 2}
            answer = httpx.post(f"{server.url}/v1/completions", json=body)
            assert answer.status_code == 400
            assert answer.json()["error"]["param"] == "prompt"
            assert "no token" in answer.json()["error"]["message"]
