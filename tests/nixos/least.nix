# The module under nixpkgs' own lib, with the least of NixOS around it: options that take what the module sets.
{ lib, root }:
let
  any =
    default:
    lib.mkOption {
      type = lib.types.anything;
      inherit default;
    };
  list = lib.mkOption {
    type = lib.types.listOf lib.types.anything;
    default = [ ];
  };
  pkgs = import ./standin/pkgs.nix {
    inherit lib;
    system = "x86_64-linux";
  };
  nixos = {
    options = {
      assertions = list;
      warnings = list;
      environment.etc = any { };
      environment.systemPackages = list;
      networking.firewall.allowedTCPPorts = list;
      services.nginx.enable = lib.mkEnableOption "nginx, a web server";
      systemd.mounts = list;
      systemd.packages = list;
      systemd.services = lib.mkOption {
        type = lib.types.lazyAttrsOf (
          lib.types.submodule {
            freeformType = lib.types.anything;
            options.serviceConfig = lib.mkOption {
              type = lib.types.lazyAttrsOf lib.types.anything;
              default = { };
            };
          }
        );
        default = { };
      };
      systemd.tmpfiles.rules = list;
    };
  };
  evaluate =
    modules:
    (lib.evalModules {
      modules = [
        (root + "/nixos/module.nix")
        nixos
      ]
      ++ modules;
      specialArgs = {
        inherit pkgs;
      };
    }).config;
in
import (root + "/nixos/claims.nix") { inherit lib evaluate; }
