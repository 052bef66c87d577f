# A machine of your own in a flake of your own: nixos-rebuild switch --flake .#box
{
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";
  # Where your clone lies.
  inputs.tacid.url = "git+file:///home/me/tacid";
  inputs.tacid.inputs.nixpkgs.follows = "nixpkgs";

  outputs =
    { nixpkgs, tacid, ... }:
    {
      nixosConfigurations.box = nixpkgs.lib.nixosSystem {
        system = "x86_64-linux";
        modules = [
          tacid.nixosModules.default
          ./configuration.nix
          ./hardware.nix
        ];
      };
    };
}
