"""Why an engine ended: its exit code or signal and its log, as one sentence."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from contextlib import suppress

PORT_TAKEN = "the port is taken by another program"

#: What the log says (llama-server b10434 and b11549, the dynamic linker, our own child) and what it means; the first
#: match wins.
_MEANINGS: tuple[tuple[str, str], ...] = (
    (r"^tacid: (.+)$", "{0}"),
    (r"couldn't bind", PORT_TAKEN),
    (
        r"invalid argument: (\S+)",
        "it does not know the argument {0}; remove it from engine.extra_args, or take a newer build",
    ),
    (
        r'error while handling argument "([^"]+)"',
        "the argument {0} has a value that it can't use; correct engine.extra_args",
    ),
    (r"libgomp\.so[^:]*: cannot open", "the library libgomp is missing; on Debian: apt install libgomp1"),
    (r"error while loading shared libraries: ([^:]+)", "the library {0} is missing; install it"),
    (
        r"unknown model architecture: '([^']+)'",
        "this build does not know models of the kind {0}; take a newer one",
    ),
    (r"not within the file bounds", "the model is cut short; fetch it again (tacid model pull)"),
    (
        r"has invalid data|found invalid values",
        "the model's weights are damaged; fetch it again (tacid model pull)",
    ),
    (
        r"bad_alloc|(?:failed|unable|cannot) to allocate|cannot allocate memory|alloc.*failed|out of memory"
        r"|failed to create.context|can't start new thread|Resource temporarily unavailable",
        "there is not enough memory; take a smaller model or a smaller engine.context",
    ),
    (r"failed to open GGUF file.*No such file", "the model is missing; fetch it (tacid model pull)"),
    (r"Permission denied", "a file may not be read; check the rights of the model file"),
    (
        r"invalid magic|failed to load model|error loading model",
        "the model can't be loaded; check it (tacid model verify)",
    ),
)
_LOG = tuple((re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in _MEANINGS)

_SIGNALS = {
    "SIGILL": "the CPU lacks instructions that this build was made for (AVX2 or newer); take a build that fits",
    "SIGKILL": "it was killed (SIGKILL), by hand or because memory ran out",
    "SIGSEGV": "it crashed (SIGSEGV)",
    "SIGABRT": "it crashed (SIGABRT)",
    "SIGBUS": "it crashed (SIGBUS): the model file changed or ended while it was read, or the disk is full",
    "SIGTERM": "it was ended by somebody (SIGTERM)",
}


def explain(returncode: int, log: Sequence[str]) -> str:
    """The reason as a clause without a full stop, with the last line of the engine's log.

    ``returncode`` as ``subprocess`` gives it: negative for a signal; above 128 it may be one that a wrapper handed on.
    """
    number = -returncode if returncode < 0 else returncode - 128 if returncode > 128 else 0
    name = ""
    with suppress(ValueError):
        name = signal.Signals(number).name if number else ""
    reason = None
    if name not in ("SIGILL", "SIGKILL"):
        reason = _from_log(log)
    if reason is None:
        reason = _SIGNALS.get(name) or (f"it was ended by {name}" if name else f"it ended with code {returncode}")
    last = next((line for line in reversed(log) if line.strip()), "")
    if not last or last.startswith("tacid: "):
        return reason
    return f"{reason} (last line of its log: {_tidy(last)})"


def _from_log(log: Sequence[str]) -> str | None:
    for pattern, meaning in _LOG:
        for line in log:
            if match := pattern.search(line):
                return meaning.format(*(group.rstrip(".") for group in match.groups()))
    return None


def _tidy(line: str) -> str:
    line = "".join(c if c.isprintable() else " " for c in line).strip()
    return line if len(line) <= 200 else line[:199] + "…"
