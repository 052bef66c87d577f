# The module with what the flake's lock pins: the application, and the engine where no card is asked for.
self:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  packages = self.packages.${pkgs.stdenv.hostPlatform.system};
in
{
  imports = [ ./module.nix ];

  config.services.tacid = {
    package = lib.mkDefault packages.tacid;
    engine.package = lib.mkIf (config.services.tacid.engine.acceleration == "none") (
      lib.mkDefault packages.llama-cpp
    );
  };
}
