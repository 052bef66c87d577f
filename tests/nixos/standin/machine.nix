# Where whole machines are asked for: no module is evaluated, each has a derivation of a fixed name.
lib: {
  nixosSystem =
    { system, modules }:
    let
      built =
        name:
        derivation {
          inherit name system;
          builder = "/bin/sh";
          args = [ (toString (builtins.length modules)) ];
        };
    in
    {
      config.system.build.toplevel = built "nixos-system";
      config.system.build.images.iso = built "nixos.iso";
    };
  evalModules = _: { options.services.tacid = { }; };
}
