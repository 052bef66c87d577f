"""Who may speak to the server: keys from a file, networks that need none, and addresses that need some.

The file has one key a line, ``name:key`` or ``name:sha256:HEX`` (of the key's bytes); ``#`` begins a comment. Keys are
only kept hashed: they are long and random, so one round of SHA-256 is enough.

Where none is configured, systemd may give one: the credential ``keys`` (systemd.exec(5), LoadCredential), a copy that
is made when the unit starts. What a reload hands over lies in the unit's runtime directory by the same name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from tacid.config import Config, ServerConfig
from tacid.errors import InputError
from tacid.systemd import directory

#: Bytes that the file may have.
MAX_BYTES = 1024 * 1024
#: What the credential is called.
CREDENTIAL = "keys"
#: Characters that a key must have at least.
MIN_KEY = 16

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_HASH = re.compile(r"sha256:([0-9a-fA-F]{64})")

_log = logging.getLogger("tacid")


class Keys:
    """The keys of a file, read again when it changes. A file that can't be used leaves the last good keys in force."""

    def __init__(self, path: Path, *, newer: Path | None = None, optional: bool = False) -> None:
        """``newer`` goes before ``path`` once it is there. ``optional``: no file, or an empty one, asks for no key.

        Raises ``InputError`` that names the file and the line.
        """
        self._places = (path,) if newer is None else (newer, path)
        self._seen = self._stamps()
        self._names = {} if optional and not has_keys(self._path) else read_keys(self._path)

    @property
    def asked(self) -> bool:
        """Whether anybody needs a key."""
        self.look()
        return bool(self._names)

    def name_of(self, key: bytes) -> str | None:
        """The name of a key, or none; takes as long for the first key as for the last and for none."""
        self.look()
        digest = hashlib.sha256(key).digest()
        found: str | None = None
        for known, name in self._names.items():
            if hmac.compare_digest(known, digest):
                found = name
        return found

    def look(self) -> None:
        """Read the file again if it is another one."""
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            self._names = read_keys(self._path)
        except InputError as error:
            _log.error("%s The %d keys read before stay in force.", error, len(self._names))
        else:
            _log.warning("The keys %s were read again: %d of them.", self._path, len(self._names))

    @property
    def _path(self) -> Path:
        return next((place for place in self._places if _stamp(place)), self._places[-1])

    def _stamps(self) -> tuple[tuple[int, ...], ...]:
        return tuple(_stamp(place) for place in self._places)


def keys_of(config: ServerConfig) -> Keys | None:
    """The keys that are asked for: of the configured file, else of the unit's credential, else none.

    Raises ``InputError`` that names the file and the line.
    """
    given, runtime = directory("CREDENTIALS"), directory("RUNTIME")
    path = config.keys or (given / CREDENTIAL if given is not None else None)
    if path is None:
        return None
    newer = runtime / path.name if runtime is not None and path.parent == given else None
    return Keys(path, newer=newer, optional=config.keys is None)


def has_keys(path: Path) -> bool:
    """Whether a file has a line that is neither empty nor a comment; false where there is none."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it says what is wrong
    return any(line.strip() and not line.strip().startswith(b"#") for line in lines)


def read_keys(path: Path) -> dict[bytes, str]:
    """The names of all keys in a file by SHA-256 of the key. Raises ``InputError`` that never holds a key."""
    named = f"The file of keys {path}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError(f"{named} is no regular file; set server.keys to one.")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{named} can't be read: {error.strerror}; check server.keys.") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{named} has more than {MAX_BYTES:,} bytes; is it the right file?")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{named} is not UTF-8 text (byte {error.start:,}); save it so.") from None
    keys: dict[bytes, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, digest = _entry(text, f"{named}, line {number:,}")
        if digest in keys or name in keys.values():
            raise InputError(f"{named}, line {number:,}: this name, or its key, was there before; remove one.")
        keys[digest] = name
    if not keys:
        raise InputError(f"{named} has no key; write a line name:key into it.")
    return keys


def _entry(text: str, where: str) -> tuple[str, bytes]:
    name, colon, key = text.partition(":")
    if not colon or not _NAME.fullmatch(name):
        raise InputError(f"{where}: write name:key, the name from letters, digits and . _ @ -, at most 64 of them.")
    if key.startswith("sha256:"):
        if not (match := _HASH.fullmatch(key)):
            raise InputError(f"{where}: sha256: is followed by the 64 hexadecimal digits of the key's SHA-256.")
        return name, bytes.fromhex(match.group(1))
    if len(key) < MIN_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"{where}: the key of {name} needs {MIN_KEY} characters or more, printable ASCII without spaces; "
            "openssl rand -hex 24 makes one."
        )
    return name, hashlib.sha256(key.encode("ascii")).digest()


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def address(host: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a text is, or none; an IPv4 address written as IPv6 counts as IPv4."""
    try:
        parsed = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def is_loopback(host: str | None) -> bool:
    """Whether a name or an address is this machine and no other can reach it."""
    found = address(host)
    return host == "localhost" if found is None else found.is_loopback


class Networks:
    """Networks whose members need no key."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def __contains__(self, host: object) -> bool:
        found = address(host) if isinstance(host, str) else None
        return found is not None and any(found in network for network in self._networks)


def check_exposure(config: Config) -> None:
    """Refuse to listen where others can reach the server and nothing keeps them out. Raises ``InputError``."""
    server = config.server
    if is_loopback(server.host) or server.keys is not None:
        return
    given = keys_of(server)
    if given is None or not given.asked:
        raise InputError(
            f"The server would listen on {server.host} without keys: whoever reaches it could use the model and ask "
            "for changes of this machine. Set server.keys to a file of keys (under systemd: write /etc/tacid/keys), or "
            "server.host to 127.0.0.1."
        )
