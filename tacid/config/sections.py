"""What the configuration holds: one frozen model a section, each setting with its default and what it means."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tacid.errors import InputError
from tacid.systemd import directory

#: Where a machine says which services it can build, unless the configuration names another place.
SERVICES_FILE = Path("/etc/tacid-system/services.json")

#: How the URL of a Unix socket begins, and the bytes that its path may have on every platform.
UNIX, MAX_SOCKET = "unix://", 100

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_HOST = re.compile(r"\[?[0-9A-Fa-f:.]+\]?|[A-Za-z0-9._-]+")


def xdg(variable: str, fallback: str) -> Path:
    """A directory of the person's own by the XDG base directory specification. Raises ``InputError`` without a home."""
    value = os.environ.get(variable, "")
    if value.startswith("/"):
        return Path(value) / "tacid"
    try:
        return Path.home() / fallback / "tacid"
    except RuntimeError:
        raise InputError(f"This user has no home directory; set HOME or {variable}.") from None


def _state_dir() -> Path:
    return directory("STATE") or xdg("XDG_STATE_HOME", ".local/state")


def _expand(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("there is no such home directory; write the whole path") from None


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise ValueError('name an address or a network, such as "192.168.1.20" or "192.168.1.0/24"') from None


def _origin(text: str) -> str:
    if not _ORIGIN.fullmatch(text):
        raise ValueError('an origin is a scheme and a host, such as "https://chat.example.org", without a path')
    return text.lower()


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError('name a host without scheme, port or path, such as "box.lan"')
    return text.strip("[]").lower()


def _url(text: str) -> str:
    if text.startswith(UNIX):
        path = text.removeprefix(UNIX)
        if not path.startswith("/") or path.endswith("/") or re.search(r"\s|%|\?|#|\0", path):
            raise ValueError(
                'a Unix socket is "unix://" and its absolute path as it is, such as '
                '"unix:///run/tacid-engine/engine.sock"'
            )
        if len(os.fsencode(path)) > MAX_SOCKET:
            raise ValueError(f"the path of a Unix socket may have {MAX_SOCKET} bytes; choose a shorter one")
        return text
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an address of IPv6, or a port that is none
        good = False
    if not good or re.search(r"\s", text):
        raise ValueError('a URL begins with "http://" or "https://" and a host, or with "unix:///" and a path')
    return text.rstrip("/")


def socket_of(url: str) -> Path | None:
    """The path of the Unix socket that a URL names; none where it is another URL."""
    return Path(url.removeprefix(UNIX)) if url.startswith(UNIX) else None


Named = Annotated[str, Field(min_length=1)]
#: Shown as *** wherever settings are shown.
Secret = Annotated[str | None, Field(repr=False, json_schema_extra={"writeOnly": True})]
File = Annotated[Path, AfterValidator(_expand)]
Network = Annotated[str, AfterValidator(_network)]
Origin = Annotated[str, AfterValidator(_origin)]
Host = Annotated[str, AfterValidator(_host)]
Url = Annotated[str, AfterValidator(_url)]


class Section(BaseModel):
    """A section: no other keys, never changed after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class EngineConfig(Section):
    """How llama-server is found, started and watched."""

    url: Url | None = Field(
        None,
        description="An engine that already runs, http://host:port or unix:///path.sock; nothing is started then.",
    )
    key: Secret = Field(None, description="The key of the engine at url.")
    binary: File | None = Field(None, description="A llama-server to start instead of one that is found.")
    threads: int | None = Field(None, ge=1, le=1024, description="Threads; default: the physical cores.")
    context: int = Field(8192, ge=512, le=1_048_576, description="Tokens of context for each slot.")
    slots: int = Field(1, ge=1, le=64, description="Requests that are sampled side by side.")
    batch: int | None = Field(
        None, ge=16, le=4096, description="Tokens read in one go; default: as many as are read within a second."
    )
    memory_limit: int | None = Field(
        None,
        ge=64,
        le=16_777_216,
        description="MiB that the engine may allocate; default: 7/8 of the machine's, none where a cgroup limits it.",
    )
    extra_args: tuple[str, ...] = Field((), description="Further arguments for llama-server.")
    start_timeout: float = Field(120.0, gt=0, description="Seconds until a started engine must be ready.")
    reply_timeout: float = Field(
        120.0, gt=0, description="Seconds without any sign of life before it counts as wedged."
    )
    probe_after: float = Field(
        30.0, gt=0, description="Seconds without any progress of the engine before it is asked to sample a token."
    )
    restarts: int = Field(5, ge=0, le=1000, description="Restarts within restart_window before tacid gives up.")
    restart_window: float = Field(60.0, gt=0, description="Seconds over which restarts are counted.")


class ModelConfig(Section):
    """Which model, what else it is called, and where models are kept."""

    name: str = Field("smollm2-135m-instruct", description="A pin by name, or the path of a GGUF file.")
    dir: File = Field(
        default_factory=lambda: xdg("XDG_DATA_HOME", ".local/share") / "models",
        description="Where fetched models are kept; default: $XDG_DATA_HOME/tacid/models.",
    )
    aliases: dict[Named, Named] = Field({}, description="Further names by which clients may ask for a served model.")
    reasoning_tokens: int = Field(
        1024, ge=0, le=131_072, description="The most tokens that a reasoning model may think before it replies."
    )


class MachineConfig(Section):
    """What the machine says about itself, and who may ask for changes of it."""

    services: File | None = Field(None, description=f"The list of services; default {SERVICES_FILE}, if it is there.")
    state_dir: File = Field(
        default_factory=_state_dir,
        description="Where proposals and other state are kept; default: $STATE_DIRECTORY of a unit, else "
        "$XDG_STATE_HOME/tacid.",
    )
    offer: tuple[Named, ...] = Field(
        (),
        description="Names of keys, or of model aliases, for which facts_get and propose_changes are offered; "
        '"*" is everybody.',
    )


class GrammarConfig(Section):
    """How much one request's tools may cost; what goes beyond is widened and checked afterwards."""

    max_seconds: float = Field(2.0, gt=0, le=60, description="Seconds of processor time to compile one grammar.")
    max_bytes: int = Field(
        1024 * 1024, ge=16 * 1024, le=2 * 1024 * 1024, description="Bytes of one grammar, without its lists of values."
    )


class ToolsConfig(Section):
    """How much of a catalogue the prompt shows; the grammar always holds all of it."""

    mode: Literal["full", "deferred", "direct", "auto"] = Field(
        "full",
        description="full: every schema. deferred: an index, and a tool that gives a schema. direct: an index; a "
        "schema comes in once its tool's name is certain. auto: full while it fits.",
    )
    instead: Literal["deferred", "direct"] = Field(
        "direct", description="What auto takes where full doesn't fit, and full where tools have defer_loading."
    )
    budget: int = Field(2048, ge=0, description="Tokens of tools up to which auto takes full.")
    per_request: bool = Field(True, description="Whether a request may choose (tool_mode, or x-tacid-tool-mode).")
    always: tuple[Named, ...] = Field((), description="Tools that are shown in full in every mode.")
    index: Literal["names", "args", "line", "signature"] = Field(
        "line", description="What a line of the index says: the name, its arguments, its purpose, or all of it."
    )
    index_tokens: int = Field(
        2048, ge=64, le=131_072, description="Tokens of the index; at most a quarter of the context is taken."
    )
    max_hops: int = Field(3, ge=0, le=16, description="Schemas and searches that one reply may ask for.")
    first_temperature: float | None = Field(
        None, ge=0, le=5, description="The temperature before anything was fetched; default: as everywhere."
    )
    remind: bool = Field(
        False, description="Whether, in deferred, a call of a tool whose schema wasn't fetched is refused once."
    )
    metrics_out: File | None = Field(None, description="A file that gets a JSON line for each request with tools.")


class ServerConfig(Section):
    """Where the server listens, who may speak to it, and how much they may ask."""

    host: Host = Field("127.0.0.1", description="The address to listen on; any but loopback needs keys.")
    port: int = Field(8017, ge=1, le=65535, description="The TCP port.")
    tools: File | None = Field(None, description="A catalogue of the server's own, offered in every request.")
    keys: File | None = Field(None, description="A file of keys, one a line: name:key, or name:sha256:HEX.")
    trusted: tuple[Network, ...] = Field((), description="Addresses or networks that need no key.")
    hosts: tuple[Host, ...] = Field((), description="Further names by which clients reach this server (Host header).")
    origins: tuple[Origin, ...] = Field((), description="Web pages that may use this server (CORS), as origins.")
    max_body: int = Field(8 * 1024 * 1024, ge=1024, le=16 * 1024 * 1024, description="Bytes of a request's body.")
    max_messages: int = Field(2000, ge=1, description="Messages of a request.")
    max_tools: int = Field(4096, ge=1, description="Tools of a request.")
    max_schema_bytes: int = Field(1024 * 1024, ge=1024, description="Bytes of one schema of a request.")
    max_nesting: int = Field(64, ge=1, le=200, description="Levels of lists and objects in a schema.")
    max_tokens: int = Field(131_072, ge=1, description="The most tokens that one reply may have.")
    request_timeout: float = Field(600.0, gt=0, description="Seconds that a request may take in all.")
    body_timeout: float = Field(30.0, gt=0, description="Seconds in which a request's body must have come in.")
    queue: int = Field(64, ge=0, le=100_000, description="Requests that may wait for a slot; the next is told 429.")
    streams_per_key: int = Field(64, ge=1, description="Requests of one key, or address, that may be open at a time.")
    heartbeat: float = Field(5.0, gt=0, le=60, description="Seconds of silence after which a sign of life is sent.")
    on_invalid: Literal["mark", "error"] = Field(
        "mark", description="What becomes of a call that failed its check twice: handed on with a mark, or an error."
    )
    strict_tools: bool = Field(
        False, description="Whether a tool that can't be offered refuses the request, instead of being left out."
    )
    log_contents: bool = Field(False, description="Whether logs and audit hold what people and models wrote.")
    audit: File | None = Field(None, description="A file that gets a line for each call; default: the log.")
    pull: bool = Field(False, description="Whether clients may have pinned models fetched (/api/pull).")
    drain: float = Field(10.0, ge=0, description="Seconds that open requests may still take at SIGTERM.")


class EndpointConfig(Section):
    """One thing that makes replies."""

    name: Named = Field(description="What it is called in logs and errors.")
    kind: Literal["local", "tools", "remote"] = Field(
        description="local: a llama-server whose sampler we hold. tools: a local server that honours tools. "
        "remote: one that guarantees the shape by itself."
    )
    url: Url | None = Field(None, description="Where it is; a local one without a URL is the one of [engine].")
    key: Secret = Field(None, description="Its key.")
    model: Named | None = Field(None, description="The model to ask it for; default: the only one there, else [model].")
    fallback: bool = Field(False, description="Whether it is only asked when the others can't reply.")

    @model_validator(mode="after")
    def _reachable(self) -> EndpointConfig:
        if self.kind != "local" and self.url is None:
            raise ValueError(f'an endpoint of kind "{self.kind}" needs a url')
        if self.kind != "local" and socket_of(self.url or "") is not None:
            raise ValueError(f'an endpoint of kind "{self.kind}" is asked over http or https, not at a Unix socket')
        return self


class Config(Section):
    """All of it."""

    engine: EngineConfig = Field(default_factory=EngineConfig, description="How llama-server is found and started.")
    model: ModelConfig = Field(default_factory=ModelConfig, description="Which model.")
    machine: MachineConfig = Field(default_factory=MachineConfig, description="What the machine says about itself.")
    grammar: GrammarConfig = Field(default_factory=GrammarConfig, description="How much a request's tools may cost.")
    tools: ToolsConfig = Field(default_factory=ToolsConfig, description="How much of a catalogue the prompt shows.")
    server: ServerConfig = Field(default_factory=ServerConfig, description="Where and for whom the server listens.")
    endpoints: tuple[EndpointConfig, ...] = Field(
        (), description="What makes replies; default: the one engine of [engine]."
    )

    @model_validator(mode="after")
    def _endpoints_fit(self) -> Config:
        names = [endpoint.name for endpoint in self.endpoints]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f'two endpoints are called "{twice[0]}"; give each a name of its own')
        if self.endpoints and all(endpoint.fallback for endpoint in self.endpoints):
            raise ValueError("every endpoint is a fallback; one at least must come first")
        return self


def settings(model: type[BaseModel] = Config, prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted name (``server.port``) with its field; ``endpoints`` counts as one."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found |= settings(kind, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = field
    return found
