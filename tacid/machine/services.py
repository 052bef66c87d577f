"""The allow-list of services: the file, its last good copy, and what it narrows.

A list that was once in force is only left for another one, or for an empty one, which narrows nothing: where its file
breaks or goes away, the last good list holds on.

The file is a JSON list of names, or of objects with a ``name`` and a ``description``; or an object
``{"version": 1, "services": [...]}`` around such a list. Other members are left for later versions. A name that
occurs twice counts once, with the first description that says something.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from tacid.config import SERVICES_FILE, MachineConfig
from tacid.errors import InputError, ServicesError
from tacid.jsontext import dumps, load_file, quote
from tacid.machine.protocol import PROPOSE_CHANGES, SERVICE_KINDS
from tacid.schema.narrow import Narrowing

MAX_SERVICES = 100_000
MAX_NAME = 256
#: Characters of a description that are kept.
MAX_DESCRIPTION = 1000
VERSION = 1

Standing: TypeAlias = Literal["good", "last_good", "unusable", "absent"]

#: Unicode categories that a name may not hold: controls, invisible format characters, lone surrogates, line ends.
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


@dataclass(frozen=True, slots=True)
class ServiceList:
    """Services by name, each once, in the order of the file; ``descriptions`` has those that say something."""

    names: tuple[str, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ServicesState:
    """What holds now: the list if there is one, whether `propose_changes` may be offered, and what is to be said.

    ``standing`` is how the file ``path`` is: good; replaced by the last good list; unusable, with nothing to replace
    it; absent, as only the usual file may be. ``kept`` says whether the last good copy is this list's.
    """

    list: ServiceList | None
    offered: bool
    notices: tuple[str, ...] = ()
    path: Path = SERVICES_FILE
    standing: Standing = "good"
    kept: bool = True


def load_services(path: Path) -> ServiceList:
    """Read the list. Raises ``ServicesError`` that names the file and, where there is one, the entry."""
    named = f"The services file {path}"
    try:
        # A pipe or a device would be waited for.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ServicesError(f"{named} is no regular file; name one that holds the list.")
        document = load_file(path, "services file", unique_keys=True)
    except ServicesError:
        raise
    except InputError as error:
        raise ServicesError(str(error)) from None
    except FileNotFoundError:
        raise ServicesError(f"{named} does not exist; check the path.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ServicesError(f"{named} can't be read: {reason}.") from None
    return read_services(document, named)


def read_services(document: Any, what: str = "The list of services") -> ServiceList:
    """The list in a parsed document. ``what`` names it. Raises ``ServicesError`` that names the entry."""
    if isinstance(document, Mapping):
        version = document.get("version")
        if type(version) is not int or version != VERSION:
            given = "no version" if version is None else f"the version {quote(str(version)[:40], shown=True)}"
            raise ServicesError(f'{what} has {given}; this tacid reads {{"version": {VERSION}, "services": [...]}}.')
        document = document.get("services")
    if not isinstance(document, list):
        raise ServicesError(f"{what} holds no list; write names, or objects with a name and a description.")
    if len(document) > MAX_SERVICES:
        raise ServicesError(f"{what} has {len(document):,} services; the limit is {MAX_SERVICES:,}.")
    descriptions: dict[str, str] = {}
    for index, entry in enumerate(document):
        name, description = _entry(entry, f"{what}, entry {index}")
        descriptions[name] = descriptions.get(name) or description
    said = {name: description for name, description in descriptions.items() if description}
    return ServiceList(tuple(descriptions), MappingProxyType(said))


def service_narrowings(services: ServiceList | None) -> tuple[Narrowing, ...]:
    """What the list narrows: the name in every service operation of `propose_changes`."""
    if services is None:
        return ()
    return tuple(
        Narrowing("name", services.names, {"kind": kind}, PROPOSE_CHANGES, required=True) for kind in SERVICE_KINDS
    )


def services_for(config: MachineConfig, named: Path | None = None, *, held: ServiceList | None = None) -> ServicesState:
    """The services that hold: of the file ``named`` (a flag), else the configured, else the usual one.

    A list that was read is kept as the last good copy in the state directory. One that is missing or broken is
    replaced by ``held``, the list that was in force before, or by that copy; without either `propose_changes` is not
    offered. Only the usual file, which nobody configured, may be absent, if it always was. Raises nothing: what went
    wrong is in the notices, a sentence each.
    """
    path = named or config.services or SERVICES_FILE
    copy = _copy_of(path, config.state_dir)
    usual = named is None and config.services is None
    if usual and held is None and not _exists(path) and not _exists(copy):
        notice = f"There is no services file {path}, so any name of a service can be proposed; --services names one."
        return ServicesState(None, True, (notice,), path, "absent")
    try:
        services = load_services(path)
    except ServicesError as error:
        return _last_good(path, copy, str(error), held)
    notices = []
    kept = True
    if not services.names:
        notices.append(f"The services file {path} is an empty list, so any name of a service can be proposed.")
    try:
        _keep(copy, services, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        notices.append(f"The last good copy {copy} can't be written: {reason}; check the state directory.")
        kept = False
    return ServicesState(services, True, tuple(notices), path, "good", kept)


def _entry(entry: Any, what: str) -> tuple[str, str]:
    description: Any = ""
    name = entry
    if isinstance(entry, Mapping):
        name, description = entry.get("name"), entry.get("description")
    if not isinstance(name, str):
        raise ServicesError(f"{what} has no name; write a text, or an object with a name and a description.")
    if not name or len(name) > MAX_NAME:
        raise ServicesError(f"{what} has a name of {len(name):,} characters; 1 to {MAX_NAME} are allowed.")
    if any(unicodedata.category(char) in _HIDDEN for char in name):
        raise ServicesError(f"{what}: the name {quote(name, shown=True)} holds a control character; remove it.")
    if description is not None and not isinstance(description, str):
        raise ServicesError(f"{what} ({quote(name, shown=True)}): the description is no text.")
    return name, (description or "")[:MAX_DESCRIPTION]


def _exists(path: Path) -> bool:
    """Whether something is there; what can't be looked at is, and its error is told when it is read."""
    try:
        path.lstat()
    except (FileNotFoundError, ValueError):
        return False
    except OSError:
        return True
    return True


def _copy_of(path: Path, state_dir: Path) -> Path:
    """Where the copy of a list lies: by the absolute path, so that two lists never share one."""
    key = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:32]
    return state_dir / "services" / f"{key}.json"


def _last_good(path: Path, copy: Path, why: str, held: ServiceList | None) -> ServicesState:
    services = held
    if services is None and not _exists(copy):
        notice = f"{why} There is no copy of a list that worked, so {PROPOSE_CHANGES} is not offered."
        return ServicesState(None, False, (notice,), path, "unusable")
    try:
        services = services or load_services(copy)
    except ServicesError as error:
        return ServicesState(None, False, (why, f"{error} So {PROPOSE_CHANGES} is not offered."), path, "unusable")
    count = len(services.names)
    notice = f"{why} The last list that worked is used ({count:,} name{'' if count == 1 else 's'})."
    if not services.names:
        notice += " It is empty, so any name of a service can be proposed."
    return ServicesState(services, True, (notice,), path, "last_good")


def _keep(copy: Path, services: ServiceList, path: Path) -> None:
    entries = [
        {"name": name, "description": services.descriptions[name]} if name in services.descriptions else name
        for name in services.names
    ]
    text = (dumps({"version": VERSION, "path": str(path.absolute()), "services": entries}) + "\n").encode()
    with contextlib.suppress(OSError):
        if copy.read_bytes() == text:
            return
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=copy.parent, prefix=copy.name, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(copy)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    directory = os.open(copy.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


__all__ = ["ServiceList", "ServicesState", "load_services", "read_services", "service_narrowings", "services_for"]
