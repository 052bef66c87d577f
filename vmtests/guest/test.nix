# A script of this folder as a test of the NixOS driver: what all share stands before it, in one text.
{ self, pkgs }:
name: nodes: {
  name = "tacid-${name}";
  nodes = builtins.mapAttrs (_: module: {
    imports = [
      (import ./. { inherit self; })
      module
    ];
  }) nodes;
  testScript = builtins.concatStringsSep "\n" [
    "SHORT = False"
    (builtins.readFile ../common.py)
    (builtins.readFile (../. + "/${name}.py"))
  ];
  # The driver's own linter knows neither of the names that it gives.
  skipLint = true;
  skipTypeCheck = true;
}
