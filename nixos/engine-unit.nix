# What an engine's unit gets beside the file that the package ships: its engine, its model, its card.
{
  lib,
  pkgs,
  engine,
  settings,
}:
let
  card = (import ./cards.nix).${engine.acceleration};
  server = "${engine.package}/bin/llama-server";
in
{
  # With the server, which runs without it all the same.
  wantedBy = [ "tacid.service" ];
  overrideStrategy = "asDropin";
  # A model is read again only where something of the engine changed.
  restartTriggers = [ (builtins.toJSON { inherit (settings) engine model; }) ];

  environment = {
    TACID_ENGINE__BINARY = server;
    TACID_ENGINE__EXTRA_ARGS = builtins.toJSON engine.extraArgs;
  }
  // lib.optionalAttrs (engine.threads != null) { TACID_ENGINE__THREADS = toString engine.threads; }
  // lib.optionalAttrs (engine.model.dir != null) { TACID_MODEL__DIR = engine.model.dir; };

  serviceConfig =
    lib.optionalAttrs (engine.memoryMax != null) { MemoryMax = engine.memoryMax; }
    // lib.optionalAttrs (card.devices != [ ]) {
      # What the shipped unit says of devices, but for those of this card.
      PrivateDevices = lib.mkDefault false;
      DevicePolicy = lib.mkDefault "closed";
      DeviceAllow = map (device: "${device} rw") card.devices;
      SupplementaryGroups = card.groups;
      ExecStartPre = "${import ./card-check.nix { inherit pkgs server card engine; }}";
    };
}
