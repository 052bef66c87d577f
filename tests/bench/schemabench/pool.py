"""Schemas given out to worker processes, each ended when it takes too long, dies, or eats memory."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bench.schemabench.engine import GbnfEngine
from tests.bench.schemabench.judge import Judge, Row
from tests.bench.schemabench.tables import split_of

#: Bytes of address space of one worker.
MEMORY = 4 << 30


@dataclass(frozen=True)
class Setup:
    """What every worker is told: where the schemas are, who judges, how objects are read, how many texts to draw."""

    data: Path
    engine: Path | None
    open_objects: bool
    draw: int


def _work(pipe: Connection, setup: Setup) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    judge = Judge(GbnfEngine(setup.engine) if setup.engine else None, setup.open_objects)
    pipe.send(("ready", None))
    while (name := pipe.recv()) is not None:
        case = json.loads((setup.data / name).read_text(encoding="utf-8"))
        try:
            stage = lambda one: pipe.send(("stage", one))  # noqa: E731
            row = judge.draw(case, setup.draw, stage) if setup.draw else judge.judge(case, stage)
        except (Exception, MemoryError) as error:
            row = {"status": "crash", "err": f"{type(error).__name__}: {error}"[:300]}
        pipe.send(("done", row))


class _Slot:
    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.setup), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()
        self.job = ""

    def give(self, name: str) -> None:
        self.job, self.begun, self.stage = name, time.monotonic(), "load"
        self.pipe.send(name)

    def look(self, timeout: float) -> Row | None:
        """The row of the job, once there is one."""
        try:
            while self.job and self.pipe.poll():
                kind, value = self.pipe.recv()
                if kind == "done":
                    return dict(value)
                self.stage = value
        except (EOFError, OSError):
            self.process.join()
            return self.again({"status": "crash", "err": f"exit {self.process.exitcode} in {self.stage}"})
        if time.monotonic() - self.begun > timeout:
            self.process.kill()
            self.process.join()
            return self.again({"status": "timeout", "err": f"in {self.stage}"})
        return None

    def again(self, row: Row) -> Row:
        job = self.job
        self.start()
        self.job = job
        return row


def run(setup: Setup, names: list[str], jobs: int, timeout: float, out: Path | None) -> list[Row]:
    """Judge the named schemas; the rows are written to ``out`` as they come, in the order of names at the end."""
    slots = [_Slot(setup) for _ in range(jobs)]
    rows: dict[str, Row] = {}
    waiting = list(reversed(names))
    begun = time.time()
    while waiting or any(slot.job for slot in slots):
        for slot in slots:
            if not slot.job and waiting:
                slot.give(waiting.pop())
        multiprocessing.connection.wait([slot.pipe for slot in slots if slot.job], timeout=0.5)
        for slot in slots:
            row = slot.look(timeout) if slot.job else None
            if row is None:
                continue
            rows[slot.job] = _whole(setup, slot.job, row)
            slot.job = ""
            if len(rows) % 500 == 0:
                print(f"{len(rows)} of {len(names)}, {time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    for slot in slots:
        slot.pipe.send(None)
    ordered = [rows[name] for name in names]
    if out:
        out.write_text("".join(json.dumps(row) + "\n" for row in ordered), encoding="utf-8")
    return ordered


def _whole(setup: Setup, name: str, row: dict[str, Any]) -> Row:
    if "nv" not in row:
        tests = json.loads((setup.data / name).read_text(encoding="utf-8"))["tests"]
        row["nv"] = sum(t["valid"] for t in tests)
        row["ni"] = len(tests) - row["nv"]
    return {"id": name, "split": split_of(name), **row}
