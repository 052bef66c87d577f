# boot.py on NixOS: a machine without any network device.
args:
import ./guest/test.nix args "boot" {
  machine =
    { lib, ... }:
    {
      virtualisation.vlans = [ ];
      virtualisation.qemu.networkingOptions = lib.mkForce [ ];
    };
}
