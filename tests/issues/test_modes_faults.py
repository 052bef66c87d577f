"""Faults of the tool modes that were found by attacking them: what a client saw of a hop, and what broke a turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tacid.prompt.words import INFO
from tests.api.scripted import Scripted, before, scripted
from tests.api.test_modes import SURFACES, TOOLS, fetch
from tests.api.test_server_cases import asked
from tests.serving import serving


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted() as running:
        yield running


@pytest.fixture(scope="module")
def client(engine: Scripted) -> Iterator[httpx.Client]:
    with serving(before(engine)) as server, httpx.Client(base_url=server.url, timeout=30) as one:
        yield one


def limit(path: str, tokens: int) -> dict[str, Any]:
    """So many tokens at most, in the words of a path's protocol."""
    if path == "/api/chat":
        return {"options": {"num_predict": tokens}}
    return {"max_output_tokens" if path == "/v1/responses" else "max_tokens": tokens}


@pytest.mark.parametrize("path", SURFACES)
@pytest.mark.parametrize("stream", [False, True])
def test_of_a_hop_that_is_cut_off_nothing_is_seen(
    path: str, stream: bool, engine: Scripted, client: httpx.Client
) -> None:
    for tokens in (25, 50):
        engine.play({**fetch("tool_3"), "finish": "length"})
        more = {**limit(path, tokens), "tool_mode": "deferred", "stream": stream}
        answer = client.post(path, json={**asked(path, TOOLS), **more})
        assert answer.status_code == 200
        assert INFO not in answer.text.replace("get_tool_info_hops", "")


FETCH = '{"tool":"get_tool_info","arguments":{"name":"tool_1"}}'
CALL = '{"tool":"tool_1","arguments":{"x":1}}'


@pytest.mark.parametrize("raw", [f"[{FETCH},{CALL}]", f"[{CALL},{FETCH}]", f"[{FETCH},{FETCH}]", f"I say {FETCH}."])
@pytest.mark.parametrize("stream", [False, True])
def test_an_engine_without_grammars_shows_no_client_our_own_tools(
    raw: str, stream: bool, engine: Scripted, client: httpx.Client
) -> None:
    for path in SURFACES:
        engine.play(endless={"raw": raw})
        answer = client.post(path, json={**asked(path, TOOLS), "tool_mode": "deferred", "stream": stream})
        if CALL in raw:
            assert "tool_1" in answer.text
            assert INFO not in answer.text.replace("get_tool_info_hops", "")
        else:
            # An engine that goes on so to the end is an error, which is no call.
            assert "arguments that don't fit, twice" in answer.text
