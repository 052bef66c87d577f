"""What is told to systemd, and what is taken from it."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from tacid.systemd import MAX_STATUS, Notifier, directory
from tests.notified import notified


def test_each_notification_is_a_datagram_of_its_lines(tmp_path: Path) -> None:
    with notified(tmp_path) as manager:
        notifier = Notifier(manager.address)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        notifier.ready()
        notifier.reloading()
        notifier.alive()
        notifier.stopping()
        names = [name for name, _ in manager.told]
        assert names == ["READY", "RELOADING", "MONOTONIC_USEC", "WATCHDOG", "STOPPING"]
        assert int(manager.values("MONOTONIC_USEC")[0]) >= before


def test_a_status_is_one_line_and_told_when_it_changes(tmp_path: Path) -> None:
    with notified(tmp_path) as manager:
        notifier = Notifier(manager.address)
        for words in ("loading\nREADY=1", "loading READY=1", "x" * 1000, "half \udc80"):
            notifier.status(words)
        assert manager.told == [("STATUS", "loading READY=1"), ("STATUS", "x" * MAX_STATUS), ("STATUS", "half ?")]


def test_an_abstract_name_is_one_after_an_at_sign() -> None:
    name = f"tacid-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        Notifier(f"@{name}").ready()
        assert listening.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "relative", "@nobody-listens", "/" + "x" * 200])
def test_nobody_who_listens_is_no_error(address: str) -> None:
    Notifier(address).ready()


def test_a_manager_that_does_not_read_holds_up_nobody(tmp_path: Path) -> None:
    with notified(tmp_path) as manager:
        notifier = Notifier(manager.address)
        for _ in range(5000):
            notifier.alive()
        assert 0 < len(manager.told) < 5000


def test_the_environment_is_taken_and_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    for process, seconds in ((str(os.getpid()), 15.0), (str(os.getpid() + 1), None), ("", 15.0)):
        monkeypatch.setenv("WATCHDOG_USEC", "30000000")
        monkeypatch.setenv("WATCHDOG_PID", process)
        assert Notifier.of_environment().watchdog == seconds
    assert not os.environ.keys() & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}
    for odd in ("", "0", "-5", "soon"):
        monkeypatch.setenv("WATCHDOG_USEC", odd)
        assert Notifier.of_environment().watchdog is None


def test_a_directory_is_the_first_one_that_the_unit_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, found in (("/run/a:/run/b", Path("/run/a")), ("/run/a", Path("/run/a")), ("", None), ("a", None)):
        monkeypatch.setenv("RUNTIME_DIRECTORY", value)
        assert directory("RUNTIME") == found
    monkeypatch.delenv("RUNTIME_DIRECTORY")
    assert directory("RUNTIME") is None
