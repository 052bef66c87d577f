"""What `vmtests` does before any machine runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from vmtests import cache
from vmtests.base import initrd_with
from vmtests.errors import VmError
from vmtests.run import groups, script_text
from vmtests.scenarios import SCENARIOS


def test_scripts_that_may_share_a_machine_do_and_others_have_their_own() -> None:
    found = {group.names for group in groups(["boot", "doors", "grammars", "faults"])}
    assert found == {("boot", "grammars"), ("doors",), ("faults",)}


def test_a_group_boots_as_soon_as_one_of_its_scripts_has_to_see_that() -> None:
    assert groups(["grammars", "boot"])[0].cold
    assert not groups(["grammars"])[0].cold


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_a_script_that_is_one_text_of_python(name: str) -> None:
    compile(script_text(name), name, "exec")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_assert_of_a_script_says_why(name: str) -> None:
    import ast

    for node in ast.walk(ast.parse(script_text(name))):
        assert not isinstance(node, ast.Assert) or node.msg is not None, f"{name}: line {node.lineno}"


def test_what_was_made_is_kept_and_what_was_only_begun_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACID_VM_CACHE", str(tmp_path))
    calls: list[Path] = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "x").write_text("1", encoding="ascii")
        if len(calls) == 1:
            raise VmError("the first time fails")

    with pytest.raises(VmError):
        cache.made("kind", ["a"], make)
    assert [path for path in (tmp_path / "kind").iterdir() if path.is_dir()] == []
    folder = cache.made("kind", ["a"], make)
    assert (folder / "x").read_text(encoding="ascii") == "1"
    assert cache.made("kind", ["a"], make) == folder
    assert len(calls) == 2
    assert cache.made("kind", ["b"], make) != folder


def test_only_the_images_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACID_VM_CACHE", str(tmp_path))
    for number in range(cache.KEPT + 2):
        last = cache.made("kind", number, lambda folder: None)
    kept = [path for path in (tmp_path / "kind").iterdir() if path.is_dir()]
    assert len(kept) == cache.KEPT and last in kept


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio, which reads what the kernel reads, is not installed")
def test_files_and_links_are_laid_into_an_archive_that_cpio_reads(tmp_path: Path) -> None:
    (tmp_path / "initrd").write_bytes(b"")
    files = {"/etc/tacid/config.toml": "[engine]\n", "/etc/tacid/keys": "a:b\n"}
    data = initrd_with(tmp_path / "initrd", files, {"/etc/x.wants/y": "/usr/y"})
    subprocess.run(["cpio", "-id", "--quiet"], input=data, cwd=tmp_path, check=True)
    assert (tmp_path / "extra/etc/tacid/config.toml").read_text(encoding="ascii") == "[engine]\n"
    assert (tmp_path / "extra/etc/tacid/keys").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "extra/etc/x.wants/y").readlink() == Path("/usr/y")
