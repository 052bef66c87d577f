"""The unit files, as systemd's own tools judge them, and what a reload does."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "packaging" / "systemd"
NAMES = ("tacid.service", "tacid-engine.service", "tacid-engine@.service")
#: What `systemd-analyze security` may say at most, of 10.
EXPOSURE = 1.5

analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't here")


def copied(name: str, folder: Path) -> Path:
    """A unit whose program is there."""
    path = folder / name.replace("@.", "@large.")
    text = (UNITS / name).read_text(encoding="utf-8")
    path.write_text(text.replace("/usr/bin/tacid", "/bin/true"), encoding="utf-8")
    return path


def settings(name: str) -> list[str]:
    """The lines that set something."""
    lines = (UNITS / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if re.match(r"[A-Z]\w*=|\[", line)]


def test_every_unit_is_tried() -> None:
    assert sorted(path.name for path in UNITS.iterdir()) == sorted(NAMES)


@analyze
@pytest.mark.parametrize("name", NAMES)
def test_the_exposure_is_small(name: str, tmp_path: Path) -> None:
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(copied(name, tmp_path))],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) <= EXPOSURE, told


@analyze
@pytest.mark.parametrize("name", NAMES)
def test_systemd_knows_every_setting(name: str, tmp_path: Path) -> None:
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copied(name, tmp_path))], capture_output=True, text=True
    )
    of_ours = [line for line in (told.stdout + told.stderr).splitlines() if "tacid" in line]
    assert of_ours == []


def test_further_engines_are_held_as_the_first_one_is() -> None:
    own = {line for line in settings(NAMES[1]) if line not in settings(NAMES[2])}
    assert own == {
        "Description=llama.cpp for tacid",
        "ExecStart=/usr/bin/tacid engine run",
        "RuntimeDirectory=tacid-engine",
    }
    assert len(settings(NAMES[1])) == len(settings(NAMES[2]))


def test_nobody_waits_for_a_network_and_the_gateway_for_no_engine() -> None:
    for name in NAMES:
        assert [
            line for line in settings(name) if re.match(r"(After|Requires|Wants|BindsTo|Requisite|PartOf)=", line)
        ] == []


@pytest.mark.parametrize("there", [True, False])
def test_a_reload_hands_over_the_keys_that_are_there_then(there: bool, tmp_path: Path) -> None:
    [line] = [line for line in settings(NAMES[0]) if line.startswith("ExecReload=")]
    found = re.fullmatch(r"ExecReload=\+/bin/sh -c '(.*)'", line)
    assert found is not None
    # What systemd makes of the line, with the directories of the test.
    script = found[1].replace("$$", "$").replace("%%", "%").replace("/run/", f"{tmp_path}/")
    (tmp_path / "tacid").mkdir()
    keys = tmp_path / "keys"
    if there:
        keys.write_text("a:first-key-0123456789\n", encoding="utf-8")
    hung_up = tmp_path / "hung-up"
    waits = f"import signal, pathlib; signal.signal(1, lambda *_: pathlib.Path({str(hung_up)!r}).touch()); print(1, flush=True); [signal.pause() for _ in range(2)]"
    with subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE) as service:
        try:
            assert service.stdout is not None
            service.stdout.readline()
            env = {**os.environ, "MAINPID": str(service.pid), "KEYS": str(keys)}
            for text in ("", "a:second-key-0123456789\n"):
                if there and text:
                    keys.write_text(text, encoding="utf-8")
                subprocess.run(["/bin/sh", "-ec", script], env=env, check=True)
            until = time.monotonic() + 20
            while not hung_up.exists():
                assert time.monotonic() < until
                time.sleep(0.01)
        finally:
            service.send_signal(signal.SIGKILL)
    handed = tmp_path / "tacid" / "keys"
    assert handed.exists() == there
    if there:
        assert handed.read_text(encoding="utf-8") == "a:second-key-0123456789\n"
        assert stat.S_IMODE(handed.stat().st_mode) == 0o400
        assert handed.stat().st_uid == os.getuid()
    assert not list(tmp_path.glob("*.new"))
