"""What a guest carries of ours, as a disk of its own: the wheel with what it needs, units, models, the tests' programs.

It is mounted read-only at ``/opt/payload``; what lies under its ``root`` is copied over the guest's at the first start.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

from vmtests import cache
from vmtests.base import Base, run

ROOT = Path(__file__).parents[1]
#: Where the disk is mounted.
AT = "/opt/payload"
#: The Python of each kind of guest.
PYTHON = {"sid": "3.13", "trixie": "3.13"}
#: What of the tests is needed inside, beside the programs of `vmtests.inside`.
_TESTS = ("tests/__init__.py", "tests/sampling.py", "tests/cases", "examples", "vmtests/__init__.py", "vmtests/inside")
_PROGRAM = f"""#!/bin/sh
PYTHONPATH={AT}/lib exec python3.13 -m tacid "$@"
"""
_PYTHON_PROGRAM = f"""#!/bin/sh
PYTHONPATH={AT}/lib:{AT}/tests exec python3.13 "$@"
"""


def payload(base: Base) -> Path:
    """The disk of this checkout for a kind of guest. Raises ``VmError``."""
    libraries = _libraries(base)
    made_from = {
        "libraries": libraries.name,
        "sources": _digest_of(ROOT / "tacid", ROOT / "packaging/systemd", *(ROOT / name for name in _TESTS)),
        "programs": [_PROGRAM, _PYTHON_PROGRAM],
        "models": _digest_of(
            ROOT / "tests/engine/random_model.py", ROOT / "vmtests/byte_model.py", ROOT / "tacid/engine/pins.json"
        ),
        "made": 1,
    }
    return cache.made("payload", made_from, lambda folder: _make(folder, base, libraries)) / "disk.raw"


def _libraries(base: Base) -> Path:
    """The packages that tacid needs, for the guest's Python, with their compiled files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # The engine's package is not among them: the guest has a llama-server of its own.
    needs = sorted(project["dependencies"])
    made_from = {"needs": needs, "python": PYTHON[base.suite], "base": base.suite}

    def make(folder: Path) -> None:
        run(
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
            "--target", str(folder / "lib"), "--only-binary", ":all:", "--python-version", PYTHON[base.suite],
            *(f"--platform=manylinux_2_{minor}_x86_64" for minor in (28, 17)), *needs,
        )  # fmt: skip
        _compile(base, folder / "lib", f"{AT}/lib")

    return cache.made("libraries", made_from, make)


def _make(folder: Path, base: Base, libraries: Path) -> None:
    stage = folder / "stage"
    lib = stage / "lib"
    shutil.copytree(libraries / "lib", lib, copy_function=os.link)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(ROOT))
    wheel = next((folder / "wheel").glob("*.whl"))
    run(
        *pip, "install", "--no-deps", "--no-compile", "--target", str(folder / "own"), "--only-binary", ":all:",
        "--python-version", PYTHON[base.suite], str(wheel),
    )  # fmt: skip
    _compile(base, folder / "own", f"{AT}/lib")
    for path in (folder / "own").iterdir():
        if path.name != "bin":
            shutil.move(path, lib / path.name)
    for name in _TESTS:
        source, target = ROOT / name, stage / "tests" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    _models(stage / "models")
    _installed(stage / "root")
    _disk(stage, folder / "disk.raw")
    for name in ("stage", "own", "wheel"):
        shutil.rmtree(folder / name)


def packages(base: Base) -> Path:
    """A disk with the Debian package of this checkout, the same as a later version, and a model. Raises ``VmError``."""
    made_from = {
        "suite": base.suite,
        "sources": _digest_of(ROOT / "tacid", ROOT / "packaging", ROOT / "scripts/deb", ROOT / "pyproject.toml"),
        "models": _digest_of(ROOT / "vmtests/byte_model.py", ROOT / "tests/engine/random_model.py"),
    }
    return cache.made("packages", made_from, _make_packages) / "disk.raw"


def _make_packages(folder: Path) -> None:
    from vmtests.byte_model import make_byte_model

    built = run("scripts/deb", cwd=ROOT).split()[-1]
    stage, opened = folder / "stage", folder / "opened"
    stage.mkdir()
    shutil.copy(ROOT / built, stage / "tacid.deb")
    run("dpkg-deb", "-R", str(stage / "tacid.deb"), str(opened))
    control = opened / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    control.write_text(re.sub(r"(?m)^Version: (.*)$", r"Version: \1+later", text), encoding="utf-8")
    run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", str(opened), str(stage / "later.deb"))
    make_byte_model(stage / "bytes.gguf")
    _disk(stage, folder / "disk.raw")
    for name in ("stage", "opened"):
        shutil.rmtree(folder / name)


def _disk(stage: Path, disk: Path) -> None:
    size = sum(path.lstat().st_size + 4096 for path in stage.rglob("*")) * 5 // 4 + 32_000_000
    with disk.open("wb") as file:
        file.truncate(size)
    run(
        "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-E", "lazy_itable_init=1,root_owner=0:0", "-d",
        str(stage), str(disk),
    )  # fmt: skip


def _installed(root: Path) -> None:
    """What a package would install."""
    programs = root / "usr/bin"
    programs.mkdir(parents=True)
    for name, text in (("tacid", _PROGRAM), ("tacid-python", _PYTHON_PROGRAM)):
        (programs / name).write_text(text, encoding="ascii")
        (programs / name).chmod(0o755)
    units = root / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for unit in sorted((ROOT / "packaging/systemd").iterdir()):
        shutil.copy(unit, units / unit.name)


def _models(folder: Path) -> None:
    """SmolLM2, random weights with its words, and random weights with bytes for words."""
    from tacid.engine.download import fetch
    from tacid.engine.pins import find_pin
    from tests.engine.random_model import make_random_model
    from tests.kept import models_kept
    from vmtests.byte_model import make_byte_model

    folder.mkdir()
    smollm2 = fetch(find_pin("smollm2"), models_kept())
    shutil.copy(smollm2, folder / "smollm2.gguf")
    make_random_model(folder / "random.gguf", smollm2)
    make_byte_model(folder / "bytes.gguf")


def _compile(base: Base, folder: Path, at: str) -> None:
    """Compile a folder's modules by the guest's own Python, run here: emulated, it would take minutes."""
    run(
        "bwrap", "--ro-bind", str(base.tree), "/", "--bind", str(folder), "/mnt", "--proc", "/proc", "--dev", "/dev",
        "--tmpfs", "/tmp", "--unshare-all", "--", f"/usr/bin/python{PYTHON[base.suite]}", "-m", "compileall", "-q",
        "-j", "0", "-s", "/mnt", "-p", at, "--invalidation-mode", "unchecked-hash", "/mnt",
    )  # fmt: skip


def _digest_of(*paths: Path) -> str:
    files = []
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        files += [file for file in found if file.is_file() and "__pycache__" not in file.parts]
    return cache.digest([[str(file.relative_to(ROOT)), cache.file_digest(file)] for file in files])


__all__ = ["AT", "ROOT", "packages", "payload"]
