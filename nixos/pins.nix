# The pinned models, from the one file that the Python side reads too: by name, with the URL of each file on the hub.
let
  file = builtins.fromJSON (builtins.readFile ../tacid/engine/pins.json);
  mirrors = pin: builtins.filter (mirror: mirror ? hub) pin.mirrors;
  url = pin: mirror: "${file.hub}/${mirror.hub}/resolve/${mirror.revision}/${pin.file}";
  named = pin: {
    inherit (pin) name;
    value = pin // {
      urls = map (url pin) (mirrors pin);
    };
  };
in
{
  # What only lies in wheels isn't fetched by Nix.
  models = builtins.listToAttrs (map named (builtins.filter (pin: mirrors pin != [ ]) file.models));
}
