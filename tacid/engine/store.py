"""Where models lie, and whether what lies there is what it should be."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tacid.config import ModelConfig
from tacid.engine.gguf_file import GgufHead, read_head
from tacid.engine.pins import PINS, Pin, find_pin
from tacid.errors import ModelError

_BLOCK = 4 * 1024 * 1024


def model_path(pin: Pin, directory: Path) -> Path:
    """Where the file of a pin lies, whether it is there or not."""
    return directory / pin.file


def is_path(name: str) -> bool:
    """Whether a model's name is the path of a file rather than the name of a pin."""
    return "/" in name or name.endswith(".gguf")


def pin_of(path: Path, directory: Path | None = None) -> Pin | None:
    """The pin whose file this is, by name and size (and place, where ``directory`` is given)."""
    for pin in PINS:
        if path.name == pin.file and (directory is None or path.parent == directory):
            try:
                return pin if path.stat().st_size == pin.size else None
            except OSError:
                return None
    return None


def locate(config: ModelConfig) -> tuple[Path, Pin | None]:
    """The configured model's file, ready for an engine, and its pin.

    A pin's file has its size and head checked, and its checksum where it changed since that was last seen to be
    right, also where it is given by its path; a file of one's own has its head checked. Raises ``ModelError`` with the
    remedy.
    """
    if is_path(config.name):
        path = Path(config.name).expanduser()
        read_head(path)
        found = pin_of(path)
        if found is not None:
            check(path, found)
        return path, found
    pin = find_pin(config.name)
    path = model_path(pin, config.dir)
    if not path.exists():
        raise ModelError(f"The model {pin.name} is not on this machine; fetch it: tacid model pull {pin.name}.")
    check(path, pin)
    return path, pin


def check(path: Path, pin: Pin) -> GgufHead:
    """Refuse a file that isn't the pin's.

    The checksum is only read where size or time changed since it was last right.
    """
    head = read_head(path)
    if not _seen(path, pin):
        verify(path, pin)
    return head


def verify(path: Path, pin: Pin | None, on_bytes: Callable[[int], None] | None = None) -> GgufHead:
    """Read a file whole and compare it with its pin; of a file without a pin only the head can be checked.

    ``on_bytes`` hears how many bytes were read since the last time. Raises ``ModelError``: missing, no GGUF, cut short,
    another size, another checksum.
    """
    if pin is None:
        return read_head(path)
    try:
        head = compare(path, pin, on_bytes)
    except ModelError:
        _forget(path)
        raise
    remember(path, pin)
    return head


def compare(path: Path, pin: Pin, on_bytes: Callable[[int], None] | None = None) -> GgufHead:
    """Like `verify`, but leaves no note beside the file."""
    head = read_head(path)
    if head.size != pin.size:
        raise ModelError(
            f"The model {path} has {head.size:,} bytes and {pin.name} has {pin.size:,}; fetch it again: "
            f"tacid model pull {pin.name}."
        )
    if sha256_of(path, on_bytes) != pin.sha256:
        raise ModelError(
            f"The model {path} has another checksum than {pin.name}: it is damaged or was replaced; fetch it again: "
            f"tacid model pull {pin.name}."
        )
    return head


def sha256_of(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            if on_bytes is not None:
                on_bytes(len(block))
    return digest.hexdigest()


def remember(path: Path, pin: Pin) -> None:
    """Note beside a file that its checksum was right, with the size and time it had then.

    Not being able to is no error.
    """
    note = _note(path)
    try:
        temporary = note.with_name(f"{note.name}.{os.getpid()}")
        temporary.write_text(json.dumps({**_stamp(path), "sha256": pin.sha256}) + "\n", encoding="utf-8")
        temporary.replace(note)
    except OSError:
        pass


def _seen(path: Path, pin: Pin) -> bool:
    try:
        return bool(json.loads(_note(path).read_text(encoding="utf-8")) == {**_stamp(path), "sha256": pin.sha256})
    except (OSError, ValueError):
        return False


def _forget(path: Path) -> None:
    with suppress(OSError):
        _note(path).unlink(missing_ok=True)


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified")


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "inode": status.st_ino}
