# What tacid.service gets beside the file that the package ships.
{
  lib,
  cfg,
  triggers,
}:
{
  wantedBy = [ "multi-user.target" ];
  restartTriggers = triggers.restart;
  # A list that changed is read again; no stream is dropped.
  reloadTriggers = triggers.reload;
}
// lib.optionalAttrs (cfg.apiKeysFile != null) {
  # The reload of the shipped unit hands over the file that KEYS names.
  environment.KEYS = toString cfg.apiKeysFile;
  serviceConfig.LoadCredential = [ "keys:${toString cfg.apiKeysFile}" ];
}
// lib.optionalAttrs (cfg.stateDir != "/var/lib/tacid") {
  unitConfig.RequiresMountsFor = [ "/var/lib/private/tacid" ];
}
