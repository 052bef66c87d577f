"""Grammars that an engine refused, kept for whoever runs the server: they are our fault, and nobody else has them."""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import suppress
from pathlib import Path

#: Grammars that are kept; the oldest goes first.
MAX_KEPT = 20
FOLDER = "refused-grammars"


_LOG = logging.getLogger("tacid")


def keep_refused(grammar: str, state_dir: Path) -> None:
    """Write a grammar below the state directory, under a name of its content, and tell the log where it is.

    Readable by this user alone: a schema may hold what others aren't to see. Where it can't be written the log says so.
    """
    folder = state_dir / FOLDER
    data = grammar.encode("utf-8", "surrogatepass")
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.gbnf"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        _LOG.error("The engine refused a grammar of ours, which can't be kept in %s: %s.", folder, error.strerror)
        return
    with suppress(OSError):
        kept = sorted(folder.glob("*.gbnf"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-MAX_KEPT]:
            old.unlink(missing_ok=True)
    _LOG.error("The engine refused a grammar of ours; it is kept in %s. Please report it.", path)


__all__ = ["FOLDER", "MAX_KEPT", "keep_refused"]
