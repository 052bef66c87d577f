"""Runs an engine and ends it when whoever wanted it is gone, however that went.

Started by path with nothing of tacid imported: ``python guard.py PARENT_PID BYTES COMMAND…``. Standard input is a pipe
from the parent: its end (closed on purpose, or by the kernel when the parent was killed) means stop. Standard output
gets one line, ``pid N``; the engine writes its log to standard error. BYTES is how much the engine may allocate, 0 for
no limit. On Linux the kernel kills the engine if the guard itself is killed. Ends as the engine ended: with its exit
code, or by the same signal; with 0 after a stop that was asked for.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

#: Seconds that the engine gets after the first and after the second SIGTERM; then SIGKILL.
PATIENCE = (2.0, 1.0)
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the command and wait for its end or ours."""
    parent, memory, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    asked = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: asked.append(True))
    try:
        # Its own group, so that a wrapper script and what it started end together.
        engine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=2, process_group=0, preexec_fn=_prepared(memory)
        )
    except OSError as error:
        print(f"tacid: {command[0]} can't be run: {error.strerror}.", file=sys.stderr)
        return 127
    _tell(f"pid {engine.pid}\n")
    while True:
        # The parent's number is looked at as well: a process it forked may hold the other end of the pipe open.
        ready, _, _ = select.select([0, wake_read], [], [], 1.0)
        if wake_read in ready:
            os.read(wake_read, 4096)
        if engine.poll() is not None:
            return _end_like(engine.returncode)
        if asked or os.getppid() != parent or (0 in ready and not os.read(0, 4096)):
            _stop(engine)
            return 0


def _stop(engine: subprocess.Popen[bytes]) -> None:
    for patience in PATIENCE:
        _signal(engine, signal.SIGTERM)
        _signal(engine, signal.SIGCONT)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if engine.poll() is not None:
                _signal(engine, signal.SIGKILL)  # what a wrapper may have left
                return
            time.sleep(0.01)
    _signal(engine, signal.SIGKILL)
    engine.wait()


def _signal(engine: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(engine.pid, number)


def _end_like(returncode: int) -> int:
    if returncode >= 0:
        return returncode
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # SIGKILL has no handler to take away
        signal.signal(-returncode, signal.SIG_DFL)
    os.kill(os.getpid(), -returncode)
    return 128 - returncode


def _prepared(memory: int) -> Callable[[], None]:
    prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform.startswith("linux") else None
    guard = os.getpid()

    def prepare() -> None:
        if memory > 0:
            with suppress(OSError, ValueError):
                _, most = resource.getrlimit(resource.RLIMIT_DATA)
                limit = memory if most == resource.RLIM_INFINITY else min(memory, most)
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() != guard:
                os._exit(1)

    return prepare


def _tell(line: str) -> None:
    with suppress(OSError):  # the parent may be gone; the pipe's end will say so
        os.write(1, line.encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
