"""How long a piece of work may take: known to whatever loops within it, however deep, without being handed down.

Counted in the processor time of the thread, so that what else runs on a machine changes no result. What loops calls
`check`, at least every few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

#: Calls of `check` of which one looks at the clock, which costs more than a microsecond.
_EVERY = 16


class OutOfTime(Exception):
    """The work took longer than it may."""


class _Deadline:
    __slots__ = ("ends", "left")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self.left = _EVERY


_CURRENT: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let `check` raise once the thread has worked for so many seconds; an outer deadline doesn't count meanwhile."""
    token = _CURRENT.set(_Deadline(thread_time() + seconds))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def uncounted() -> Iterator[None]:
    """Work that has to be done whatever it takes: the deadline moves on by as much."""
    deadline = _CURRENT.get()
    if deadline is None:
        yield
        return
    started = thread_time()
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        deadline.ends += thread_time() - started


def check() -> None:
    """Raise `OutOfTime` where the time is up; nothing outside of `within`."""
    deadline = _CURRENT.get()
    if deadline is None:
        return
    deadline.left -= 1
    if deadline.left <= 0:
        deadline.left = _EVERY
        if thread_time() > deadline.ends:
            raise OutOfTime


__all__ = ["OutOfTime", "check", "uncounted", "within"]
