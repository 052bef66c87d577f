# What can't be built: each with a sentence that names the options and what to do.
{ lib, cfg, ... }:
let
  inherit (cfg.settings.server) host;
  loopback = host == "localhost" || host == "::1" || builtins.match "127\\.[0-9.]+" host != null;

  # A path without quotes is copied into the store.
  inStore = path: builtins.isPath path || lib.hasPrefix builtins.storeDir (toString path);

  endpoints = cfg.settings.endpoints or [ ];
  names = builtins.attrNames cfg.engines;
  models = [
    {
      option = "services.tacid.model";
      inherit (cfg) model;
    }
  ]
  ++ map (name: {
    option = "services.tacid.engines.${name}.model";
    inherit (cfg.engines.${name}) model;
  }) names;
  key = where: variable: has: {
    assertion = !has;
    message = "services.tacid.settings.${where} has a key, which everybody could read in the store; leave it out, and let EnvironmentFile= of tacid.service set ${variable}.";
  };
in
[
  {
    assertion = loopback || cfg.apiKeysFile != null;
    message = "services.tacid.settings.server.host is ${host}, where other machines reach the server; name a file of keys in services.tacid.apiKeysFile, or listen on 127.0.0.1.";
  }
  {
    assertion = cfg.openFirewall -> !loopback;
    message = "services.tacid.openFirewall opens a port on which nobody listens: services.tacid.settings.server.host is ${host}; let it be 0.0.0.0, or leave the firewall closed.";
  }
  {
    assertion = cfg.apiKeysFile == null || !inStore cfg.apiKeysFile;
    message = "services.tacid.apiKeysFile is ${toString cfg.apiKeysFile}, which is in the store, or comes there, and everybody can read it; write the path of a file on the machine, in quotes.";
  }
  {
    assertion = !inStore cfg.stateDir;
    message = "services.tacid.stateDir is ${toString cfg.stateDir}, and nothing can be written in the store; write the path of a folder on the machine, in quotes.";
  }
  (key "engine" "TACID_ENGINE__KEY" (cfg.settings.engine ? key))
  (key "endpoints" "TACID_ENDPOINTS" (builtins.any (endpoint: endpoint ? key) endpoints))
]
++ import ./owned.nix { inherit lib cfg; }
++ map (one: {
  assertion = builtins.match "/(home|root|run/user)/.*" (toString one.model) == null;
  message = "${one.option} is ${toString one.model}, and the engine's unit sees no home; move the file, to /var/lib for example.";
}) models
++ map (name: {
  assertion = builtins.match "[A-Za-z0-9][A-Za-z0-9_-]{0,31}" name != null;
  message = "services.tacid.engines.\"${name}\" is no name of a unit; take letters, digits, - and _, at most 32.";
}) names
++ map (name: {
  assertion = !builtins.any (endpoint: endpoint.name or null == name) endpoints;
  message = "services.tacid.engines.${name} and services.tacid.settings.endpoints both have a \"${name}\"; call one of them otherwise.";
}) names
