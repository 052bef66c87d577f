# The options as a document, with their types, defaults and words.
{ pkgs }:
let
  inherit (pkgs) lib;
  evaluated = lib.evalModules {
    modules = [
      ./module.nix
      { _module.check = false; }
    ];
    specialArgs = {
      inherit pkgs;
    };
  };
  document = pkgs.nixosOptionsDoc {
    options.services = {
      inherit (evaluated.options.services) tacid;
    };
    # Paths of this folder are written as in the repository.
    transformOptions =
      option:
      option
      // {
        declarations = map (
          path: lib.removePrefix "${toString ../.}/" (toString path)
        ) option.declarations;
      };
  };
in
pkgs.runCommand "tacid-options" { } ''
  mkdir -p $out
  cp ${document.optionsCommonMark} $out/options.md
''
