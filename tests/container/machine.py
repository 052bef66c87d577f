"""A machine that can run containers without any registry: a daemon of its own, a Debian made here, wheels made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What the image needs of Debian; its Python is the one that wheels are fetched for.
PACKAGES, PYTHON = "python3,python3-venv,libgomp1", "3.11"
#: Bytes that the daemon's folder, the base and the image take at most.
ROOM = 4_000_000_000
#: Seconds that a daemon may take until it answers.
PATIENCE = 30.0
_TOOLS = {"dockerd": "docker.io", "docker": "docker.io or docker-cli", "mmdebstrap": "mmdebstrap"}


def missing() -> str | None:
    """Why no containers can be run here, in a clause; none where they can."""
    if os.geteuid() != 0:
        return "only root can start a daemon for containers"
    lacking = [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]
    if lacking:
        return f"{' and '.join(lacking)} is not installed"
    if shutil.disk_usage(tempfile.gettempdir()).free < ROOM:
        return "less than 4 GB are free for images"
    return None


@contextmanager
def daemon() -> Iterator[str]:
    """A daemon with a folder and a socket of its own, both gone afterwards; the address of its socket.

    Raises ``RuntimeError`` with its last words where it may not run (in a container without rights, say).
    """
    # Not pytest's folder: the path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="tacid-docker-"))
    address = f"unix://{folder}/d.sock"
    log = folder / "log"
    command = [
        "dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec"), "-H", address,
        "--pidfile", str(folder / "pid"), "--storage-driver", "overlay2",
    ]  # fmt: skip
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        end = time.monotonic() + PATIENCE
        while docker(address, "version", check=False).returncode != 0:
            if process.poll() is not None or time.monotonic() > end:
                words = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
                raise RuntimeError(f"the daemon would not start: {' '.join(words)}")
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def docker(address: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Docker's command against a daemon."""
    environment = {**os.environ, "DOCKER_HOST": address}
    return subprocess.run(["docker", *arguments], env=environment, check=check, capture_output=True, text=True)


def base(address: str, kept: Path) -> str:
    """An image of Debian with Python, made here; its tree is kept in ``kept`` for the next time."""
    tree = kept / f"bookworm-{PACKAGES.replace(',', '-')}.tar"
    if not tree.exists():
        kept.mkdir(parents=True, exist_ok=True)
        unfinished = tree.with_suffix(f".{os.getpid()}.tar")
        made = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(unfinished)],
            capture_output=True,
            text=True,
        )
        if made.returncode != 0:
            unfinished.unlink(missing_ok=True)
            raise RuntimeError(f"mmdebstrap failed: {made.stderr[-500:]}")
        unfinished.replace(tree)
    docker(address, "import", str(tree), "tacid-base:test")
    return "tacid-base:test"


def context(folder: Path) -> Path:
    """What an image is made of, as a checkout has it, with wheels of everything by the machine's own index settings."""
    for name in ("Containerfile", ".dockerignore", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tacid", folder / "tacid", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(folder)])
    own = next(wheels.glob("tacid-*.whl"))
    _run(
        [
            *pip,
            "download",
            "--only-binary",
            ":all:",
            "--python-version",
            PYTHON,
            "--dest",
            str(wheels),
            f"{own}[engine]",
        ]
    )
    return folder


def build(address: str, folder: Path, base_image: str) -> str:
    """The image of the Containerfile, by the same command as in docs/container.md."""
    arguments = ["--build-arg", f"BASE={base_image}", "--build-arg", "PIP_OPTIONS=--no-index"]
    docker(
        address, "build", "--quiet", "--tag", "tacid:test", *arguments, "--file", f"{folder}/Containerfile", str(folder)
    )
    return "tacid:test"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[3]} failed: {done.stderr[-800:]}")


__all__ = ["base", "build", "context", "daemon", "docker", "missing"]
