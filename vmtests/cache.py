"""Images by content: a folder whose name is the hash of what it was made from, made once, whoever asks first."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: How many folders of one kind are kept; the ones that were used longest ago are removed.
KEPT = 3


def cache_root() -> Path:
    """``$TACID_VM_CACHE``, or a cache of the person's."""
    return Path(os.environ.get("TACID_VM_CACHE") or Path.home() / ".cache" / "tacid-tests" / "vm")


def digest(made_from: Any) -> str:
    """A short name for whatever JSON can say."""
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:20]


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def made(kind: str, made_from: Any, make: Callable[[Path], None]) -> Path:
    """The folder for ``made_from``; ``make`` fills an empty one where there is none yet.

    Two processes that ask at once make it once. What was begun and not finished is never taken for whole.
    """
    root = cache_root() / kind
    root.mkdir(parents=True, exist_ok=True)
    folder = root / digest(made_from)
    with (root / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(dir=root, prefix=".unfinished-"))
            try:
                unfinished.chmod(0o755)
                make(unfinished)
                (unfinished / "made-from.json").write_text(json.dumps(made_from, indent=1), encoding="utf-8")
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        os.utime(folder)
        _forget(root)
    return folder


def _forget(root: Path) -> None:
    whole = (path for path in root.iterdir() if not path.name.startswith("."))
    kept = sorted(whole, key=lambda path: -path.stat().st_mtime)
    for path in kept[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


__all__ = ["cache_root", "digest", "file_digest", "made"]
