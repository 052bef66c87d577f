"""A machine as scripts see it: the methods of the NixOS test driver's ``Machine`` that they use, with its meaning."""

from __future__ import annotations

import base64
import io
import shlex
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from vmtests.errors import TestFailed, VmError
from vmtests.qemu import Hardware, Qemu

#: Seconds that something may take where a script names no other bound, as in the NixOS driver.
PATIENCE = 900.0
#: Seconds until the shell inside must answer after the start, and until an orderly end must have come.
_BOOT, _END = 240.0, 120.0


class Machine:
    """One guest: off until `start`; every method that needs it running starts it. ``say`` hears what is done."""

    def __init__(self, hardware: Hardware, console: Path, say: Callable[[str], None]) -> None:
        self.name = hardware.name
        self._hardware = hardware
        self._console = console
        self._say = say
        self._qemu: Qemu | None = None
        self._deadline: float | None = None

    def until(self, deadline: float | None) -> None:
        """Nothing may take longer than this moment (``time.monotonic``)."""
        self._deadline = deadline

    @property
    def booted(self) -> bool:
        """Whether it runs."""
        return self._qemu is not None and self._qemu.running

    def log(self, message: str) -> None:
        """Say something about this machine."""
        self._say(f"{self.name}: {message}")

    def start(self, allow_reboot: bool = False) -> None:
        """Switch it on; nothing where it runs. It returns before the guest has booted."""
        del allow_reboot
        if not self.booted:
            self.log("starting")
            self._qemu = Qemu(self._hardware, self._console)

    def connect(self) -> Qemu:
        """The running machine, once its shell answers."""
        if self._qemu is None or not self._qemu.running:
            self.start()
        assert self._qemu is not None
        begun = time.monotonic()
        try:
            first = not self._qemu._answers
            self._qemu.wait_for_shell(self._left(_BOOT))
        except VmError as error:
            raise VmError(f"{self.name} did not boot: {error} Its last words: {self.last_words()}") from None
        if first:
            self.log(f"booted, {time.monotonic() - begun:.1f} s")
        return self._qemu

    def execute(
        self, command: str, check_return: bool = True, check_output: bool = True, timeout: int | None = 900
    ) -> tuple[int, str]:
        """Run a script of bash inside; its exit status and its standard output."""
        del check_return, check_output
        return self.connect().ask(f"set -euo pipefail; {command}", self._left(timeout or PATIENCE))

    def succeed(self, *commands: str, timeout: int | None = None) -> str:
        """The output of commands, each of which must succeed."""
        out = ""
        for command in commands:
            status, text = self.execute(command, timeout=timeout)
            if status != 0:
                raise TestFailed(f"{self.name}: {_short(command)} failed with {status}: {text.strip()[-2000:]}")
            out += text
        return out

    def fail(self, *commands: str, timeout: int | None = None) -> str:
        """The output of commands, each of which must fail."""
        out = ""
        for command in commands:
            status, text = self.execute(command, timeout=timeout)
            if status == 0:
                raise TestFailed(f"{self.name}: {_short(command)} succeeded, which it must not: {text.strip()[-2000:]}")
            out += text
        return out

    def wait_until_succeeds(self, command: str, timeout: int = 900) -> str:
        """The output of a command, as soon as it succeeds."""
        return self._wait(
            lambda: self.execute(command, timeout=timeout), True, f"{_short(command)} to succeed", timeout
        )

    def wait_until_fails(self, command: str, timeout: int = 900) -> str:
        """The output of a command, as soon as it fails."""
        return self._wait(lambda: self.execute(command, timeout=timeout), False, f"{_short(command)} to fail", timeout)

    def systemctl(self, q: str, user: str | None = None) -> tuple[int, str]:
        """``systemctl`` with these arguments."""
        del user
        return self.execute(f"systemctl {q}")

    def get_unit_info(self, unit: str, user: str | None = None) -> dict[str, str]:
        """What ``systemctl show`` says of a unit."""
        status, text = self.systemctl(f'--no-pager show "{unit}"', user)
        if status != 0:
            raise VmError(f"{self.name} can't say how {unit} is.")
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def get_unit_property(self, unit: str, property: str, user: str | None = None) -> str:  # noqa: A002
        """One property of a unit."""
        return self.get_unit_info(unit, user)[property]

    def wait_for_unit(self, unit: str, user: str | None = None, timeout: int = 900) -> None:
        """Until a unit is active. Raises ``TestFailed`` at once where it failed, or where nothing will start it."""
        begun, end = time.monotonic(), time.monotonic() + self._left(timeout)
        while True:
            info = self.get_unit_info(unit, user)
            state = info["ActiveState"]
            if state == "active":
                self.log(f"{unit} is active, {time.monotonic() - begun:.1f} s")
                return
            if state == "failed":
                raise TestFailed(f"{self.name}: {unit} failed: {info.get('Result')}. {self.journal(unit)}")
            waiting = state != "inactive" or self.execute("systemctl list-jobs --no-legend")[1].strip()
            if not waiting and self.get_unit_info(unit, user)["ActiveState"] == "inactive":
                raise TestFailed(f"{self.name}: {unit} is inactive, and no job will start it. {self.journal(unit)}")
            if time.monotonic() > end:
                raise TestFailed(f"{self.name}: {unit} is still {state} after {timeout} seconds. {self.journal(unit)}")
            time.sleep(0.5)

    def wait_for_open_port(self, port: int, addr: str = "localhost", timeout: int = 900) -> None:
        """Until something listens on a TCP port."""
        self.wait_until_succeeds(f"timeout 5 bash -c '</dev/tcp/{addr}/{port}'", timeout)

    def wait_for_closed_port(self, port: int, addr: str = "localhost", timeout: int = 900) -> None:
        """Until nothing listens on a TCP port."""
        self.wait_until_fails(f"timeout 5 bash -c '</dev/tcp/{addr}/{port}'", timeout)

    def wait_for_file(self, filename: str, timeout: int = 900) -> None:
        """Until a file is there."""
        self.wait_until_succeeds(f"test -e {shlex.quote(filename)}", timeout)

    def start_job(self, jobname: str, user: str | None = None) -> None:
        """Start a unit and wait for that."""
        del user
        self.succeed(f"systemctl start {jobname}")

    def stop_job(self, jobname: str, user: str | None = None) -> None:
        """Stop a unit and wait for that."""
        del user
        self.succeed(f"systemctl stop {jobname}")

    def copy_from_host(self, source: str, target: str) -> None:
        """Copy a file or a folder of this machine to a path inside."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
            tar.add(source, arcname=Path(target).name)
        data = base64.b64encode(packed.getvalue()).decode()
        parent = shlex.quote(str(Path(target).parent))
        self.succeed(f"mkdir -p {parent}; : >/run/tacid-vm-copy")
        for start in range(0, len(data), 500_000):
            self.succeed(f"base64 -d >>/run/tacid-vm-copy <<<'{data[start : start + 500_000]}'")
        self.succeed(f"tar -xzf /run/tacid-vm-copy -C {parent}; rm /run/tacid-vm-copy")

    def sleep(self, secs: int) -> None:
        """Seconds of the guest's own clock."""
        self.succeed(f"sleep {secs}")

    def block(self) -> None:
        """Pull the network's plug."""
        self._link(False)

    def unblock(self) -> None:
        """Put it in again."""
        self._link(True)

    def shutdown(self) -> None:
        """An orderly end."""
        if not self.booted:
            return
        qemu = self.connect()
        self.log("shutting down")
        with suppress(VmError):
            qemu.ask("systemctl poweroff --no-block", 30)
        if not qemu.wait(self._left(_END)):
            raise TestFailed(f"{self.name} did not end within {_END:.0f} seconds.")
        self._forget()

    def crash(self) -> None:
        """The power goes."""
        if self._qemu is not None:
            self.log("power cut")
            self._qemu.quit()
            self._forget()

    def _forget(self) -> None:
        # From now on it boots.
        self._qemu = None
        self._hardware = replace(self._hardware, snapshot="")

    def reboot(self) -> None:
        """An orderly end and a new start."""
        self.shutdown()
        self.start()

    def journal(self, unit: str = "") -> str:
        """The last lines of the journal, or why they can't be had."""
        words = f"-u {shlex.quote(unit)}" if unit else ""
        try:
            return self.execute(f"journalctl --no-pager -o short-monotonic -n 60 {words}", timeout=60)[1]
        except VmError as error:
            return f"(no journal: {error})"

    def last_words(self) -> str:
        """What the console said last."""
        try:
            return self._console.read_text(encoding="utf-8", errors="replace")[-1500:]
        except OSError:
            return ""

    def _link(self, up: bool) -> None:
        self.connect().monitor("set_link", name="card", up=up)

    def _left(self, wanted: float) -> float:
        if self._deadline is None:
            return wanted
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TestFailed(f"{self.name}: the time that the script has is over.")
        return min(wanted, left)

    def _wait(self, attempt: Callable[[], tuple[int, str]], good: bool, what: str, timeout: int) -> str:
        end, pause = time.monotonic() + self._left(timeout), 0.2
        while True:
            status, text = attempt()
            if (status == 0) == good:
                return text
            if time.monotonic() > end:
                raise TestFailed(f"{self.name}: waited {timeout} seconds for {what}: {text.strip()[-1500:]}")
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)


@contextmanager
def subtest(say: Callable[[str], None], name: str) -> Iterator[None]:
    """A part of a script, named where it fails."""
    begun = time.monotonic()
    say(f"- {name}")
    try:
        yield
    except Exception as error:
        raise TestFailed(f"{name}: {error}") from error
    say(f"  {time.monotonic() - begun:.1f} s")


def _short(command: str) -> str:
    return repr(command if len(command) <= 300 else f"{command[:300]} …")


__all__ = ["PATIENCE", "Machine", "subtest"]
