"""The configuration as TOML for people: each setting with where it came from, secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tacid.config.load import Loaded
from tacid.jsontext import quote

HIDDEN = "***"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def show(loaded: Loaded) -> Iterator[str]:
    """The lines of a TOML document (1.0.0) that holds the effective values; what has no value is a comment."""
    yield f"# file: {loaded.path or 'none'}"
    config = loaded.config
    for section in type(config).model_fields:
        if section != "endpoints":
            yield from ("", f"[{section}]")
            yield from _lines(getattr(config, section), lambda key, at=section: loaded.origins[f"{at}.{key}"])
    origin = loaded.origins["endpoints"]
    if not config.endpoints:
        yield from ("", f"# endpoints: the engine of [engine]  # {origin}")
    for endpoint in config.endpoints:
        yield from ("", "[[endpoints]]")
        yield from _lines(endpoint, lambda key: origin)


def _lines(section: BaseModel, origin_of: Any) -> Iterator[str]:
    for key, field in type(section).model_fields.items():
        value = getattr(section, key)
        if value is None:
            yield f"# {key} has no value  # {origin_of(key)}"
            continue
        extra = field.json_schema_extra
        secret = isinstance(extra, dict) and extra.get("writeOnly") is True
        yield f"{key} = {toml(HIDDEN if secret else _veiled(value))}  # {origin_of(key)}"


def _veiled(value: Any) -> Any:
    # A password may stand in a URL (RFC 3986, 3.2.1).
    return re.sub(r"//[^/@]*@", f"//{HIDDEN}@", value) if isinstance(value, str) else value


def toml(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, Path)):
        # A basic string is a JSON string but for DEL, and for halves of surrogate pairs, which it can't hold.
        text = str(value).encode("utf-8", "replace").decode()
        return quote(text).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{key if _BARE.fullmatch(key) else toml(key)} = {toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    return "[" + ", ".join(toml(item) for item in value) + "]"
