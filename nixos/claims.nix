# The module within the real module system: what comes of options, and which machines can't be built. Each claim is a
# name, and whether it holds. `evaluate` gives the configuration of a machine with these modules.
{ lib, evaluate }:
let
  machine = tacid: evaluate [ { services.tacid = tacid // { enable = true; }; } ];
  failing = tacid: builtins.filter (one: !one.assertion) (machine tacid).assertions;
  refused = tacid: word: builtins.any (one: lib.hasInfix word one.message) (failing tacid);
  taken = tacid: (builtins.tryEval (builtins.deepSeq (machine tacid).services.tacid true)).success;
  plain = machine { };
  large = machine {
    engines.small = { };
    engines.large = {
      model = "/models/x.gguf";
      acceleration = "vulkan";
    };
  };
  over = evaluate [
    {
      services.tacid.enable = true;
      services.tacid.engine.acceleration = "vulkan";
      systemd.services.tacid-engine.serviceConfig.PrivateDevices = true;
    }
  ];
in
{
  "a plain machine can be built" = failing { } == [ ];
  "it lists what its modules can enable" =
    builtins.any (one: one.name == "nginx") plain.services.tacid.services;
  "its list is written where the server looks" = plain.environment.etc ? "tacid-system/services.json";
  "its port is closed" = !(builtins.elem 8017 plain.networking.firewall.allowedTCPPorts);
  "its units are those of the package" =
    builtins.elem plain.services.tacid.package plain.systemd.packages;
  "a changed list reloads" = plain.systemd.services.tacid.reloadTriggers != [ ];
  "several engines are instances of the template" =
    large.systemd.services ? "tacid-engine@small" && large.systemd.services ? "tacid-engine@large";
  "what is not said of one is the one engine's" =
    large.services.tacid.engines.small.model == "smollm2-135m-instruct";
  "a card opens its devices" =
    !large.systemd.services."tacid-engine@large".serviceConfig.PrivateDevices;
  "hardening is overridden plainly" = over.systemd.services.tacid-engine.serviceConfig.PrivateDevices;
  "a default in the settings is overridden plainly" =
    (machine { settings.server.port = 9; }).services.tacid.settings.server.port == 9;
  "keys in the store are refused" =
    refused { apiKeysFile = "${builtins.storeDir}/keys"; } "services.tacid.apiKeysFile";
  "an open port needs a listener" = refused { openFirewall = true; } "services.tacid.openFirewall";
  "others are kept out by keys" =
    refused { settings.server.host = "0.0.0.0"; } "services.tacid.apiKeysFile";
  "a setting with an option is refused" =
    refused { settings.model.name = "x"; } "services.tacid.model";
  "a model that is no pin is refused" = !taken { model = "gpt-4"; };
  "a mode that isn't there is refused" = !taken { toolMode = "all"; };
}
