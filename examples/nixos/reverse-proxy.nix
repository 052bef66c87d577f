# Behind nginx, by a name and HTTPS. The server itself stays on loopback; its keys hold for what comes through.
{ config, ... }:
let
  name = "chat.example.org";
  inherit (config.services.tacid.settings) server;
in
{
  services.tacid = {
    enable = true;
    apiKeysFile = "/run/secrets/tacid-keys";
    # Clients name the proxy in their Host header.
    settings.server.hosts = [ name ];
  };

  services.nginx = {
    enable = true;
    virtualHosts.${name} = {
      enableACME = true;
      forceSSL = true;
      locations."/" = {
        proxyPass = "http://${server.host}:${toString server.port}";
        extraConfig = ''
          # What is streamed goes on at once, for as long as a reply takes.
          proxy_buffering off;
          proxy_read_timeout 600s;
          client_max_body_size 8m;
        '';
      };
    };
  };

  security.acme.acceptTerms = true;
  security.acme.defaults.email = "admin@example.org";
  networking.firewall.allowedTCPPorts = [
    80
    443
  ];
}
