"""Reading the configuration: defaults, one TOML file over them, the environment over it, flags over all.

The file is looked for in this order: ``$TACID_CONFIG``, ``$XDG_CONFIG_HOME/tacid/config.toml`` (``~/.config``),
``/etc/tacid/config.toml``. A variable is named by section and setting: ``TACID_SERVER__PORT=8018``; lists and tables
are written as JSON, ``null`` unsets.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from tacid.config.sections import Config, EndpointConfig, settings, xdg
from tacid.errors import InputError
from tacid.jsontext import quote

#: Bytes that the file may have.
MAX_BYTES = 256 * 1024

PREFIX = "TACID_"
DELIMITER = "__"

#: What we say instead of pydantic's words, which speak of Python.
_WORDS = {
    "model_type": "it must be a table of settings",
    "dict_type": "it must be a table",
    "tuple_type": "it must be a list",
    "missing": "it is needed and isn't there",
}

Origin: TypeAlias = Literal["default", "file", "environment", "flag"]
Layer: TypeAlias = Mapping[str, Any]


class _Layered(BaseSettings, Config):
    """The configuration as pydantic-settings reads it from the environment."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=DELIMITER, env_parse_none_str="null", extra="forbid"
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration, the file that was read (or none), and where each setting came from."""

    config: Config
    path: Path | None
    origins: Mapping[str, Origin]


def config_path() -> Path | None:
    """The configuration file that holds here, or none. A file named by ``$TACID_CONFIG`` must exist."""
    if named := os.environ.get("TACID_CONFIG"):
        return Path(named)
    for path in (xdg("XDG_CONFIG_HOME", ".config") / "config.toml", Path("/etc/tacid/config.toml")):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass  # what can't be looked at is there; reading it says why
        return path
    return None


def load_config(path: Path | None = None, overrides: Layer | None = None) -> Config:
    """Read the configuration. Raises ``InputError`` that names the file or the variable, and the key.

    ``overrides`` are sections as the file has them (``{"server": {"port": 8018}}``): what flags say.
    """
    return load(path, overrides).config


def load(path: Path | None = None, overrides: Layer | None = None) -> Loaded:
    """Like `load_config`, and says where each setting came from."""
    path = path or config_path()
    layers: list[tuple[Origin, Layer]] = []
    if path is not None:
        layers.append(("file", read_toml(path)))
    if environment := _environment():
        layers.append(("environment", environment))
    if overrides:
        layers.append(("flag", overrides))
    config, merged = Config(), dict[str, Any]()
    origins: dict[str, Origin] = dict.fromkeys(settings(), "default")
    for origin, layer in layers:
        for section, value in layer.items():
            below = merged.get(section)
            if isinstance(value, Mapping) and isinstance(below, Mapping):
                value = {**below, **value}
            merged[section] = value
        # Each layer is judged where it is laid on, so that it is blamed for what is its own.
        try:
            config = Config.model_validate(merged)
        except ValidationError as error:
            raise InputError(_sentence(error, origin, path)) from None
        origins |= {key: origin for key in origins if _holds(layer, key)}
    return Loaded(config, path, origins)


def _holds(layer: Layer, key: str) -> bool:
    section, _, setting = key.partition(".")
    return section in layer and (not setting or setting in layer[section])


def read_toml(path: Path) -> dict[str, Any]:
    """Parse the file. Raises ``InputError`` that names it: unreadable, no regular file, too large, no TOML."""
    named = f"The configuration {path}"
    return parse_toml(read_text(path, named, "name another in TACID_CONFIG"), named)


def read_text(path: Path, named: str, remedy: str) -> str:
    """The text of a file that a person wrote. Raises ``InputError``, which begins with ``named``."""
    try:
        text = _read(path)
    except OSError as error:
        raise InputError(f"{named} can't be read: {error.strerror}; {remedy}.") from None
    except ValueError:
        raise InputError(f"{quote(named, shown=True)} is no path; {remedy}.") from None
    if len(text) > MAX_BYTES:
        raise InputError(f"{named} has more than {MAX_BYTES:,} bytes; is it the right file?")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{named} is not UTF-8 text (byte {error.start:,}); save it so.") from None


def parse_toml(text: str, named: str) -> dict[str, Any]:
    """The document in a text. Raises ``InputError``, which begins with ``named``."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"{named} is not TOML: {error}.") from None
    except RecursionError:
        raise InputError(f"{named} is not TOML of ours: it nests too deep.") from None


def _read(path: Path) -> bytes:
    # A pipe that nobody writes to would hold up an ordinary open for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(code, os.strerror(code) if stat.S_ISDIR(mode) else "it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def _environment() -> dict[str, Any]:
    """What the environment sets, by section. Raises ``InputError`` that names the variable."""
    for variable in os.environ:
        section, nested, _ = variable.upper().removeprefix(PREFIX).partition(DELIMITER)
        if variable.upper().startswith(PREFIX) and nested and section.lower() not in Config.model_fields:
            near = _nearest(section.lower(), Config.model_fields)
            raise InputError(
                f"The environment sets {_shown(variable)}: there is no such section; "
                f"did you mean {PREFIX}{near.upper()}{DELIMITER}…?"
            )
    try:
        return EnvSettingsSource(_Layered)()
    except SettingsError:
        raise InputError(
            f"The environment sets {_shown(_unparsed())} to what is no JSON; write lists and tables as JSON."
        ) from None


def _unparsed() -> str:
    """The variable that should hold JSON and doesn't: a section, or a setting that is a list or a table."""
    plain = {key for key, field in settings().items() if not isinstance(field.get_default(), (tuple, dict))}
    for variable, value in os.environ.items():
        if variable.upper().startswith(PREFIX):
            key = variable.upper().removeprefix(PREFIX).replace(DELIMITER, ".").lower()
            if key.partition(".")[0] in Config.model_fields and key not in plain:
                try:
                    json.loads(value)
                except ValueError:
                    return variable
    return f"{PREFIX}…"


def _sentence(error: ValidationError, origin: Origin, path: Path | None) -> str:
    # A mistyped key is behind a missing one, so it is told first.
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    where = tuple(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = _nearest_setting(where)
        if origin == "environment" and where[0] != "endpoints":
            near = _variable(near)
        wrong = f"there is no such setting; did you mean {near}?"
    else:
        wrong = _WORDS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    end = "" if wrong.endswith("?") else "."
    if origin != "environment":
        named = f"The configuration {path}" if origin == "file" else "The flags"
        return ": ".join(part for part in (named, _shown(".".join(where)), wrong) if part) + end
    if where[:1] == ("endpoints",):
        within = f", {_shown('.'.join(where[1:]))}" if where[1:] else ""
        return f"The environment sets {PREFIX}ENDPOINTS{within}: {wrong}{end}"
    return f"The environment sets {_shown(_variable('.'.join(where[:2])))}: {wrong}{end}"


def _nearest_setting(where: tuple[str, ...]) -> str:
    """The known setting that is most like one that isn't: of its own section first, then of all."""
    known = list(settings())
    if where[0] == "endpoints":
        return f"endpoints.{where[1]}.{_nearest(where[-1], EndpointConfig.model_fields)}"
    # Beside what belongs here there is what was written into the wrong section, or into none.
    here = {key.rpartition(".")[2]: key for key in known if key.startswith(f"{where[0]}.")}
    if len(where) == 1:
        here = {section: section for section in Config.model_fields}
    elsewhere = {key.partition(".")[2]: key for key in reversed(known) if "." in key}
    name = where[-1][:100]
    for keys, cutoff in ((here, 0.6), (elsewhere, 0.8)):
        if close := difflib.get_close_matches(name, keys, n=1, cutoff=cutoff):
            return keys[close[0]]
    return here[_nearest(name, here)]


def _nearest(name: str, known: Iterable[str]) -> str:
    # Every name has a nearest one, however far.
    known = list(known)
    return next(iter(difflib.get_close_matches(name[:100], known, n=1, cutoff=0.0)), known[0])


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", DELIMITER).upper()


def _shown(key: str) -> str:
    return key[:100] if re.fullmatch(r"[\w.-]*", key) else quote(key[:100], shown=True)
