# What stands in the configuration file: what the options say, and services.tacid.settings over it.
{
  lib,
  pkgs,
  cfg,
}:
let
  engines = import ./engines.nix { inherit lib pkgs cfg; };
  first = builtins.head engines;
  table = engine: {
    inherit (engine) name;
    kind = "local";
    url = "unix://${engine.socket}";
    model = engine.model.name;
  };
  others = cfg.settings.endpoints or [ ];
  own = {
    tools.mode = cfg.toolMode;
    model = {
      inherit (first.model) name dir;
    };
    engine.url = "unix://${first.socket}";
    # Named, the file has to be there with a key in it; without a name the credential may be empty.
    server.keys = if cfg.apiKeysFile == null then null else "/run/credentials/tacid.service/keys";
  };
  # Without tables there is the one engine of [engine]; with any, that one needs a table, too.
  endpoints = lib.optionalAttrs (cfg.engines != { } || others != [ ]) {
    endpoints = map table engines ++ others;
  };
  said = lib.recursiveUpdate (lib.recursiveUpdate own cfg.settings) endpoints;
in
# TOML has no null.
lib.filterAttrsRecursive (_: value: value != null) said
