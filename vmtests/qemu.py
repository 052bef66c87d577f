"""One QEMU: its command line, its monitor (QMP), and the shell inside, over sockets in a folder of its own."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtests import cache
from vmtests.base import Base, run
from vmtests.errors import VmError

BINARY = "qemu-system-x86_64"
#: What the kernel is told: no defences that cost emulated time, and a console that says only what matters.
_KERNEL = (
    "console=ttyS0 loglevel=4 mitigations=off nokaslr no5lvl audit=0 lsm=landlock,lockdown,yama panic=-1 "
    "net.ifnames=0 random.trust_cpu=on "
    "tsc=reliable systemd.show_status=no systemd.log_target=journal"
)
#: Seconds within which a machine under KVM must say that it lives.
_PROBE = 8.0
#: Seconds that QEMU gets to end when it is told to.
_QUIT = 60.0


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a machine is made of; an ``address`` (``192.168.1.1/24``) gives it a card on the network ``network``."""

    name: str
    under: Base
    disk: Path
    initrd: Path
    payload: Path | None = None
    memory: int = 1024
    address: str = ""
    network: tuple[Path, Path] | None = None
    hosts: tuple[tuple[str, str], ...] = ()
    #: The state within the disk that it goes on from, instead of booting.
    snapshot: str = ""


#: Those that run, to end them all when we are told to end.
_RUNNING: set[Qemu] = set()
_ended = threading.Event()


def end_all() -> None:
    """End every QEMU, and start no other: whoever uses one is told that it is gone."""
    _ended.set()
    for qemu in list(_RUNNING):
        qemu.process.kill()


class Qemu:
    """A running QEMU; ends with ``quit``. ``console`` is the file that its serial port is written to."""

    def __init__(self, hardware: Hardware, console: Path) -> None:
        self.hardware = hardware
        self.console = console
        # The path of a socket is short, whatever the cache is called.
        self._folder = tempfile.TemporaryDirectory(prefix="tacid-vm-")
        folder = Path(self._folder.name)
        self._monitor_path, shell = folder / "qmp", folder / "shell"
        command = _command(hardware, console, self._monitor_path, shell)
        self._errors = (folder / "stderr").open("w+b")
        if _ended.is_set():
            raise VmError("No machine is started any more: the tests were told to end.")
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,
                preexec_fn=_ended_with_us,
            )
        except FileNotFoundError:
            raise VmError(f"{BINARY} is not installed; docs/vmtests.md names the packages.") from None
        _RUNNING.add(self)
        try:
            self._monitor = _Lines(self._connected(self._monitor_path))
            self._monitor.read(10.0)
            self.monitor("qmp_capabilities")
            self._shell = _Lines(self._connected(shell))
        except BaseException:
            self.kill()
            raise
        self._answers = bool(hardware.snapshot)

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    def monitor(self, command: str, **arguments: Any) -> Any:
        """What QMP returns. Raises ``VmError``."""
        self._monitor.write(json.dumps({"execute": command, "arguments": arguments}))
        end = time.monotonic() + _QUIT
        while True:
            answer = json.loads(self._monitor.read(end - time.monotonic()))
            if "error" in answer:
                raise VmError(f"QEMU refused {command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]

    def keep(self, name: str) -> None:
        """Keep the whole state of the machine within its disk. Raises ``VmError``."""
        said = self.monitor("human-monitor-command", **{"command-line": f"savevm {name}"})
        if said:
            raise VmError(f"QEMU would not keep the machine's state: {said.strip()}")

    def wait_for_shell(self, within: float) -> None:
        """Until the shell inside says that it is there."""
        end = time.monotonic() + within
        while not self._answers:
            self._answers = self._shell.read(end - time.monotonic()) == "tacid-vm ready"

    def ask(self, script: str, seconds: float) -> tuple[int, str]:
        """Run a script of bash inside; its exit status (137 where it took longer than ``seconds``) and its output."""
        line = base64.b64encode(script.encode()).decode()
        self._shell.write(f"{max(1, round(seconds))} {line}")
        end = time.monotonic() + seconds + 60
        while True:
            words = self._shell.read(end - time.monotonic()).split(" ")
            # "ready" in between: the agent was started anew, and what was asked is lost.
            if words[:2] == ["tacid-vm", "ready"]:
                raise VmError(f"{self.hardware.name}: the shell inside was ended while it ran {script[:200]!r}.")
            if words[0] == "tacid-vm":
                data = base64.b64decode(words[2]) if len(words) > 2 else b""
                return int(words[1]), data.decode("utf-8", "replace")

    def quit(self) -> None:
        """The power goes: QEMU ends at once, and with it what the guest had not written."""
        with suppress(VmError, OSError):
            self.monitor("quit")
        self.wait(_QUIT)

    def wait(self, within: float) -> bool:
        """Whether QEMU ended by itself within these seconds; it is ended otherwise."""
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self._forget()
        return True

    def kill(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        self._forget()

    def _forget(self) -> None:
        _RUNNING.discard(self)
        for name in ("_monitor", "_shell"):
            if lines := getattr(self, name, None):
                lines.close()
        self._errors.close()
        self._folder.cleanup()

    def _connected(self, path: Path) -> socket.socket:
        end = time.monotonic() + 20
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
            except OSError:
                connection.close()
                if not self.running or time.monotonic() > end:
                    self._errors.seek(0)
                    words = self._errors.read().decode("utf-8", "replace").strip()[-600:]
                    raise VmError(f"QEMU would not start: {words or 'it said nothing'}") from None
                time.sleep(0.05)
            else:
                return connection


class _Lines:
    """Lines over a socket, each with a deadline."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._data = b""

    def write(self, line: str) -> None:
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError as error:
            raise VmError(f"The machine is gone ({error.strerror}).") from None

    def read(self, within: float) -> str:
        end = time.monotonic() + within
        while b"\n" not in self._data:
            ready, _, _ = select.select([self._socket], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise VmError("The machine doesn't answer within the time that it has.")
            data = self._socket.recv(1 << 20)
            if not data:
                raise VmError("The machine is gone.")
            self._data += data
        line, _, self._data = self._data.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def close(self) -> None:
        self._socket.close()


def _ended_with_us() -> None:
    # However we end, the kernel ends it with the thread that started it, which is the one that uses it.
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)


def accelerator(base: Base) -> str:
    """``kvm`` where a guest really runs under it, else ``tcg``; tried once after each start of this machine.

    There are machines whose ``/dev/kvm`` opens and whose guests hang.
    """
    if forced := os.environ.get("TACID_VM_ACCEL"):
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    known = cache.cache_root() / f"accelerator-{boot}"
    if not known.exists():
        command = [
            BINARY, "-machine", "q35", "-accel", "kvm", "-cpu", "max", "-m", "256", "-nodefaults", "-no-user-config",
            "-display", "none", "-serial", "stdio", "-kernel", str(base.kernel), "-initrd", str(base.initrd), "-append",
            "console=ttyS0 tacid.probe=1 panic=-1", "-no-reboot",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE)
            alive = b"tacid: alive" in done.stdout
        except subprocess.TimeoutExpired:
            alive = False
        known.write_text("kvm" if alive else "tcg", encoding="ascii")
    return known.read_text(encoding="ascii")


def _command(hardware: Hardware, console: Path, monitor: Path, shell: Path) -> list[str]:
    accel = accelerator(hardware.under)
    words = [_KERNEL, f"tacid.name={hardware.name}"]
    if hardware.address:
        words.append(f"tacid.address={hardware.address}")
    if hardware.hosts:
        words.append("tacid.hosts=" + ",".join(f"{address}={name}" for address, name in hardware.hosts))
    command = [
        BINARY, "-name", hardware.name, "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", str(hardware.memory),
        "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi,tb-size=512",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-rtc", "base=utc",
        "-kernel", str(hardware.under.kernel), "-initrd", str(hardware.initrd), "-append", " ".join(words),
        "-chardev", f"file,id=console,path={console},append=on", "-serial", "chardev:console",
        "-chardev", f"socket,id=monitor,path={monitor},server=on,wait=off", "-mon", "chardev=monitor,mode=control",
        "-device", "virtio-serial-pci", "-chardev", f"socket,id=shell,path={shell},server=on,wait=off",
        "-device", "virtconsole,chardev=shell", "-device", "virtio-rng-pci",
        "-drive", f"file={hardware.disk},if=none,id=root,format=qcow2,cache=unsafe",
        "-device", "virtio-blk-pci,drive=root",
    ]  # fmt: skip
    if hardware.payload is not None:
        command += [
            "-drive", f"file={hardware.payload},if=none,id=payload,format=raw,readonly=on",
            "-device", "virtio-blk-pci,drive=payload",
        ]  # fmt: skip
    if hardware.network is not None:
        here, there = hardware.network
        mac = "52:54:00:12:34:%02x" % (int(hardware.address.split("/")[0].rsplit(".", 1)[1]) % 256)
        command += [
            "-netdev", f"dgram,id=net,local.type=unix,local.path={here},remote.type=unix,remote.path={there}",
            "-device", f"virtio-net-pci,id=card,netdev=net,mac={mac},romfile=",
        ]  # fmt: skip
    if hardware.snapshot:
        command += ["-loadvm", hardware.snapshot]
    return command


def overlay(disk: Path, over: Path) -> Path:
    """A disk that holds only what differs from another one."""
    over.unlink(missing_ok=True)
    run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(disk), str(over))
    return over


__all__ = ["Hardware", "Qemu", "accelerator", "overlay"]
