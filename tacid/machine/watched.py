"""The list of services as it is now: read again as soon as its file is another one."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from tacid.config import SERVICES_FILE, MachineConfig
from tacid.jsontext import MAX_BYTES, open_regular
from tacid.machine.services import ServiceList, ServicesState, services_for


@dataclass(frozen=True, slots=True)
class Look:
    """The services that hold, and whether that is news since the last look."""

    state: ServicesState
    changed: bool


class WatchedServices:
    """Looks at the configured list each time that it is asked for.

    What counts is where the path leads to and what is there, never a time: all files of a Nix store have the same one.
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        self._path = config.services or SERVICES_FILE
        self._stamp: tuple[str, str] | None = None
        self._state: ServicesState | None = None
        self._good: ServiceList | None = None

    def look(self) -> Look:
        """The services that hold now. Reads a file, so call it in a thread; one call at a time."""
        before, stamp = self._state, self._seen()
        # A copy that could not be written is tried again; a file that is gone is not, until it is back.
        if before is not None and stamp == self._stamp and before.kept:
            return Look(before, False)
        state = services_for(self._config, held=self._good)
        if state.standing == "good":
            self._good = state.list
        self._stamp, self._state = stamp, state
        return Look(state, state != before)

    def _seen(self) -> tuple[str, str]:
        # Looked at before it is read: what comes in between is found at the next look.
        real = os.path.realpath(self._path)
        try:
            with open(real, "rb", opener=open_regular) as file:
                return real, hashlib.sha256(file.read(MAX_BYTES + 1)).hexdigest()
        except (OSError, ValueError) as error:
            return real, str(error)


__all__ = ["Look", "WatchedServices"]
