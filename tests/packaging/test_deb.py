"""The Debian package, built and looked into. Installed, upgraded, removed and purged it is in a guest (vmtests)."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tacid import __version__
from tacid.config import load_config

ROOT = Path(__file__).parents[2]
SCRIPTS = ("postinst", "prerm", "postrm")

pytestmark = pytest.mark.skipif(
    shutil.which("dh") is None or platform.machine() not in ("x86_64", "aarch64"),
    reason="debhelper isn't here (apt-get install debhelper), or there is no wheel of the engine for this machine",
)


@pytest.fixture(scope="module")
def package() -> Path:
    """The package itself."""
    built = subprocess.run(["scripts/deb"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return ROOT / built.stdout.split()[-1]


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What it holds, with its scripts in ``DEBIAN``."""
    folder = tmp_path_factory.mktemp("deb") / "root"
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def bundle() -> Any:
    """The module that made the environment."""
    spec = importlib.util.spec_from_file_location("bundle", ROOT / "packaging" / "debian" / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_says_what_it_is_and_needs(package: Path, unpacked: Path) -> None:
    told = subprocess.run(["dpkg-deb", "--field", str(package)], capture_output=True, text=True, check=True).stdout
    fields = dict(re.findall(r"^([\w-]+): (.*)$", told, re.MULTILINE))
    assert (fields["Package"], fields["Version"]) == ("tacid", __version__)
    for needed in ("libgomp1", "python3 (>= 3.11), python3 (<< 3.12) | python3 (>= 3.13), python3 (<< 3.14)"):
        assert needed in fields["Depends"]
    assert (unpacked / "DEBIAN" / "conffiles").read_text(encoding="utf-8").split() == ["/etc/tacid/config.toml"]


def test_all_of_it_is_roots_and_nobody_elses_to_write(package: Path) -> None:
    told = subprocess.run(["dpkg-deb", "--contents", str(package)], capture_output=True, text=True, check=True).stdout
    for line in told.splitlines():
        mode, owner, *_ = line.split()
        assert owner == "root/root", line
        assert mode[0] == "l" or (mode[5] != "w" and mode[8] != "w"), line
        assert not {"s", "S"} & {mode[3], mode[6]}, line
        assert "__pycache__" not in line
        path = line.split("./", 1)[1]
        assert path.startswith(("etc/", "lib/", "usr/", "var/lib/")) or not path or path == "var/", line


def test_its_units_are_those_of_the_source(unpacked: Path) -> None:
    units = {path.name: path for path in unpacked.rglob("systemd/system/*")}
    source = {path.name: path for path in (ROOT / "packaging" / "systemd").iterdir()}
    assert units.keys() == source.keys()
    for name, path in units.items():
        assert path.read_bytes() == source[name].read_bytes()


def test_its_scripts_are_shell_and_make_no_users(unpacked: Path) -> None:
    for name in SCRIPTS:
        script = unpacked / "DEBIAN" / name
        assert script.stat().st_mode & stat.S_IXUSR
        subprocess.run(["/bin/sh", "-n", str(script)], check=True)
        text = script.read_text(encoding="utf-8")
        assert "set -e" in text
        assert not re.search(r"adduser|useradd|#DEBHELPER#", text)
    assert "deb-systemd-invoke $_dh_action 'tacid-engine.service'" in (unpacked / "DEBIAN" / "postinst").read_text()


def test_its_configuration_joins_the_engine_of_the_other_unit(unpacked: Path) -> None:
    config = load_config(unpacked / "etc" / "tacid" / "config.toml")
    unit = (ROOT / "packaging" / "systemd" / "tacid-engine.service").read_text(encoding="utf-8")
    assert config.engine.url == "unix:///run/tacid-engine/engine.sock"
    assert "\nRuntimeDirectory=tacid-engine\n" in unit
    assert unpacked / str(config.model.dir).lstrip("/") == unpacked / "var" / "lib" / "tacid-models"
    assert (unpacked / "var" / "lib" / "tacid-models").is_dir()


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_everything_that_is_required_is_there_for_each_python(unpacked: Path, bundle: Any, version: str) -> None:
    lib = unpacked / "usr" / "lib" / "tacid" / "lib"
    own = lib / f"python{version}" / "site-packages"
    assert (own / "both.pth").read_text(encoding="utf-8") == "../../both\n"
    assert bundle.lacking([own, lib / "both"], version) == []
    tag = f"cpython-{version.replace('.', '')}-"
    for library in own.rglob("*.so"):
        assert tag in library.name or ".abi3." in library.name, library
    for library in (lib / "both").rglob("*.so"):
        assert "cpython-" not in library.name, library


def test_it_runs_with_the_python_of_this_machine(unpacked: Path, bundle: Any) -> None:
    python = unpacked / "usr" / "lib" / "tacid" / "bin" / "python3"
    assert (python.parent / python.readlink()).as_posix().endswith("/usr/lib/tacid/bin/../../../bin/python3")
    found = shutil.which("python3", path="/usr/bin")
    told = subprocess.run(
        [found or "false", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
    )
    if told.stdout.strip() not in bundle.VERSIONS:
        pytest.skip("/usr/bin/python3 is none of Debian 12 or 13")
    python.unlink()
    python.symlink_to("/usr/bin/python3")  # unpacked, it isn't where it belongs
    for arguments, words in (
        (["-sP", str(unpacked / "usr" / "bin" / "tacid"), "--version"], f"tacid {__version__}"),
        (["-P", "-m", "tacid.engine.child", "--try"], ""),
        (["-P", "-m", "pip", "--version"], "pip "),
    ):
        ran = subprocess.run([str(python), *arguments], capture_output=True, text=True, env={"HOME": "/nowhere"})
        assert ran.returncode == 0, ran.stderr
        assert words in ran.stdout
