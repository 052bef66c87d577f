# Options and what was set of them, as the values that the module's functions read: defaults put in, types and names
# checked. It merges nothing and knows no config, imports or priorities: it is no module system.
let
  isOption = value: value._type or "" == "option";

  one =
    name: option: given:
    if !(given ? value) then
      option.default or (throw "The option `${name}' has no value")
    else if option.type.check given.value then
      option.type.filled given.value
    else
      throw "The option `${name}' is not of type ${option.type.name}";

  each =
    where: options: values: free:
    let
      unknown = builtins.filter (name: !(options ? ${name})) (builtins.attrNames values);
      known = builtins.mapAttrs (
        name: option:
        let
          path = if where == "" then name else "${where}.${name}";
          value = values.${name} or { };
        in
        if isOption option then
          # A default of a submodule is filled as what is set is.
          one path option (
            if values ? ${name} then
              { inherit value; }
            else if option.type.name or "" == "submodule" then
              { value = option.default; }
            else
              { }
          )
        else
          each path option value free
      ) options;
    in
    if unknown != [ ] && free == null then
      throw "The option `${where}.${builtins.head unknown}' does not exist"
    else
      values // known;
in
rec {
  fill =
    module: values:
    let
      result = each "" called.options values (called.freeformType or null);
      called = if builtins.isFunction module then module { config = result; } else module;
    in
    result;
  tree = options: values: each "services.tacid" options values null;
}
