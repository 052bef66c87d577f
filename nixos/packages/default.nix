# The packages, by name.
{ pkgs }:
let
  models = pkgs.callPackage ./models.nix { };
in
rec {
  default = tacid-appliance;
  llama-cpp = import ./llama-cpp.nix pkgs "none";
  llama-cpp-b10434 = pkgs.callPackage ./llama-cpp-b10434.nix { };
  model = models.smollm2-135m-instruct;
  tacid = pkgs.callPackage ./tacid.nix { };
  tacid-appliance = pkgs.callPackage ./appliance.nix { inherit llama-cpp model tacid; };
}
// pkgs.lib.mapAttrs' (name: value: {
  # No name of a package may hold a dot.
  name = "model-${builtins.replaceStrings [ "." ] [ "_" ] name}";
  inherit value;
}) models
