"""Which model suits this machine, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tacid.engine.cpu import Memory
from tacid.engine.pins import PINS, Pin

#: The part of the available memory that a model may take; the rest is for everything else on the machine.
SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A pin, the reason as a sentence, and what was passed over: each larger pin with its own reason."""

    pin: Pin
    reason: str
    passed_over: tuple[tuple[Pin, str], ...]


def recommend(memory: Memory | None, cores: int) -> Recommendation:
    """The largest recommended pin that fits into the memory available now and is quick enough on these cores."""
    candidates = sorted((pin for pin in PINS if pin.recommended), key=lambda pin: pin.size, reverse=True)
    passed_over: list[tuple[Pin, str]] = []
    for pin in candidates:
        if (why_not := _why_not(pin, memory, cores)) is None:
            return Recommendation(pin, _reason(pin, memory, cores), tuple(passed_over))
        passed_over.append((pin, why_not))
    smallest = candidates[-1]
    reason = f"{smallest.title} is the smallest there is, and even so: {passed_over.pop()[1]}"
    return Recommendation(smallest, reason, tuple(passed_over))


def _why_not(pin: Pin, memory: Memory | None, cores: int) -> str | None:
    if memory is None:
        return None if pin.memory < 1e9 else "how much memory there is can't be told."
    if pin.memory > memory.available * SHARE:
        return f"It takes {_gb(pin.memory)} of memory, and {_gb(memory.available)} are available."
    if cores < pin.cores:
        return f"It is slow on fewer than {pin.cores} cores, and there are {cores}."
    return None


def _reason(pin: Pin, memory: Memory | None, cores: int) -> str:
    room = "" if memory is None else f" and fits well into the {_gb(memory.available)} available"
    noun = "core" if cores == 1 else "cores"
    return f"{pin.title} takes {_gb(pin.memory)} of memory{room}, on {cores} {noun}: {pin.about}."


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
