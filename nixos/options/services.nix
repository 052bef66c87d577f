# The allow-list, by default all that the machine's modules can enable.
{ lib, options }:
let
  inherit (lib) mkOption types;
in
mkOption {
  type = types.listOf (
    types.either types.str (
      types.submodule {
        options = {
          name = mkOption {
            type = types.str;
            description = "The name, as in `services.NAME.enable`.";
          };
          description = mkOption {
            type = types.str;
            default = "";
            description = "What it is, in a few words for the model.";
          };
        };
      }
    )
  );
  default = import ../known-services.nix { inherit lib options; };
  defaultText = lib.literalExpression "every NAME of which the machine has an option services.NAME.enable";
  example = [
    "nginx"
    {
      name = "jellyfin";
      description = "Films and music for the home.";
    }
  ];
  description = ''
    The services that may be proposed, by name or with a description. No other name can be sampled. An empty list
    narrows nothing. The list lies at `/etc/tacid-system/services.json`; a changed one holds from the next request on.
  '';
}
