# The machine's units: the server's, the engines', and the mount of a state that lies elsewhere.
{
  lib,
  pkgs,
  cfg,
}:
let
  engines = import ./engines.nix { inherit lib pkgs cfg; };
  settings = import ./settings.nix { inherit lib pkgs cfg; };
  elsewhere = cfg.stateDir != "/var/lib/tacid";
in
{
  services =
    triggers:
    {
      tacid = import ./gateway-unit.nix { inherit lib cfg triggers; };
    }
    // builtins.listToAttrs (
      map (engine: {
        name = engine.unit;
        value = import ./engine-unit.nix {
          inherit
            lib
            pkgs
            engine
            settings
            ;
        };
      }) engines
    );

  # A dynamic user's state lies there, and systemd gives it to that user whatever is mounted.
  mounts = lib.optional elsewhere {
    what = toString cfg.stateDir;
    where = "/var/lib/private/tacid";
    type = "none";
    options = "bind";
    requires = [ "systemd-tmpfiles-setup.service" ];
    after = [ "systemd-tmpfiles-setup.service" ];
    before = [ "umount.target" ];
    conflicts = [ "umount.target" ];
    unitConfig.DefaultDependencies = false;
  };

  tmpfiles = lib.optional elsewhere "d ${toString cfg.stateDir} 0700 root root -";
}
