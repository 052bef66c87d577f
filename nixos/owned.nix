# Settings that are said by options of their own: an assertion for each, so that none is said twice.
{ lib, cfg }:
let
  owned = {
    engine.binary = "engine.package";
    engine.extra_args = "engine.extraArgs";
    engine.threads = "engine.threads";
    engine.url = "engines";
    machine.services = "services";
    machine.state_dir = "stateDir";
    model.dir = "model";
    model.name = "model";
    server.keys = "apiKeysFile";
    tools.mode = "toolMode";
  };
  of =
    section:
    lib.mapAttrsToList (setting: option: {
      assertion = !(cfg.settings ? ${section}.${setting});
      message = "services.tacid.settings.${section}.${setting} is said by services.tacid.${option}; set that one instead.";
    }) owned.${section};
in
builtins.concatMap of (builtins.attrNames owned)
