# The examples as whole machines.
{ self, nixpkgs }:
system: modules:
nixpkgs.lib.nixosSystem {
  inherit system;
  modules = [ self.nixosModules.default ] ++ modules;
}
