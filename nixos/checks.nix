# What `nix flake check` builds: machines that boot, the option reference, the form, and the module's evaluation.
{
  self,
  nixpkgs,
  pkgs,
}:
let
  inherit (pkgs) lib;
  packages = self.packages.${pkgs.stdenv.hostPlatform.system};
  scripts = builtins.filter (name: name != "guest.nix" && lib.hasSuffix ".nix" name) (
    builtins.attrNames (builtins.readDir ../vmtests)
  );
  machines = builtins.listToAttrs (
    map (name: {
      name = "vm-${lib.removeSuffix ".nix" name}";
      value = pkgs.testers.runNixOSTest (import (../vmtests + "/${name}") { inherit self pkgs; });
    }) scripts
  );
in
machines
// {
  inherit (packages) docs tacid tacid-appliance;
  format = pkgs.runCommand "tacid-nix-format" { nativeBuildInputs = [ pkgs.nixfmt ]; } ''
    nixfmt --check $(find ${self} -name '*.nix')
    touch $out
  '';
  module = import ./checks/module.nix { inherit self nixpkgs pkgs; };
}
