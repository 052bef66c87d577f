"""Accounts: whole lines, whatever becomes of the file and the disk, and never in the way of a request."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tacid.api import accounts
from tacid.api.accounts import Account, Accounts
from tacid.api.logs import MAX_WAITING
from tacid.errors import InputError


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def numbers(path: Path) -> list[int]:
    return [line["n"] for line in read(path)]


def wait_for(done: Any) -> None:
    for _ in range(500):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it didn't come in time")


def test_an_account_has_the_fields_of_a_request_with_the_time_first() -> None:
    account = Account(
        endpoint="/v1/chat/completions", outcome="ok", streamed=True, mode="direct", why="2,000 tokens of tools",
        hops=1, prompt_tokens=10, completion_tokens=5, cached_tokens=3, saved_tokens=900, tools_offered=100,
        tools_called=("a", "b"), time="2031-05-04T07:30:00.000Z",
    )  # fmt: skip
    assert json.dumps(account.to_json()) == json.dumps(
        {
            "time": "2031-05-04T07:30:00.000Z", "endpoint": "/v1/chat/completions", "outcome": "ok",
            "streamed": True, "mode": "direct", "why": "2,000 tokens of tools", "hops": 1, "prompt_tokens": 10,
            "completion_tokens": 5, "cached_tokens": 3, "saved_tokens": 900, "tools_offered": 100,
            "tools_called": ["a", "b"],
        }
    )  # fmt: skip
    assert Account(endpoint="/api/chat", outcome="ok").time.endswith("Z")


def test_lines_of_many_threads_are_whole_and_none_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    written = Accounts(path)

    def write(thread: int) -> None:
        for number in range(300):
            written.write({"n": thread * 300 + number, "text": "é<\n\u202e" * 20})

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written.close()
    assert sorted(numbers(path)) == list(range(16 * 300))
    assert written.lost == 0
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_is_rotated_by_its_size_and_the_oldest_go(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    written = Accounts(path, max_bytes=1000, kept=2)
    for number in range(500):
        written.write({"n": number})
    written.close()
    files = [path.with_name("accounts.2"), path.with_name("accounts.1"), path]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all(file.stat().st_size <= 1000 for file in files)
    kept = [number for file in files for number in numbers(file)]
    assert kept == list(range(kept[0], 500))
    assert len(numbers(files[0])) > 60


def test_no_old_file_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    written = Accounts(path, max_bytes=100, kept=0)
    for number in range(100):
        written.write({"n": number})
    written.close()
    assert list(tmp_path.iterdir()) == [path]
    assert numbers(path)[-1] == 99


def test_a_line_longer_than_the_limit_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    written = Accounts(path, max_bytes=100)
    for number in range(2):
        written.write({"n": number, "text": "x" * 500})
    written.close()
    assert numbers(path) == [1]
    assert numbers(tmp_path / "accounts.1") == [0]


def test_what_was_there_before_stays_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    path.write_text('{"n":0}\n' * 20)
    written = Accounts(path, max_bytes=165)
    written.write({"n": 1})
    written.close()
    assert numbers(path) == [1]
    assert numbers(tmp_path / "accounts.1") == [0] * 20


def test_a_file_that_ends_within_a_line_is_gone_on_with_in_the_next(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    path.write_text('{"n":0}\n{"n":')
    written = Accounts(path)
    written.write({"n": 1})
    written.close()
    assert path.read_text() == '{"n":0}\n{"n":\n{"n":1}\n'


@pytest.mark.parametrize("how", ["removed", "moved", "folder"])
def test_a_file_that_is_gone_is_made_anew(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    path = folder / "accounts"
    written = Accounts(path)
    written.write({"n": 0})
    wait_for(lambda: path.stat().st_size)
    if how == "moved":
        path.rename(folder / "old")
    else:
        path.unlink()
    if how == "folder":
        folder.rmdir()
        written.write({"n": -1})
        wait_for(lambda: written.lost == 1)
        folder.mkdir()
    written.write({"n": 1})
    written.close()
    assert numbers(path) == [1]
    if how == "moved":
        assert numbers(folder / "old") == [0]


def test_a_full_disk_loses_lines_which_the_log_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    written = Accounts(Path("/dev/full"))
    with caplog.at_level(logging.WARNING, "tacid"):
        for number in range(100):
            written.write({"n": number})
        wait_for(lambda: written.lost == 100)
        assert len(caplog.messages) == 1
        written.close()
    assert written.lost == 100
    assert len(caplog.messages) == 2
    assert sum(int(message.split()[0]) for message in caplog.messages) == 100
    assert all("/dev/full were lost: No space left on device" in message for message in caplog.messages)


def test_what_is_lost_is_told_later_though_no_line_comes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "TELL_EVERY", 0.2)
    written = Accounts(Path("/dev/full"))
    with caplog.at_level(logging.WARNING, "tacid"):
        written.write({"n": 0})
        wait_for(lambda: len(caplog.messages) == 1)
        written.write({"n": 1})
        written.write({"n": 2})
        wait_for(lambda: sum(int(message.split()[0]) for message in caplog.messages) == 3)
    written.close()


_FULL = """
import resource, signal, sys
from pathlib import Path
from tacid.api.accounts import Accounts
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
written = Accounts(Path(sys.argv[1]))
def wait():
    import time
    while written._waiting.qsize() or not written.lost: time.sleep(0.01)
for number in range(20):
    written.write({"n": number, "text": "x" * 100})
wait()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
written.write({"n": 20})
written.close()
print(written.lost)
"""


def test_a_disk_that_is_full_within_a_line_leaves_whole_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    done = subprocess.run([sys.executable, "-c", _FULL, path], capture_output=True, text=True, check=True, timeout=60)
    kept = numbers(path)
    assert kept[-1] == 20
    assert kept[:-1] == list(range(len(kept) - 1))
    assert 5 < len(kept) < 12
    assert int(done.stdout) + len(kept) == 21
    assert "half a line" in done.stderr or "File too large" in done.stderr


def test_a_reader_that_hangs_holds_nobody_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    written = Accounts(path)
    count = 2 * MAX_WAITING
    with caplog.at_level(logging.WARNING, "tacid"):
        began = time.perf_counter()
        for number in range(count):
            written.write({"n": number, "text": "x" * 100})
        assert time.perf_counter() - began < 10
        written.close(within=10)
    got = b""
    while data := os.read(reader, 1 << 20):
        got += data
    os.close(reader)
    assert got.count(b"\n") + written.lost in (count, count + 1)
    assert sum(int(message.split()[0]) for message in caplog.messages) == written.lost > 0


def test_what_is_no_json_is_lost_and_raises_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written = Accounts(tmp_path / "accounts")
    written.write({"n": object()})
    written.write({"n": float("nan")})
    written.write({"n": 1})
    written.close()
    written.close()
    written.write({"n": 2})
    assert numbers(tmp_path / "accounts") == [1]
    assert written.lost == 2
    assert "no JSON" in caplog.text


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    written = Accounts(path)
    for number in range(MAX_WAITING // 2):
        written.write({"n": number})
    written.close(within=60)
    assert numbers(path) == list(range(MAX_WAITING // 2))


_WRITER = """
import sys
from pathlib import Path
from tacid.api.accounts import Accounts
written = Accounts(Path(sys.argv[1]), max_bytes=4000, kept=100)
for number in range(1000):
    written.write({"n": int(sys.argv[2]) * 1000 + number})
written.close(within=60)
assert not written.lost
"""


def test_several_processes_share_a_file_and_lose_nothing_in_its_rotation(tmp_path: Path) -> None:
    path = tmp_path / "accounts"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, path, str(number)]) for number in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert sorted(number for file in tmp_path.iterdir() for number in numbers(file)) == list(range(3000))


def test_a_file_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere/accounts can't be written: No such file"):
        Accounts(tmp_path / "nowhere" / "accounts")
    with pytest.raises(InputError, match="can't be written: Is a directory"):
        Accounts(tmp_path)


def test_a_folder_in_which_nothing_can_be_renamed_loses_lines_and_keeps_the_bound(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "accounts"
    (tmp_path / "accounts.1" / "in the way").mkdir(parents=True)
    written = Accounts(path, max_bytes=100, kept=1)
    for number in range(50):
        written.write({"n": number})
    written.close()
    assert path.stat().st_size <= 100
    assert len(numbers(path)) + written.lost == 50
    assert "were lost" in caplog.text
