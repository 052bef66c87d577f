"""The list of services while it is changed under a running server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tacid.config import MachineConfig
from tacid.machine import services, watched
from tacid.machine.services import ServiceList
from tacid.machine.watched import WatchedServices

#: What every file of a Nix store has for a time.
STORE_TIME = 1


def write(path: Path, *names: str) -> Path:
    path.write_text(json.dumps(names), encoding="utf-8")
    os.utime(path, (STORE_TIME, STORE_TIME))
    return path


def test_links_into_a_store_are_told_apart_by_where_they_lead(path: Path, config: MachineConfig) -> None:
    store = path.parent / "store"
    store.mkdir()
    path.symlink_to(write(store / "a-services.json", "nginx"))
    watching = WatchedServices(config)
    assert watching.look().state.list == ServiceList(("nginx",))
    assert not watching.look().changed
    (path.parent / "new").symlink_to(write(store / "b-services.json", "redis"))
    (path.parent / "new").replace(path)
    look = watching.look()
    assert look.changed
    assert look.state.list == ServiceList(("redis",))


def test_a_change_of_the_same_size_and_time_counts(path: Path, config: MachineConfig) -> None:
    watching = WatchedServices(config)
    write(path, "nginx")
    assert watching.look().state.list == ServiceList(("nginx",))
    write(path, "redis")
    assert watching.look().state.list == ServiceList(("redis",))


def test_the_last_good_list_holds_whatever_becomes_of_the_file(path: Path, config: MachineConfig) -> None:
    watching = WatchedServices(config)
    write(path, "nginx")
    watching.look()

    def as_directory() -> None:
        path.unlink(missing_ok=True)
        path.mkdir()

    ways: tuple[Callable[[], object], ...] = (
        lambda: path.write_text("["),
        lambda: path.write_text('{"version": 9, "services": ["evil"]}'),
        lambda: path.write_text('["a", 1]'),
        path.unlink,
        as_directory,
    )
    reasons = set()
    for way in ways:
        way()
        look = watching.look()
        assert look.changed
        assert (look.state.standing, look.state.offered) == ("last_good", True)
        assert look.state.list == ServiceList(("nginx",))
        reasons |= set(look.state.notices)
        assert not watching.look().changed, "once a change, not once a request"
    assert len(reasons) == len(ways)
    path.rmdir()
    write(path, "redis")
    assert watching.look().state.list == ServiceList(("redis",))


def test_the_last_good_list_needs_no_state_directory_while_the_server_runs(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    watching = WatchedServices(MachineConfig(services=path, state_dir=tmp_path / "file" / "state"))
    write(path, "nginx")
    assert "can't be written" in watching.look().state.notices[0]
    path.unlink()
    look = watching.look()
    assert (look.state.standing, look.state.list) == ("last_good", ServiceList(("nginx",)))


def test_a_copy_that_could_not_be_written_is_written_as_soon_as_it_can_be(path: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "state"
    blocked.write_text("", encoding="utf-8")
    watching = WatchedServices(MachineConfig(services=path, state_dir=blocked))
    write(path, "nginx")
    assert not watching.look().state.kept
    blocked.unlink()
    look = watching.look()
    assert look.changed
    assert look.state.notices == ()
    assert list((blocked / "services").iterdir())


def test_the_usual_file_may_be_absent_but_not_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tmp_path / "usual.json"
    for module in (services, watched):
        monkeypatch.setattr(module, "SERVICES_FILE", usual)
    config = MachineConfig(state_dir=tmp_path / "state")
    watching = WatchedServices(config)
    assert watching.look().state.standing == "absent"
    write(usual, "nginx")
    assert watching.look().state.list == ServiceList(("nginx",))
    usual.unlink()
    for after in (watching, WatchedServices(config)):
        state = after.look().state
        assert (state.standing, state.list) == ("last_good", ServiceList(("nginx",))), "also after a restart"
    write(usual)
    assert WatchedServices(config).look().state.list == ServiceList(), "an empty list narrows nothing, on purpose"
