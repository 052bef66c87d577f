"""The configuration: one TOML file, typed; environment and flags go over it.

Looked for in this order: ``$TACID_CONFIG``, ``$XDG_CONFIG_HOME/tacid/config.toml`` (``~/.config``),
``/etc/tacid/config.toml``. Without a file the defaults hold.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacid.errors import InputError

#: Where a machine says which services it can build, unless the configuration names another place.
SERVICES_FILE = Path("/etc/tacid-system/services.json")

#: Bytes that the file may have.
MAX_BYTES = 256 * 1024


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    if value.startswith("/"):
        return Path(value) / "tacid"
    try:
        return Path.home() / fallback / "tacid"
    except RuntimeError:
        raise InputError(f"This user has no home directory; set HOME or {variable}.") from None


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineConfig(_Section):
    """How llama-server is found and started."""

    url: str | None = Field(None, description="An engine that already runs, http://host:port; nothing is started then.")
    key: str | None = Field(None, description="The key of the engine at url.")
    binary: Path | None = Field(None, description="A llama-server to start instead of one that is found.")
    threads: int | None = Field(None, ge=1, le=1024, description="Threads; default: the physical cores.")
    context: int = Field(8192, ge=512, le=1_048_576, description="Tokens of context for each slot.")
    slots: int = Field(1, ge=1, le=64, description="Requests that are sampled side by side.")
    extra_args: tuple[str, ...] = Field((), description="Further arguments for llama-server.")
    start_timeout: float = Field(120.0, gt=0, description="Seconds until a started engine must be ready.")
    reply_timeout: float = Field(
        120.0, gt=0, description="Seconds without any sign of life before it counts as wedged."
    )


class ModelConfig(_Section):
    """Which model, and where models are kept."""

    name: str = Field("smollm2-135m-instruct", description="A pin by name, or the path of a GGUF file.")
    dir: Path = Field(default_factory=lambda: _xdg("XDG_DATA_HOME", ".local/share") / "models")


class MachineConfig(_Section):
    """What the machine says about itself."""

    services: Path | None = Field(None, description=f"The list of services; default {SERVICES_FILE}, if it is there.")
    state_dir: Path = Field(default_factory=lambda: _xdg("XDG_STATE_HOME", ".local/state"))


class ServerConfig(_Section):
    """Where the server listens."""

    port: int = Field(8017, ge=1, le=65535)


class Config(_Section):
    """All of it."""

    engine: EngineConfig = Field(default_factory=EngineConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    machine: MachineConfig = Field(default_factory=MachineConfig)
    server: ServerConfig = Field(default_factory=ServerConfig)


def config_path() -> Path | None:
    """The configuration file that holds here, or none. A file named by ``$TACID_CONFIG`` must exist."""
    if named := os.environ.get("TACID_CONFIG"):
        return Path(named)
    for path in (_xdg("XDG_CONFIG_HOME", ".config") / "config.toml", Path("/etc/tacid/config.toml")):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass  # what can't be looked at is there; reading it says why
        return path
    return None


def load_config(path: Path | None = None) -> Config:
    """Read the configuration. Raises ``InputError`` that names the file and the key."""
    path = path or config_path()
    if path is None:
        return Config()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"The configuration {path} can't be read: {error.strerror}; name another in TACID_CONFIG."
        ) from None
    if len(text) > MAX_BYTES:
        raise InputError(f"The configuration {path} has more than {MAX_BYTES:,} bytes; is it the right file?")
    try:
        data = tomllib.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"The configuration {path} is not UTF-8 text (byte {error.start:,}); save it so.") from None
    except ValueError as error:
        raise InputError(f"The configuration {path} is not TOML: {error}.") from None
    except RecursionError:
        raise InputError(f"The configuration {path} is not TOML of ours: it nests too deep.") from None
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        wrong = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"]
        raise InputError(f"The configuration {path}: {key}: {wrong}.") from None
