"""The configuration: one TOML file, typed; environment and flags go over it."""

from tacid.config.load import DELIMITER, MAX_BYTES, PREFIX, Loaded, Origin, config_path, load, load_config
from tacid.config.sections import (
    MAX_SOCKET,
    SERVICES_FILE,
    UNIX,
    Config,
    EndpointConfig,
    EngineConfig,
    GrammarConfig,
    MachineConfig,
    ModelConfig,
    ServerConfig,
    ToolsConfig,
    settings,
    socket_of,
)

__all__ = [
    "DELIMITER",
    "MAX_BYTES",
    "MAX_SOCKET",
    "PREFIX",
    "SERVICES_FILE",
    "UNIX",
    "Config",
    "EndpointConfig",
    "EngineConfig",
    "GrammarConfig",
    "Loaded",
    "MachineConfig",
    "ModelConfig",
    "Origin",
    "ServerConfig",
    "ToolsConfig",
    "config_path",
    "load",
    "load_config",
    "settings",
    "socket_of",
]
