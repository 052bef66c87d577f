# The services that a machine's modules can enable: names with descriptions, read from the options alone.
{ lib, options }:
let
  # Some modules throw when they are looked at, and some options are only there to say that they are gone.
  attempt = value: (builtins.tryEval value).value;
  enable = name: options.services.${name}.enable or { };
  offered =
    name:
    attempt (
      let
        option = enable name;
      in
      lib.isOption option && option.visible or true != false
    );
  said =
    name:
    let
      description = (enable name).description or "";
      text = description.text or description;
      words = attempt (if builtins.isString text then text else "");
      known = if builtins.isString words then words else "";
      what = builtins.match "[[:space:]]*[Ww]hether to enable (.*[^.[:space:]])[.[:space:]]*" known;
    in
    if what == null then known else builtins.head what;
in
map (name: {
  inherit name;
  description = said name;
}) (builtins.filter offered (builtins.attrNames options.services))
