# The example as a whole machine.
{
  self,
  nixpkgs,
  system,
}:
nixpkgs.lib.nixosSystem {
  inherit system;
  modules = [
    self.nixosModules.default
    ../examples/nixos/configuration.nix
  ];
}
