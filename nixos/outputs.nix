# What the flake gives; each thing is made in a file of its own.
{ self, nixpkgs }:
let
  inherit (nixpkgs) lib;
  linux = [
    "x86_64-linux"
    "aarch64-linux"
  ];
  # Nothing was tried there: the application and the engine alone, without units and machines.
  darwin = [ "aarch64-darwin" ];
  each = systems: make: lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
  machine = import ./machine.nix { inherit self nixpkgs; };
  example = ../examples/nixos;
  appliance = system: machine system [ (example + "/configuration.nix") ];
in
{
  packages = each (linux ++ darwin) (
    pkgs:
    import ./packages { inherit pkgs; }
    // lib.optionalAttrs pkgs.stdenv.hostPlatform.isLinux {
      docs = import ./docs.nix { inherit pkgs; };
      image = (appliance pkgs.stdenv.hostPlatform.system).config.system.build.images.iso;
    }
  );

  apps = each (linux ++ darwin) (pkgs: {
    default = {
      type = "app";
      program = lib.getExe self.packages.${pkgs.stdenv.hostPlatform.system}.tacid-appliance;
      meta.description = "Serve with the engine and the small model; nothing is fetched when it runs";
    };
  });

  overlays.default = final: prev: {
    inherit (import ./packages { pkgs = final; }) tacid tacid-appliance;
  };

  nixosModules.default = import ./with-packages.nix self;

  nixosConfigurations.example = machine "x86_64-linux" [
    (example + "/configuration.nix")
    (example + "/hardware.nix")
  ];

  devShells = each (linux ++ darwin) (pkgs: {
    default = import ./shell.nix { inherit pkgs; };
  });

  formatter = each (linux ++ darwin) (pkgs: pkgs.nixfmt-tree);

  checks = each linux (pkgs: import ./checks.nix { inherit self nixpkgs pkgs; });
}
