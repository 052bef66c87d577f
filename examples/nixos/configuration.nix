# What makes a machine serve, offline from its first boot. Only this machine reaches the server.
{
  services.tacid = {
    enable = true;
    # The machine's own tools are offered to everybody who reaches the server; names that it can't build can't be sampled.
    settings.machine.offer = [ "*" ];
  };

  networking.hostName = "box";
  users.users.me = {
    isNormalUser = true;
    extraGroups = [ "wheel" ];
    initialPassword = "change me";
  };
  system.stateVersion = "26.05";
}
