"""The configuration: where it is looked for, what it holds, and errors that name the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacid.config import MAX_BYTES, Config, config_path, load_config
from tacid.errors import InputError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("TACID_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_without_a_file_the_defaults_hold(home: Path) -> None:
    if Path("/etc/tacid/config.toml").exists():
        assert config_path() == Path("/etc/tacid/config.toml")
        return
    assert config_path() is None
    config = load_config()
    assert config.server.port == 8017
    assert config.machine.services is None
    assert config.machine.state_dir == home / ".local/state/tacid"
    assert config.model.dir == home / ".local/share/tacid/models"


def test_a_file_is_found_by_variable_then_by_xdg_then_at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = write(home / ".config/tacid/config.toml", "[server]\nport = 1111")
    assert config_path() == at_home
    assert load_config().server.port == 1111
    by_xdg = write(home / "xdg/tacid/config.toml", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert config_path() == by_xdg
    monkeypatch.setenv("TACID_CONFIG", str(home / "named.toml"))
    assert config_path() == home / "named.toml"
    with pytest.raises(InputError, match=r"named\.toml can't be read: No such file.*TACID_CONFIG"):
        load_config()


def test_a_relative_xdg_variable_does_not_count(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert Config().machine.state_dir == home / ".local/state/tacid"


def test_every_section_is_read(home: Path) -> None:
    path = write(
        home / "c.toml",
        """
        [engine]
        url = "http://127.0.0.1:8080"
        threads = 2
        extra_args = ["--flash-attn", "off"]
        [model]
        name = "/models/a.gguf"
        [machine]
        services = "/etc/x.json"
        [server]
        port = 8018
        """,
    )
    config = load_config(path)
    assert config.engine.threads == 2
    assert config.engine.extra_args == ("--flash-attn", "off")
    assert config.machine.services == Path("/etc/x.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port 8017", "is not TOML"),
        (b"a = '\xff'", "is not UTF-8 text (byte 5)"),
        ("a = " + "[" * 5000 + "]" * 5000, "nests too deep"),
        ("x" * (MAX_BYTES + 1), "more than 262,144 bytes"),
        ("engine = 3", "engine: "),
        ("[engine]\nthreads = 'many'", "engine.threads: "),
        ("[engine]\nthreds = 2", "engine.threds: there is no such setting"),
        ("[sevrer]\nport = 2", "sevrer: there is no such setting"),
        ("[server]\nport = 0", "server.port: "),
        ("[server]\nport = 65536", "server.port: "),
        ("[engine]\nkey = 'secret-word'\nslots = 0", "engine.slots: "),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_file_and_key(home: Path, text: str | bytes, words: str) -> None:
    path = write(home / "c.toml", text)
    with pytest.raises(InputError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"The configuration {path}")
    assert words in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))
    assert "secret-word" not in message


def test_a_directory_and_a_huge_file_are_refused(home: Path) -> None:
    with pytest.raises(InputError, match="can't be read: Is a directory"):
        load_config(home)
    huge = home / "huge.toml"
    with huge.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(InputError, match="more than"):
        load_config(huge)


def test_a_file_that_can_not_be_looked_at_is_not_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A loop of links fails for root, too, which permissions would not.
    (home / ".config").mkdir()
    (home / ".config/tacid").symlink_to("tacid")
    assert config_path() == home / ".config/tacid/config.toml"
    with pytest.raises(InputError, match="can't be read"):
        load_config()


def test_no_home_directory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(InputError, match="no home directory; set HOME or XDG_"):
        Config()


def test_nothing_is_changed_after_it_was_read() -> None:
    with pytest.raises(ValueError):
        Config().server.port = 1  # type: ignore[misc]
