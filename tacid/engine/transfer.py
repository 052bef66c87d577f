"""What every way of fetching has in common: room on the disk, taking up what was broken off, one fetch at a time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tacid.engine.progress import Watcher
from tacid.errors import DownloadError

#: Tries without a single new byte before a transfer is given up, and seconds between them.
TRIES, PAUSE = 3, 1.0
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class SourceFailed(Exception):
    """One source can't give the file; the next one is tried. ``str(error)`` is a clause without a full stop."""


class Damaged(SourceFailed):
    """What came isn't what was promised."""


@contextmanager
def disk_errors(what: str, directory: Path) -> Iterator[None]:
    """Turn a full disk, and a folder that can't be written, into a ``DownloadError`` that says so."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise DownloadError(
                f"The disk is full: {what} does not fit into {directory}; free some space or set model.dir, then start "
                "again (what has been fetched is kept and taken up)."
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise DownloadError(
                f"The folder {directory} can't be written ({error.strerror}); correct its rights or set model.dir."
            ) from None
        raise


def check_room(what: str, needed: int, directory: Path) -> None:
    """Raise ``DownloadError`` where fewer than ``needed`` bytes are free."""
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise DownloadError(
            f"{what} needs {needed / 1e6:,.0f} MB more and {free / 1e6:,.0f} MB are free in {directory}; free some "
            "space or set model.dir."
        )


@contextmanager
def lock(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a file lock; while another process holds it, wait. ``on_wait`` is called once where that is so."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    told = True
                    on_wait()
                time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def get_resumed(
    url: str,
    target: Path,
    *,
    sha256: str | None,
    on_bytes: Callable[[int], None],
    certificate: str | None,
    proxy: str | None,
) -> None:
    """Fetch a URL into a file, going on where the file ends; ``on_bytes`` hears how long it is.

    ``certificate`` is a file or folder of certificate authorities, ``proxy`` a URL; none for what the environment
    says. Raises ``SourceFailed`` (also where the server wants a login), ``Damaged`` (the file is removed then),
    ``OSError``.
    """
    context: ssl.SSLContext | bool = True
    if certificate:
        folder = Path(certificate).is_dir()
        context = ssl.create_default_context(
            cafile=None if folder else certificate, capath=certificate if folder else None
        )
    left = TRIES
    with httpx.Client(
        follow_redirects=True, timeout=httpx.Timeout(30.0, connect=10.0), verify=context, proxy=proxy
    ) as http:
        while True:
            before = _size(target)
            try:
                _get_on(http, url, target, on_bytes)
                break
            except httpx.TransportError as error:
                if _size(target) > before:
                    left = TRIES
                left -= 1
                if left <= 0:
                    raise SourceFailed(f"the transfer broke off ({error or type(error).__name__})") from None
                time.sleep(PAUSE)
    if sha256 is not None and file_sha256(target) != sha256:
        target.unlink()
        raise Damaged("what came has another checksum than the index says")


def _get_on(http: httpx.Client, url: str, target: Path, on_bytes: Callable[[int], None]) -> None:
    have = _size(target)
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with http.stream("GET", url, headers=headers) as answer:
        if answer.status_code == 416 and have:
            if answer.headers.get("Content-Range") == f"bytes */{have}":
                return
            target.unlink()
            raise httpx.ReadError("the file is shorter than what we have")
        if answer.status_code not in (200, 206):
            raise SourceFailed(f"the server answered {answer.status_code}")
        going_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if answer.status_code == 206 and not going_on:
            raise SourceFailed("the server gave another part than it was asked for")
        expected = answer.headers.get("Content-Length")
        received = 0
        with target.open("ab" if going_on else "wb") as file:
            if not going_on:
                have = 0
            for block in answer.iter_raw():
                file.write(block)
                received += len(block)
                on_bytes(have + received)
        if expected is not None and expected.isdigit() and received != int(expected):
            raise httpx.ReadError(f"{received:,} of {int(expected):,} bytes came")


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def into_place(source: Path, target: Path) -> None:
    """Move a finished file to its name so that it is there whole or not at all, even if the power goes."""
    with source.open("rb") as file:
        os.fsync(file.fileno())
    source.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def report(watcher: Watcher, done: int, total: int) -> Callable[[int], None]:
    """A hearer of bytes for one part of a whole: ``done`` bytes lie before it."""
    return lambda part: watcher.at(min(done + part, total), total)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
