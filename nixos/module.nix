# The module services.tacid: what it sets of a machine. Each file beside it is a function of the options alone.
{
  config,
  lib,
  options,
  pkgs,
  ...
}:
let
  cfg = config.services.tacid;
  given = {
    inherit lib pkgs cfg;
  };
  units = import ./units.nix given;
  toml = (pkgs.formats.toml { }).generate "config.toml" (import ./settings.nix given);
  list = (pkgs.formats.json { }).generate "services.json" (import ./list.nix given);
in
{
  options.services.tacid = import ./options {
    inherit
      lib
      pkgs
      cfg
      options
      ;
  };

  config = lib.mkIf cfg.enable {
    assertions = import ./assertions.nix given;
    warnings = import ./warnings.nix given;

    environment.etc."tacid/config.toml".source = toml;
    environment.etc."tacid-system/services.json".source = list;
    environment.systemPackages = [ cfg.package ];

    systemd.packages = [ cfg.package ];
    systemd.services = units.services {
      restart = [ toml ];
      reload = [ list ];
    };
    systemd.mounts = units.mounts;
    systemd.tmpfiles.rules = units.tmpfiles;

    networking.firewall.allowedTCPPorts = lib.optional cfg.openFirewall cfg.settings.server.port;
  };
}
