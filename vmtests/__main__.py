"""``python -m vmtests``: boots Debian guests and runs the scripts beside this file in them."""

from __future__ import annotations

import argparse
import code
import os
import signal
import sys
import tempfile
from pathlib import Path

from vmtests.errors import VmError
from vmtests.qemu import end_all
from vmtests.run import machines_of, run_all, script_globals
from vmtests.scenarios import SCENARIOS


def main() -> int:
    """Parse the arguments, run, print a table; 1 if a script failed."""
    parser = argparse.ArgumentParser(prog="python -m vmtests", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"scripts; default: all of {', '.join(SCENARIOS)}")
    parser.add_argument("--jobs", type=int, help="how many may run side by side; default: as memory allows")
    parser.add_argument("--full", action="store_true", help="the whole numbers of samples, which takes an hour")
    parser.add_argument("--interactive", action="store_true", help="a Python prompt with the machines of one script")
    parser.add_argument("--keep", action="store_true", help="keep the disks")
    parser.add_argument("--logs", type=Path, help="where logs go; default: a new folder, removed where all pass")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in SCENARIOS]:
        parser.error(f"there is no script {unknown[0]}; there are {', '.join(SCENARIOS)}")
    names = given.names or list(SCENARIOS)
    logs = given.logs or Path(tempfile.mkdtemp(prefix="tacid-vm-logs-"))
    # A short word for the machines' processes: whoever else works here goes first.
    os.nice(int(os.environ.get("TACID_VM_NICE", "0")))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end_all())
    if given.interactive:
        return _interactive(names[0], logs)
    outcomes = run_all(names, full=given.full, jobs=given.jobs, logs=logs, keep=given.keep)
    failed = [outcome for outcome in outcomes if outcome.problem]
    for outcome in outcomes:
        print(f"{outcome.name:14} {outcome.seconds:6.0f} s  {'FAILED' if outcome.problem else 'passed'}")
    for outcome in failed:
        print(f"\n{outcome.name}: {outcome.problem}", file=sys.stderr)
    if failed:
        print(f"\nLogs, consoles and journals are in {logs}.", file=sys.stderr)
    return 1 if failed else 0


def _interactive(name: str, logs: Path) -> int:
    with machines_of(SCENARIOS[name].nodes, logs, print) as machines:
        told = ", ".join(machine.name for machine in machines)
        code.interact(
            f"{told}: .start(), .succeed('…'), .execute('…'), .shutdown()", local=script_globals(machines, True, print)
        )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VmError as error:
        print(f"vmtests: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
