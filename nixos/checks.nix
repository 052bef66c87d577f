# What `nix flake check` builds: machines that boot, the option reference, the form, and the module's claims.
{
  self,
  nixpkgs,
  pkgs,
}:
let
  inherit (pkgs) lib;
  inherit (pkgs.stdenv.hostPlatform) system;

  files = builtins.attrNames (builtins.readDir ../vmtests);
  scripts = builtins.filter (lib.hasSuffix ".nix") files;
  machines = builtins.listToAttrs (
    map (file: {
      name = "vm-${lib.removeSuffix ".nix" file}";
      value = pkgs.testers.runNixOSTest (import (../vmtests + "/${file}") { inherit self pkgs; });
    }) scripts
  );

  claims = import ./claims.nix {
    inherit lib;
    evaluate = modules: (import ./machine.nix { inherit self nixpkgs; } system modules).config;
  };
  wrong = builtins.filter (name: !claims.${name}) (builtins.attrNames claims);
in
machines
// {
  inherit (self.packages.${system}) docs tacid tacid-appliance;

  format = pkgs.runCommand "tacid-nix-format" { nativeBuildInputs = [ pkgs.nixfmt ]; } ''
    nixfmt --check $(find ${self} -name '*.nix')
    touch $out
  '';
}
# What stands in for nixpkgs in our tests has no module system to try them in.
// lib.optionalAttrs (lib ? modules) {
  module =
    if wrong == [ ] then
      pkgs.runCommand "tacid-module" { } "touch $out"
    else
      throw "These claims of nixos/claims.nix don't hold: ${builtins.concatStringsSep "; " wrong}.";
}
