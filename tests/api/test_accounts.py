"""The account of tool modes: whole lines whatever happens to their file, and what a line says."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import httpx
import pytest

from tacid.api.accounts import Accounts
from tacid.errors import InputError
from tests.api.scripted import before, scripted
from tests.api.test_modes import CHAT, body, fetch, made
from tests.serving import serving


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_of_many_threads_are_whole_and_files_are_rotated(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    accounts = Accounts(path, most=2048, kept=3)
    threads = [
        threading.Thread(target=lambda: [accounts.write({"n": n, "text": "x" * (n % 50)}) for n in range(60)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accounts.close()
    files = sorted(one.name for one in tmp_path.iterdir())
    assert files == ["a.jsonl", "a.jsonl.1", "a.jsonl.2", "a.jsonl.3"]
    for name in files:
        assert (tmp_path / name).stat().st_size <= 2048
        assert lines(tmp_path / name)


def test_a_file_that_was_removed_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    accounts = Accounts(path)
    accounts.write({"n": 1})
    until = time.monotonic() + 5
    while not path.stat().st_size:
        assert time.monotonic() < until
        time.sleep(0.01)
    path.unlink()
    accounts.write({"n": 2})
    accounts.close()
    assert lines(path) == [{"n": 2}]


def test_a_full_disk_loses_lines_and_nothing_else() -> None:
    accounts = Accounts(Path("/dev/full"))
    for number in range(100):
        accounts.write({"n": number})
    accounts.close()


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tools\.metrics_out"):
        Accounts(tmp_path / "no" / "a.jsonl")


def test_a_request_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with scripted() as engine:
        config = before(engine, tools={"metrics_out": str(path)})
        with serving(config) as server, httpx.Client(base_url=server.url, timeout=30) as client:
            engine.play(fetch("tool_2"), made("tool_2", x=1), made("tool_1", x=1))
            client.post(CHAT, json=body("deferred"))
            read = sum(len(sent.ids) for sent in engine.sent)
            client.post(CHAT, json=body("direct", stream=True))
            client.post(CHAT, json=body(tool_choice="sometimes"))
            client.get("/health")
            server.log()
    first, second = lines(path)
    assert first.pop("time")
    assert first.pop("completion_tokens")
    assert int(str(first.pop("tokens_saved"))) > 100
    assert first == {
        "endpoint": CHAT,
        "streamed": False,
        "tools_offered": 6,
        "tool_mode": "deferred",
        "why": "configured",
        "get_tool_info_hops": 1,
        "called": ["tool_2"],
        "prompt_tokens": read,
        "cached_tokens": 0,
        "outcome": "ok",
    }
    assert (second["streamed"], second["tool_mode"], second["get_tool_info_hops"]) == (True, "direct", 0)
