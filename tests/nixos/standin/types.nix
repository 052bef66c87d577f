# Types as nixpkgs' lib names them, as far as the module uses them. Each says whether a value is of it (check) and gives
# the value with what a submodule adds (filled).
fill:
let
  type = name: check: {
    inherit name check;
    filled = value: value;
  };
  of = inner: more: inner // more;
  whole = builtins.isInt;
in
rec {
  anything = type "anything" (_: true);
  bool = type "boolean" builtins.isBool;
  str = type "string" builtins.isString;
  nonEmptyStr = type "non-empty string" (value: builtins.isString value && value != "");
  package = type "package" (value: value.type or "" == "derivation");
  path = type "path" (
    value:
    (builtins.isPath value || builtins.isString value || value ? outPath)
    && builtins.substring 0 1 (toString value) == "/"
  );
  port = ints.between 0 65535;
  ints.positive = type "positive integer" (value: whole value && value > 0);
  ints.between = low: high: type "integer" (value: whole value && low <= value && value <= high);
  enum = values: type "one of ${builtins.toJSON values}" (value: builtins.elem value values);
  nullOr = inner: {
    name = "null or ${inner.name}";
    check = value: value == null || inner.check value;
    filled = value: if value == null then null else inner.filled value;
  };
  either =
    one: other:
    of other {
      name = "${one.name} or ${other.name}";
      check = value: one.check value || other.check value;
      filled = value: if one.check value then one.filled value else other.filled value;
    };
  listOf =
    inner:
    of inner {
      name = "list of ${inner.name}";
      check = value: builtins.isList value && builtins.all inner.check value;
      filled = map inner.filled;
    };
  attrsOf =
    inner:
    of inner {
      name = "attribute set of ${inner.name}";
      check = value: builtins.isAttrs value && builtins.all inner.check (builtins.attrValues value);
      filled = builtins.mapAttrs (_: inner.filled);
    };
  submodule = module: {
    name = "submodule";
    inherit module;
    check = builtins.isAttrs;
    filled = fill module;
  };
}
