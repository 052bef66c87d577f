# The options of services.tacid.
{
  lib,
  pkgs,
  cfg,
  options,
}:
let
  inherit (lib) mkOption types;
  given = {
    inherit lib pkgs cfg;
  };
  engine = import ./engine.nix given;
in
{
  enable = lib.mkEnableOption "tacid, tool calls of small local models held by a grammar";

  package = lib.mkPackageOption pkgs "tacid" { };

  settings = import ./settings.nix given;

  services = import ./services.nix { inherit lib options; };

  inherit (engine) model;

  engine = builtins.removeAttrs engine [ "model" ];

  engines = mkOption {
    type = types.attrsOf (types.submodule (import ./engines.nix given));
    default = { };
    example = lib.literalExpression ''
      {
        small = { };
        large = {
          model = "qwen3-4b-instruct-2507";
          engine.acceleration = "cuda";
        };
      }
    '';
    description = ''
      Several engines behind the one server, chosen by a request's `model`. Each is a unit `tacid-engine@NAME`. With
      any here, `services.tacid.model` and `services.tacid.engine` are only what these take for their own defaults.
    '';
  };

  toolMode = mkOption {
    type = types.enum [
      "full"
      "deferred"
      "direct"
      "auto"
    ];
    default = "full";
    description = "How much of a catalogue the prompt shows; the grammar always holds all of it.";
  };

  apiKeysFile = mkOption {
    type = types.nullOr types.path;
    default = null;
    example = "/run/secrets/tacid-keys";
    description = ''
      A file on the machine with a key a line, `name:key` or `name:sha256:HEX`. systemd hands it over as a credential;
      it never comes near the store. A reload takes changed keys without dropping a request.
    '';
  };

  openFirewall = mkOption {
    type = types.bool;
    default = false;
    description = "Whether other machines reach the port. The server has to listen on their network, too.";
  };

  stateDir = mkOption {
    type = types.path;
    default = "/var/lib/tacid";
    example = "/data/tacid";
    description = ''
      Where the state lies. Another place than the default is mounted there, so that the unit stays as closed as it is.
    '';
  };
}
