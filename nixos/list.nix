# The content of /etc/tacid-system/services.json.
{ cfg, ... }:
{
  version = 1;
  services = map (
    service:
    if builtins.isString service then
      { name = service; }
    else
      { inherit (service) name description; }
  ) cfg.services;
}
