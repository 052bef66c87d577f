# A folder for each pinned model, with its file under its own name: by that and its size tacid knows the pin.
{
  fetchurl,
  lib,
  linkFarm,
}:
lib.mapAttrs (
  name: pin:
  linkFarm "tacid-model-${name}" [
    {
      name = pin.file;
      path = fetchurl {
        name = pin.file;
        inherit (pin) urls sha256;
        meta.description = pin.title;
      };
    }
  ]
) (import ../pins.nix).models
