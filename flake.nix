{
  description = "tacid: lets a small local model call tools on your own machine, held by a grammar that it cannot leave";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs = inputs: import ./nixos/outputs.nix { inherit (inputs) self nixpkgs; };
}
