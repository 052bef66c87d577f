"""Runs scripts: makes what they boot from, gives them their machines, keeps what was said where one fails."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from vmtests import cache
from vmtests.base import Base, base, initrd_with, run
from vmtests.errors import VmError
from vmtests.machine import Machine, subtest
from vmtests.payload import packages, payload
from vmtests.qemu import Hardware, accelerator, overlay
from vmtests.scenarios import SCENARIOS, Node

HERE = Path(__file__).parent
#: MiB that QEMU takes beside a guest's memory, for translated code above all.
_BESIDE = 700
#: What makes a machine's second disk.
_CARRIED: dict[str, Callable[[Base], Path | None]] = {"wheel": payload, "packages": packages, "": lambda _: None}
#: What the kept state of a machine is called within its disk.
_READY = "ready"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a script; ``problem`` is empty where it passed."""

    name: str
    seconds: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Scripts that run one after the other in the same machines."""

    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    cold: bool

    @property
    def memory(self) -> int:
        """MiB that its machines take."""
        return sum(node.memory + _BESIDE for node in self.nodes)


def groups(names: list[str]) -> list[Group]:
    """The scripts by the machines that they can share."""
    shared: dict[tuple[Node, ...] | str, list[str]] = {}
    nodes: dict[tuple[Node, ...] | str, tuple[Node, ...]] = {}
    for name in names:
        scenario = SCENARIOS[name]
        # Nodes hold mappings; what they say tells them apart.
        key = name if scenario.alone else repr(scenario.nodes)
        shared.setdefault(key, []).append(name)
        nodes[key] = scenario.nodes
    return [Group(tuple(them), nodes[key], any(SCENARIOS[name].cold for name in them)) for key, them in shared.items()]


def run_all(
    names: list[str], *, full: bool, jobs: int | None = None, logs: Path, keep: bool = False, out: TextIO = sys.stdout
) -> list[Outcome]:
    """Run scripts, side by side as far as memory allows. Logs and consoles are in ``logs``."""
    logs.mkdir(parents=True, exist_ok=True)
    todo = groups(names)
    room = _Room(jobs or len(todo))
    with ThreadPoolExecutor(len(todo)) as pool:
        found = list(pool.map(lambda group: _group(group, full, logs, keep, out, room), todo))
    return [outcome for outcomes in found for outcome in outcomes]


class _Room:
    """Lets as many groups run as there is memory for, and not more than ``jobs``."""

    def __init__(self, jobs: int) -> None:
        self._free = _memory_available()
        self._jobs = jobs
        self._running = 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, memory: int) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0 or (self._running < self._jobs and memory <= self._free))
            self._running += 1
            self._free -= memory
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._free += memory
                self._changed.notify_all()


def _memory_available() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 4096


def _group(group: Group, full: bool, logs: Path, keep: bool, out: TextIO, room: _Room) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with room.take(group.memory):
        begun = time.monotonic()
        log = (logs / f"{'+'.join(group.names)}.log").open("w", encoding="utf-8")

        def say(words: str) -> None:
            line = f"[{time.monotonic() - begun:6.1f}] {words}"
            print(line, file=log, flush=True)
            print(f"{group.names[0]}{'…' if group.names[1:] else ''} {line}", file=out, flush=True)

        with ExitStack() as stack:
            stack.enter_context(log)
            try:
                machines = stack.enter_context(machines_of(group.nodes, logs, say, keep=keep, cold=group.cold))
            except Exception as error:
                return [Outcome(name, time.monotonic() - begun, _words(error)) for name in group.names]
            for name in group.names:
                outcomes.append(_script(name, machines, full, say))
                if outcomes[-1].problem:
                    _keep_journals(machines, logs, say)
    return outcomes


def _script(name: str, machines: list[Machine], full: bool, say: Callable[[str], None]) -> Outcome:
    begun = time.monotonic()
    say(f"== {name}")
    for machine in machines:
        machine.until(begun + SCENARIOS[name].seconds)
    try:
        text = script_text(name)
        exec(compile(text, str(HERE / f"{name}.py"), "exec"), script_globals(machines, full, say))
    except Exception as error:
        say(f"FAILED {name}: {_words(error)}")
        return Outcome(name, time.monotonic() - begun, _words(error))
    finally:
        for machine in machines:
            machine.until(None)
    say(f"passed {name}, {time.monotonic() - begun:.0f} s")
    return Outcome(name, time.monotonic() - begun)


def script_text(name: str) -> str:
    """What all scripts share, and the script: as one text, since it is one text that the NixOS driver takes."""
    return "\n".join((HERE / f"{part}.py").read_text(encoding="utf-8") for part in ("common", name))


def script_globals(machines: list[Machine], full: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The names that the NixOS driver gives a script, as far as ours use them."""

    def start_all() -> None:
        for machine in machines:
            machine.start()

    return {
        "__name__": "script",
        "machines": machines,
        **{machine.name: machine for machine in machines},
        "start_all": start_all,
        "subtest": lambda name: subtest(say, name),
        "log": say,
        "SHORT": not full,
    }


@contextmanager
def machines_of(
    nodes: tuple[Node, ...], logs: Path, say: Callable[[str], None], *, keep: bool = False, cold: bool = True
) -> Iterator[list[Machine]]:
    """Machines that are off, and are switched off again at the end. Raises ``VmError``."""
    folder = Path(tempfile.mkdtemp(prefix="tacid-vm-disks-"))
    machines: list[Machine] = []
    try:
        for hardware in hardware_of(nodes, folder, say, cold=cold):
            machines.append(Machine(hardware, logs / f"{hardware.name}-{folder.name[-8:]}.console", say))
        yield machines
    finally:
        for machine in machines:
            machine.crash()
        if keep:
            say(f"disks are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def hardware_of(nodes: tuple[Node, ...], folder: Path, say: Callable[[str], None], *, cold: bool) -> list[Hardware]:
    """What machines are made of, with fresh disks in ``folder``; warm ones go on from where a kept one was ready.

    Raises ``VmError``.
    """
    addresses = tuple((node.address.split("/")[0], node.name) for node in nodes if node.address)
    made = []
    for index, node in enumerate(nodes):
        begun = time.monotonic()
        under = base(node.suite)
        carried = _CARRIED[node.payload](under)
        if time.monotonic() - begun > 1:
            say(f"{node.name}: images made, {time.monotonic() - begun:.0f} s")
        initrd = folder / f"{node.name}.initrd"
        initrd.write_bytes(initrd_with(under.initrd, node.files, node.links()))
        network = None
        if node.address:
            plugs = [folder / f"{name}.net" for name in ("a", "b")]
            network = (plugs[index], plugs[1 - index])
        disk = folder / f"{node.name}.qcow2"
        hardware = Hardware(node.name, under, disk, initrd, carried, node.memory, node.address, network, addresses)
        if cold:
            overlay(under.disk, disk)
            made.append(hardware)
        else:
            run("cp", "--reflink=auto", "--sparse=always", str(_warmed(hardware, say)), str(disk))
            made.append(replace(hardware, snapshot=_READY))
    return made


def _warmed(hardware: Hardware, say: Callable[[str], None]) -> Path:
    """A disk that holds the state of a machine which has booted, made once for its images and its files."""
    made_from = [
        cache.file_digest(hardware.initrd),
        hardware.under.disk.parent.name,
        hardware.payload.parent.name if hardware.payload is not None else "",
        hardware.memory,
        accelerator(hardware.under),
    ]

    def make(folder: Path) -> None:
        say(f"{hardware.name}: booted once, for all that follow")
        cold = replace(hardware, disk=overlay(hardware.under.disk, folder / "disk.qcow2"))
        machine = Machine(cold, folder / "console", say)
        try:
            script_serving = script_globals([machine], True, say)
            exec((HERE / "common.py").read_text(encoding="utf-8"), script_serving)
            script_serving["serving"](machine)
            machine.succeed("sync")
            machine.connect().keep(_READY)
        finally:
            machine.crash()

    return cache.made("warm", made_from, make) / "disk.qcow2"


def _keep_journals(machines: list[Machine], logs: Path, say: Callable[[str], None]) -> None:
    for machine in machines:
        if machine.booted:
            with contextlib.suppress(VmError):
                path = logs / f"{machine.name}.journal"
                path.write_text(
                    machine.execute("journalctl --no-pager -o short-precise", timeout=120)[1], encoding="utf-8"
                )
                say(f"the journal of {machine.name} is in {path}")


def _words(error: Exception) -> str:
    if isinstance(error, VmError):
        return str(error)
    # Of a script: the line that failed, which says what should have been.
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


__all__ = ["Group", "Outcome", "groups", "machines_of", "run_all", "script_globals", "script_text"]
