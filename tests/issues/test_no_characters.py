"""Seen by schemathesis on ``/v1/responses``: a tool named with what is no character ended as "refused a grammar of ours".

SmolLM2's words lack the bytes 0xF1 and 0xF2, with which the planes 4 to 11 of Unicode begin: no text could go on.
"""

from __future__ import annotations

import json

import httpx
import pytest

from tacid.engine.process import Engine
from tests.serving import joined, serving

pytestmark = [pytest.mark.engine, pytest.mark.model]

NAME = "a" + chr(0x52345)


def test_what_the_words_of_a_model_cannot_spell_is_spelled_as_an_escape(random_engine: Engine) -> None:
    schema = {
        "type": "object",
        "properties": {NAME: {"enum": [NAME]}},
        "required": [NAME],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": NAME, "parameters": schema}}
    body = {"messages": [{"role": "user", "content": "x"}], "tools": [tool], "tool_choice": "required"}
    with serving(joined(random_engine)) as server:
        for seed in range(4):
            answer = httpx.post(f"{server.url}/v1/chat/completions", json={**body, "seed": seed}, timeout=60)
            assert answer.status_code == 200, answer.text
            function = answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]
            assert function["name"] == NAME
            assert json.loads(function["arguments"]) == {NAME: NAME}
