# The engines of a machine as one list: the one of services.tacid.engine, or those of services.tacid.engines.
{
  lib,
  pkgs,
  cfg,
}:
let
  folders = pkgs.callPackage ./packages/models.nix { };

  # A pin is known by its name and lies in a folder of its own; everything else is the path of a file.
  located = model: {
    name = if folders ? ${model} then model else "${model}";
    dir = if folders ? ${model} then "${folders.${model}}" else null;
  };

  one = {
    inherit (cfg.engine)
      acceleration
      extraArgs
      memoryMax
      package
      threads
      ;
    name = "engine";
    unit = "tacid-engine";
    socket = "/run/tacid-engine/engine.sock";
    model = located cfg.model;
    option = "services.tacid";
  };

  several = lib.mapAttrsToList (name: engine: {
    inherit (engine)
      acceleration
      extraArgs
      memoryMax
      package
      threads
      ;
    inherit name;
    unit = "tacid-engine@${name}";
    socket = "/run/tacid-engine-${name}/engine.sock";
    model = located engine.model;
    option = "services.tacid.engines.${name}";
  }) cfg.engines;
in
if cfg.engines == { } then [ one ] else several
