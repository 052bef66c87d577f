"""The allow-list of services: read strictly, kept when good, and never an empty list by accident."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tacid.catalogue import Catalogue
from tacid.config import MachineConfig
from tacid.errors import ServicesError
from tacid.machine import services as module
from tacid.machine.protocol import PROTOCOL_TOOLS, SERVICE_KINDS
from tacid.machine.services import (
    MAX_SERVICES,
    ServiceList,
    load_services,
    read_services,
    service_narrowings,
    services_for,
)
from tacid.schema.narrow import narrow

EXAMPLE = Path(__file__).parents[2] / "examples" / "services.json"


def write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


def copies(config: MachineConfig) -> list[Path]:
    return sorted((config.state_dir / "services").iterdir())


def test_the_three_forms() -> None:
    names = ("nginx", "sshd")
    assert read_services(["nginx", "sshd"]) == ServiceList(names)
    mixed = [{"name": "nginx", "description": "web server", "since": 3}, {"name": "sshd", "description": None}]
    assert read_services(mixed).names == names
    assert dict(read_services(mixed).descriptions) == {"nginx": "web server"}
    assert read_services({"version": 1, "services": mixed, "more": 1}).names == names
    assert read_services([]).names == ()


def test_the_example_machine_is_read() -> None:
    services = load_services(EXAMPLE)
    assert len(services.names) == len(services.descriptions) == 12


def test_a_name_twice_counts_once_with_the_first_description() -> None:
    entries = [
        "a",
        {"name": "b", "description": ""},
        {"name": "a", "description": "x"},
        {"name": "a", "description": "y"},
        "b",
    ]
    services = read_services(entries)
    assert services.names == ("a", "b")
    assert dict(services.descriptions) == {"a": "x"}


@pytest.mark.parametrize("name", ["getty@tty1", "dev-disk-by\\x2dlabel-a.device", 'a"b', "x y", "-", "café", "n" * 256])
def test_names_that_hold_signs_are_names(name: str) -> None:
    assert read_services([name]).names == (name,)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "holds no list"),
        ("nginx", "holds no list"),
        ({"version": 2, "services": []}, 'has the version "2"'),
        ({"version": "1", "services": []}, "has the version"),
        ({"version": True, "services": []}, "has the version"),
        ({"services": []}, "has no version"),
        ({"version": 1}, "holds no list"),
        ({"version": 1, "services": {"nginx": {}}}, "holds no list"),
        (["a", 3], "entry 1 has no name"),
        (["a", None], "entry 1 has no name"),
        (["a", {"description": "x"}], "entry 1 has no name"),
        (["a", ["b"]], "entry 1 has no name"),
        (["a", ""], "entry 1 has a name of 0 characters"),
        (["a", "n" * 257], "entry 1 has a name of 257 characters; 1 to 256"),
        (["a", "b\nc"], 'entry 1: the name "b\\nc" holds a control character'),
        (["\0"], "control character"),
        (["a\x1b[2J"], "control character"),
        (["a\u202eb"], "control character"),
        (["a\u2028b"], "control character"),
        (["a\ud800"], "control character"),
        ([{"name": "a", "description": 3}], 'entry 0 ("a"): the description is no text'),
        (["x"] * (MAX_SERVICES + 1), "has 100,001 services; the limit is 100,000"),
    ],
)
def test_other_shapes_are_one_sentence_that_names_the_entry(document: Any, words: str) -> None:
    with pytest.raises(ServicesError) as caught:
        read_services(document, "The services file x")
    message = str(caught.value)
    assert message.startswith("The services file x")
    assert words in message
    assert not set(message) & set("\n\0\x1b\u202e\u2028\ud800")


def test_files_that_can_not_be_read_are_errors_that_name_them(path: Path) -> None:
    with pytest.raises(ServicesError, match=r"services\.json does not exist"):
        load_services(path)
    path.write_text("[", encoding="utf-8")
    with pytest.raises(ServicesError, match=r"services\.json is not JSON"):
        load_services(path)
    path.write_bytes(b'["caf\xe9"]')
    with pytest.raises(ServicesError, match="not UTF-8"):
        load_services(path)
    path.write_bytes(b"")
    with pytest.raises(ServicesError, match="not JSON"):
        load_services(path)
    path.write_text("[" * 1000 + "]" * 1000, encoding="utf-8")
    with pytest.raises(ServicesError, match="too deep"):
        load_services(path)
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(ServicesError, match="has 50,000,000 bytes"):
        load_services(path)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(ServicesError, match="can't be read"):
        load_services(path)
    with pytest.raises(ServicesError, match="can't be read"):
        load_services(Path("a\0b"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"version": 1, "services": ["nginx"], "services": []}', "services"),
        ('{"version": 2, "version": 1, "services": ["nginx"]}', "version"),
        ('["sshd", {"name": "nginx", "name": "sshd"}]', "name"),
    ],
)
def test_a_key_twice_is_an_error_that_names_it(text: str, key: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ServicesError, match=rf'The services file .*services\.json has the key "{key}" twice'):
        load_services(path)


def test_pipes_sockets_and_directories_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket", "."):
            with pytest.raises(ServicesError, match="is no regular file"):
                load_services(tmp_path / name)


def test_a_good_list_is_kept_and_used_when_the_file_breaks(path: Path, config: MachineConfig) -> None:
    write(path, [{"name": "nginx", "description": 'say "hi" \u202e'}, "café"])
    state = services_for(config)
    assert (state.offered, state.notices) == (True, ())
    for breaking in (lambda: path.write_text("["), lambda: path.write_text('["a\\nb"]'), path.unlink):
        breaking()
        again = services_for(config)
        assert again.list == state.list
        assert again.offered
        [notice] = again.notices
        assert str(path) in notice
        assert "The last list that worked is used (2 names)." in notice


def test_without_a_copy_nothing_can_be_proposed_and_it_is_said_why(path: Path, config: MachineConfig) -> None:
    for text in (None, "", "[", '{"version": 9}'):
        if text is not None:
            path.write_text(text, encoding="utf-8")
        state = services_for(config)
        assert state.list is None
        assert not state.offered
        assert str(path) in state.notices[0]
        assert "propose_changes is not offered" in state.notices[-1]


def test_a_broken_copy_is_no_list_either(path: Path, config: MachineConfig) -> None:
    write(path, ["nginx"])
    services_for(config)
    [copy] = copies(config)
    copy.write_text("[]x", encoding="utf-8")
    path.unlink()
    state = services_for(config)
    assert (state.list, state.offered) == (None, False)
    assert len(state.notices) == 2


def test_a_flag_goes_before_the_configuration_and_has_a_copy_of_its_own(path: Path, config: MachineConfig) -> None:
    write(path, ["of-config"])
    other = path.with_name("other.json")
    write(other, ["of-flag"])
    assert services_for(config).list == ServiceList(("of-config",))
    assert services_for(config, other).list == ServiceList(("of-flag",))
    assert len(copies(config)) == 2
    path.unlink()
    other.unlink()
    assert services_for(config).list == ServiceList(("of-config",))
    assert services_for(config, other).list == ServiceList(("of-flag",))


def test_only_the_usual_file_may_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tmp_path / "etc" / "services.json"
    monkeypatch.setattr(module, "SERVICES_FILE", usual)
    config = MachineConfig(state_dir=tmp_path / "state")
    state = services_for(config)
    assert (state.list, state.offered) == (None, True)
    assert str(usual) in state.notices[0]
    usual.parent.mkdir()
    usual.write_text("broken", encoding="utf-8")
    assert not services_for(config).offered
    write(usual, ["nginx"])
    assert services_for(config).list == ServiceList(("nginx",))
    usual.unlink()
    usual.parent.rmdir()
    usual.parent.symlink_to(usual.parent)
    state = services_for(config)
    assert (state.list, state.offered) == (ServiceList(("nginx",)), True)
    assert "can't be read" in state.notices[0]


def test_an_empty_list_is_said_and_narrows_nothing(path: Path, config: MachineConfig) -> None:
    write(path, [])
    state = services_for(config)
    assert state.list == ServiceList()
    assert state.offered
    assert "empty list" in state.notices[0]
    catalogue = Catalogue(PROTOCOL_TOOLS)
    assert narrow(catalogue, service_narrowings(state.list)) == catalogue


def test_a_state_directory_that_can_not_be_written_is_a_notice(path: Path, tmp_path: Path) -> None:
    write(path, ["nginx"])
    (tmp_path / "file").write_text("", encoding="utf-8")
    state = services_for(MachineConfig(services=path, state_dir=tmp_path / "file" / "state"))
    assert state.list == ServiceList(("nginx",))
    assert state.offered
    assert "can't be written" in state.notices[0]


def test_a_copy_that_can_not_be_finished_leaves_the_old_one_whole(
    path: Path, config: MachineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, ["old"])
    services_for(config)
    write(path, ["new"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    state = services_for(config)
    assert state.list == ServiceList(("new",))
    assert "No space left on device" in state.notices[0]
    [copy] = copies(config)
    assert json.loads(copy.read_text(encoding="utf-8"))["services"] == ["old"]


def test_an_unchanged_list_is_not_written_again(path: Path, config: MachineConfig) -> None:
    write(path, ["nginx"])
    services_for(config)
    [copy] = copies(config)
    before = copy.stat()
    services_for(config)
    after = copy.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_list_narrows_every_service_operation_and_nothing_else() -> None:
    services = ServiceList(("nginx", "sshd"))
    now = narrow(Catalogue(PROTOCOL_TOOLS), service_narrowings(services))
    narrowed = {
        definition["properties"]["kind"]["const"]
        for definition in now["propose_changes"].parameters["$defs"].values()
        if definition.get("properties", {}).get("name", {}).get("enum") == ["nginx", "sshd"]
    }
    assert narrowed == set(SERVICE_KINDS)
    assert service_narrowings(None) == ()


def test_one_name_and_a_broken_character_are_said_in_good_words(tmp_path: Path) -> None:
    file = tmp_path / "services.json"
    config = MachineConfig(services=file, state_dir=tmp_path / "state")
    file.write_text('["nginx"]', encoding="utf-8")
    assert services_for(config).notices == ()
    file.write_text('["ngi\nnx"]', encoding="utf-8")
    (notice,) = services_for(config).notices
    assert "character at line 1, column 6." in notice
    assert notice.endswith("(1 name).")
