# Stands in for nixpkgs where none can be had: enough to evaluate the flake's outputs and the module, nothing to build.
{
  outputs =
    _:
    let
      lib = import ./lib.nix;
      whole = import ./machine.nix lib;
    in
    {
      lib = lib // {
        inherit (whole) nixosSystem evalModules;
      };
      legacyPackages =
        lib.genAttrs
          [
            "x86_64-linux"
            "aarch64-linux"
            "aarch64-darwin"
          ]
          (
            system:
            import ./pkgs.nix {
              lib = lib // {
                inherit (whole) evalModules;
              };
              inherit system;
            }
          );
    };
}
