"""Mutants of a few modules, and a pytest plugin that lets tests loose on them, each mutant in a process of its own.

mutmut writes the mutants: it gives each module a text in which every function has all its variants beside it, and
chooses one by name when the function is called. What runs them here is a fork of one process that has collected the
tests and compiled nothing, so that no mutant is spared by what was cached before, and a mutant costs its tests alone.
"""

from __future__ import annotations

import difflib
import gc
import importlib.abc
import importlib.util
import json
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import mutmut.mutation.trampoline as trampoline
import pytest
from mutmut.mutation.file_mutation import mutate_file_contents

from tacid import deadline

ROOT = Path(__file__).parents[2]
#: Drawn examples of a random test that has no number of its own.
_EXAMPLES = 60
#: Seconds of the processor that a test may need at most to be used, since a mutant that lives has to pass them all.
_MOST_SECONDS = 2.5
#: Seconds of the processor that a test has beyond three times what it needs with no mutant, bytes that it may hold.
_SECONDS, _BYTES = 3, 4 << 30
#: How many times as long a call takes that chooses a variant of a function.
_SLOWER = 4
_LITERAL = re.compile(r'"[^"]*"')
#: How a mutant's process ends: all its tests passed, one failed, or (by a signal) one never ended.
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """One change to one function: mutmut's name for it, and the lines as they were and as they are."""

    module: str
    name: str
    was: str
    now: str

    @property
    def function(self) -> str:
        """The function's name, a method's after its class and a point."""
        return self.name.partition("__mutmut_")[0].removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")

    @property
    def key(self) -> tuple[str, str, str]:
        """What the mutant is, however many others come before it: the function, the lines before and after."""
        return f"{self.module}.{self.function}", self.was, self.now

    @property
    def wording(self) -> bool:
        """Whether nothing but the words of a sentence for people is another."""
        pairs = zip(_LITERAL.findall(self.was), _LITERAL.findall(self.now), strict=False)
        sentence = any(one != other and " " in one for one, other in pairs)
        return sentence and self.now.replace("XX", "").casefold() == self.was.casefold()


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the modules with all their mutants in them. To be made before anything imports them."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._texts: dict[str, str] = {}
        self.mutants: list[Mutant] = []
        for module in modules:
            assert module not in sys.modules
            self._texts[module], mutants = written(module)
            self.mutants.extend(mutants)

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self._texts:
            return None
        return importlib.util.spec_from_file_location(fullname, _path(fullname), loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._texts[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)


def written(module: str) -> tuple[str, list[Mutant]]:
    """The text of a module with all its mutants, and what they are."""
    path = _path(module)
    made = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
    lines = made.code.splitlines()
    spans = made.line_span_by_function_name
    mutants: list[Mutant] = []
    for name in made.mutant_names:
        both = (spans[name.partition("__mutmut_")[0] + "__mutmut_orig"], spans[name])
        mutants.append(Mutant(module, name, *_changed(*("\n".join(lines[s.start - 1 : s.end]) for s in both), name)))
    return made.code, mutants


def _path(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def _changed(before: str, after: str, name: str) -> tuple[str, str]:
    """The lines of a function that differ for a mutant of this name."""
    function = name.partition("__mutmut_")[0]
    texts = before.replace(f"{function}__mutmut_orig", function), after.replace(name, function)
    lines = list(difflib.ndiff(*(text.splitlines() for text in texts)))
    was, now = (" ".join(line[2:].strip() for line in lines if line[0] == sign) for sign in "-+")
    return was, now


class Loose:
    """The plugin: runs each mutant's tests when pytest would run all tests, and tells ``ended`` how each fared.

    ``ended`` gets the mutant, whether a test failed or never ended, and by what: a test's name, or "" for none.
    """

    def __init__(self, mutants: Sequence[Mutant], ended: Callable[[Mutant, bool, str], None], jobs: int) -> None:
        self._mutants, self._ended, self._jobs = mutants, ended, jobs
        self._failed = False
        #: Tests that fail without a mutant, which no mutant can be tried with.
        self.broken: list[str] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        """After the tests' own profile, before any test is read: random tests draw the same each time, none shrinks."""
        import hypothesis  # by pytest first, which rewrites its assertions

        hypothesis.settings.register_profile(
            "mutants",
            hypothesis.settings.get_profile("tests"),
            max_examples=_EXAMPLES,
            derandomize=True,
            database=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Which functions each test calls, and then mutant by mutant those tests that call its function."""
        gc.freeze()  # what is collected in a child would be copied for it
        with tempfile.TemporaryDirectory() as folder:
            tests = list(self._measured(session.items, Path(folder)))
            if not self.broken:
                self._try_all(tests, Path(folder))
        return True

    def _measured(self, items: Sequence[pytest.Item], folder: Path) -> Iterator[_Test]:
        for item in items:
            note = folder / "calls"

            def calls(item: pytest.Item = item, note: Path = note) -> int:
                hit: set[str] = set()
                trampoline.record_trampoline_hit = lambda name, caller=None: hit.add(name)
                trampoline.set_mutant_under_test("stats")
                begin = time.process_time()
                self._run(item)
                note.write_text(json.dumps([time.process_time() - begin, sorted(hit)]), encoding="utf-8")
                return FAILED if self._failed else PASSED

            if os.waitpid(_forked(calls), 0)[1]:
                self.broken.append(item.nodeid)
                continue
            seconds, hit = json.loads(note.read_text(encoding="utf-8"))
            if seconds <= _MOST_SECONDS:
                yield _Test(item, seconds, frozenset(hit))

    def _try_all(self, tests: Sequence[_Test], folder: Path) -> None:
        tests = sorted(tests, key=lambda test: test.seconds)
        running: dict[int, Mutant] = {}
        for mutant in self._mutants:
            if len(running) >= self._jobs:
                self._reap(running, folder)
            function = f"{mutant.module}.{mutant.name.partition('__mutmut_')[0]}"
            chosen = [test for test in tests if function in test.calls]
            running[_forked(lambda m=mutant, t=chosen: self._try(m, t, folder))] = mutant  # type: ignore[misc]
        while running:
            self._reap(running, folder)

    def _try(self, mutant: Mutant, tests: Sequence[_Test], folder: Path) -> int:
        trampoline.set_mutant_under_test(f"{mutant.module}.{mutant.name}")
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        note = folder / str(os.getpid())
        for test in tests:
            note.write_text(test.item.nodeid, encoding="utf-8")
            most = int(time.process_time() + 3 * test.seconds) + _SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
            self._run(test.item)
            if self._failed:
                return FAILED
        note.write_text("", encoding="utf-8")
        return PASSED

    def _reap(self, running: dict[int, Mutant], folder: Path) -> None:
        pid, status = os.wait()
        note = folder / str(pid)
        self._ended(running.pop(pid), status != 0, note.read_text(encoding="utf-8") if note.exists() else "")

    def _run(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


@dataclass(frozen=True)
class _Test:
    """A test, the seconds of the processor that it needs, and the functions with mutants that it calls."""

    item: pytest.Item
    seconds: float
    calls: frozenset[str]


def _forked(work: Callable[[], int]) -> int:
    """The process of a fork that does the work in silence and ends with what that gives."""
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        # What chooses a variant of a function stands on the stack twice for each call of it.
        sys.setrecursionlimit(4 * sys.getrecursionlimit())
        # And each call takes several times as long, which the compiler's own deadline isn't to count.
        deadline.thread_time = lambda: time.thread_time() / _SLOWER
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        code = work()
    finally:
        os._exit(code)


def run(tests: Sequence[str], plugin: Loose) -> None:
    """Collects the tests and lets the plugin loose. Raises ``RuntimeError`` where pytest can't collect them."""
    quiet = ("-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider")
    ended = pytest.main([*quiet, *tests], plugins=[plugin])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"the tests can't be collected (pytest ended with {ended!r})")
