"""Makes the environment of the package: one directory whose packages serve the Python of two Debian releases.

``python bundle.py WHEEL TARGET``: the wheel of tacid with its engine, and all that they need, into a virtual
environment at TARGET whose Python is the machine's own, whichever of `VERSIONS` that is. What is the same for all lies
once in ``lib/both``, the rest in the usual ``lib/pythonX.Y/site-packages``.
"""

from __future__ import annotations

import filecmp
import platform
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

#: Debian 12 and 13. Their glibc is 2.36 and 2.41; wheels for the older one run on both.
VERSIONS = ("3.11", "3.13")
GLIBC = 36
EXTRA = "engine"


def main(wheel: Path, target: Path) -> None:
    """Make it."""
    found = {}
    for version in VERSIONS:
        found[version] = target / "lib" / f"python{version}" / "site-packages"
        install(found[version], version, f"{wheel}[{EXTRA}]")
        while missing := lacking([found[version]], version):
            install(found[version], version, *missing)
    share(list(found.values()), target / "lib" / "both")
    for packages in found.values():
        (packages / "both.pth").write_text("../../both\n", encoding="utf-8")
    (target / "bin").mkdir()
    (target / "bin" / "python3").symlink_to("/usr/bin/python3")
    (target / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n", encoding="utf-8")


def install(into: Path, version: str, *what: str) -> None:
    """Unpack wheels for a Python that need not be here."""
    machine = platform.machine()
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(5, GLIBC + 1)]
    tags += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
    arguments = [argument for tag in tags for argument in ("--platform", tag)]
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
            "--only-binary=:all:", "--implementation", "cp", "--python-version", version, "--upgrade",
            "--target", str(into), *arguments, *what,
        ],
        check=True,
    )  # fmt: skip
    shutil.rmtree(into / "bin", ignore_errors=True)  # commands of others, which nobody asked for


def lacking(places: list[Path], version: str) -> list[str]:
    """What is required on this Python and isn't there: pip asks the markers of the Python that it runs on itself."""
    there = {canonicalize_name(one.name): one for one in distributions(path=[str(place) for place in places])}
    wanted = [Requirement(f"tacid[{EXTRA}]")]
    seen: set[str] = set()
    missing: list[str] = []
    while wanted:
        requirement = wanted.pop()
        key = str(requirement)
        if key in seen:
            continue
        seen.add(key)
        one = there.get(canonicalize_name(requirement.name))
        if one is None:
            missing.append(f"{requirement.name}{requirement.specifier}")
            continue
        wanted += required(one, version, requirement.extras)
    return missing


def required(one: Distribution, version: str, extras: set[str]) -> list[Requirement]:
    """What a package needs on this Python."""
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    requirements = [Requirement(text) for text in one.requires or ()]
    return [
        each
        for each in requirements
        if each.marker is None or any(each.marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras))
    ]


def share(places: list[Path], both: Path) -> None:
    """Move what is the same in all places into one."""
    first, *others = places
    both.mkdir(parents=True)
    for entry in sorted(first.iterdir()):
        if all(same(entry, other / entry.name) for other in others):
            entry.rename(both / entry.name)
            for other in others:
                remove(other / entry.name)


def same(one: Path, other: Path) -> bool:
    """Whether two files, or two directories with all that is in them, are the same."""
    if one.is_dir() != other.is_dir() or not other.exists():
        return False
    if one.is_file():
        return filecmp.cmp(one, other, shallow=False)
    names = {entry.name for entry in one.iterdir()}
    return names == {entry.name for entry in other.iterdir()} and all(same(one / name, other / name) for name in names)


def remove(path: Path) -> None:
    """Remove a file or a directory."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
