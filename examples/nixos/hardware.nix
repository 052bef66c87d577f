# What your nixos-generate-config writes; here only as much as lets the example evaluate.
{
  boot.loader.systemd-boot.enable = true;
  fileSystems."/" = {
    device = "/dev/disk/by-label/nixos";
    fsType = "ext4";
  };
}
