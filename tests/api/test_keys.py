"""Keys: what a file may hold, when it is read again, and which addresses need some."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

import pytest

from tacid.api.keys import MAX_BYTES, Keys, Networks, check_exposure, is_loopback, keys_of, read_keys
from tacid.config import Config, ServerConfig
from tacid.errors import InputError

ONE, TWO = "first-key-0123456789", "second-key-0123456789"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_plain_and_hashed_keys_are_known_by_name(tmp_path: Path) -> None:
    digest = hashlib.sha256(TWO.encode()).hexdigest()
    keys = Keys(write(tmp_path / "keys", f"# people\n\n  phone:{ONE}  \nlap.top-2:sha256:{digest.upper()}\r\n"))
    assert keys.name_of(ONE.encode()) == "phone"
    assert keys.name_of(TWO.encode()) == "lap.top-2"
    assert keys.name_of(b"") is None
    assert keys.name_of(ONE.encode() + b"x") is None
    assert keys.name_of(digest.encode()) is None
    assert keys.name_of(b"\xff\x00") is None


def test_a_key_may_hold_colons(tmp_path: Path) -> None:
    assert Keys(write(tmp_path / "keys", "a:sk:0123456789:abcdef")).name_of(b"sk:0123456789:abcdef") == "a"


def test_no_key_is_kept_as_it_is(tmp_path: Path) -> None:
    keys = Keys(write(tmp_path / "keys", f"phone:{ONE}"))
    assert ONE not in repr(vars(keys))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no key"),
        ("# only\n", "has no key"),
        (ONE, "line 1: write name:key"),
        (f":{ONE}", "line 1: write name:key"),
        (f"a b:{ONE}", "line 1: write name:key"),
        (f"\n{'n' * 65}:{ONE}", "line 2: write name:key"),
        ("a:short", "line 1: the key of a needs 16 characters"),
        ("a:", "line 1: the key of a needs 16 characters"),
        ("a:with spaces 0123456789", "line 1: the key of a needs"),
        ("a:sha256:12", "line 1: sha256: is followed by the 64"),
        (f"a:{ONE}\na:{TWO}", "line 2: this name"),
        (f"a:{ONE}\nb:{ONE}", "line 2: this name, or its key"),
        (b"a:\xff", "is not UTF-8 text (byte 2)"),
        ("#" * (MAX_BYTES + 1), "more than 1,048,576 bytes"),
    ],
)
def test_a_bad_file_is_one_sentence_without_a_key(tmp_path: Path, text: str | bytes, words: str) -> None:
    path = write(tmp_path / "keys", text)
    with pytest.raises(InputError) as caught:
        read_keys(path)
    assert str(caught.value).startswith(f"The file of keys {path}")
    assert words in str(caught.value)
    assert "0123456789" not in str(caught.value)


def test_a_missing_file_a_directory_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("none", "No such file"), (".", "regular file|Is a directory"), ("pipe", "no regular file")):
        with pytest.raises(InputError, match=words):
            Keys(tmp_path / name)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "keys", f"a:{ONE}")
    keys = Keys(path)
    write(path, f"a:{ONE}\nb:{TWO}")
    assert keys.name_of(TWO.encode()) == "b"
    write(tmp_path / "new", f"b:{TWO}").replace(path)
    assert keys.name_of(ONE.encode()) is None


@pytest.mark.parametrize("text", ["", "nonsense", f"a:{TWO}\nnonsense", None])
def test_a_file_that_broke_leaves_the_last_good_keys_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    path = write(tmp_path / "keys", f"a:{ONE}")
    keys = Keys(path)
    path.unlink() if text is None else write(path, text)
    with caplog.at_level(logging.WARNING, logger="tacid"):
        logging.getLogger("tacid").propagate = True
        assert keys.name_of(ONE.encode()) == "a"
        assert keys.name_of(TWO.encode()) is None
        said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1, "once a change, not once a request"
    assert str(path) in said[0]
    assert "1 keys read before stay in force" in said[0]
    write(path, f"b:{TWO}")
    assert keys.name_of(TWO.encode()) == "b"
    assert keys.name_of(ONE.encode()) is None


def test_a_unit_gives_keys_as_a_credential_and_a_reload_newer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, runtime = tmp_path / "credentials", tmp_path / "runtime"
    given.mkdir()
    runtime.mkdir()
    assert keys_of(ServerConfig()) is None
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(given))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(runtime))
    for text in (None, "# none", "\n"):
        if text is not None:
            write(given / "keys", text)
        keys = keys_of(ServerConfig())
        assert keys is not None
        assert not keys.asked
        with pytest.raises(InputError, match="without keys"):
            check_exposure(Config(server=ServerConfig(host="0.0.0.0")))
    write(runtime / "keys", f"a:{ONE}")
    assert keys.asked, "the first keys of a server that asked for none"
    write(given / "keys", f"b:{TWO}")
    assert keys.name_of(ONE.encode()) == "a", "what a reload handed over is newer"
    assert keys.name_of(TWO.encode()) is None
    write(runtime / "keys", "# none")
    assert keys.asked, "keys that were asked for once are never given up"
    (runtime / "keys").unlink()
    for config in (ServerConfig(), ServerConfig(keys=given / "keys")):
        check_exposure(Config(server=ServerConfig(host="0.0.0.0")))
        again = keys_of(config)
        assert again is not None
        assert again.name_of(TWO.encode()) == "b"
        write(runtime / "keys", f"a:{ONE}")
        assert again.name_of(ONE.encode()) == "a"
        (runtime / "keys").unlink()
    write(given / "keys", "nonsense")
    with pytest.raises(InputError, match="line 1"):
        keys_of(ServerConfig())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.4.5", "::1", "localhost", "::ffff:127.0.0.1"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert is_loopback(host)
    check_exposure(Config(server=ServerConfig(host=host)))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "box.lan", "fe80::1", "127.0.0.1.evil.example"])
def test_another_address_needs_keys_and_says_why(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"listen on {host} without keys: whoever reaches it.*server.keys"):
        check_exposure(Config(server=ServerConfig(host=host, trusted=("10.0.0.0/8",))))
    check_exposure(Config(server=ServerConfig(host=host, keys=tmp_path / "keys")))


def test_networks() -> None:
    networks = Networks(("192.168.1.0/24", "10.0.0.7", "fd00::/8"))
    for inside in ("192.168.1.9", "::ffff:192.168.1.9", "10.0.0.7", "fd00::1"):
        assert inside in networks
    for outside in ("192.168.2.9", "10.0.0.8", "::1", "localhost", "", None):
        assert outside not in networks
