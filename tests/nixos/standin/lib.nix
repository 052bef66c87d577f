# As much of nixpkgs' lib as the flake and the module use, with the same meaning.
let
  filling = import ./fill.nix;
in
rec {
  inherit (filling) tree;
  types = import ./types.nix filling.fill;

  mkOption = option: option // { _type = "option"; };
  isOption = value: value._type or "" == "option";
  mkEnableOption =
    what:
    mkOption {
      type = types.bool;
      default = false;
      description = "Whether to enable ${what}.";
    };
  mkPackageOption =
    pkgs: name: _:
    mkOption {
      type = types.package;
      default = pkgs.${name};
    };
  literalExpression = text: {
    _type = "literalExpression";
    inherit text;
  };
  mkIf = condition: content: {
    _type = "if";
    inherit condition content;
  };
  mkDefault = content: {
    _type = "override";
    priority = 1000;
    inherit content;
  };

  optional = yes: value: if yes then [ value ] else [ ];
  optionalAttrs = yes: value: if yes then value else { };
  hasPrefix = prefix: text: builtins.substring 0 (builtins.stringLength prefix) text == prefix;
  removePrefix =
    prefix: text:
    if hasPrefix prefix text then
      builtins.substring (builtins.stringLength prefix) (-1) text
    else
      text;
  hasSuffix =
    suffix: text:
    let
      more = builtins.stringLength text - builtins.stringLength suffix;
    in
    more >= 0 && builtins.substring more (-1) text == suffix;
  removeSuffix =
    suffix: text:
    if hasSuffix suffix text then
      builtins.substring 0 (builtins.stringLength text - builtins.stringLength suffix) text
    else
      text;

  inherit (builtins) mapAttrs;
  mapAttrsToList = make: set: map (name: make name set.${name}) (builtins.attrNames set);
  mapAttrs' = make: set: builtins.listToAttrs (mapAttrsToList make set);
  genAttrs =
    names: make:
    builtins.listToAttrs (
      map (name: {
        inherit name;
        value = make name;
      }) names
    );
  recursiveUpdate =
    below: above:
    below
    // builtins.mapAttrs (
      name: value:
      if builtins.isAttrs value && builtins.isAttrs (below.${name} or null) then
        recursiveUpdate below.${name} value
      else
        value
    ) above;
  filterAttrsRecursive =
    keep: set:
    builtins.listToAttrs (
      builtins.concatMap (
        name:
        let
          value = set.${name};
        in
        optional (keep name value) {
          inherit name;
          value = if builtins.isAttrs value then filterAttrsRecursive keep value else value;
        }
      ) (builtins.attrNames set)
    );

  importTOML = path: builtins.fromTOML (builtins.readFile path);
  getName = package: package.name;
  getExe = package: "${package}/bin/${package.meta.mainProgram or package.name}";
  cmakeBool = name: value: "-D${name}:BOOL=${if value then "TRUE" else "FALSE"}";
  makeLibraryPath = packages: toString (map (package: "${package}/lib") packages);
  fileset.unions = paths: builtins.deepSeq (map builtins.pathExists paths) paths;
  fileset.toSource = source: source.root;
  licenses.asl20 = "Apache-2.0";
  platforms.linux = [ ];
  platforms.darwin = [ ];
}
