# doors.py on NixOS: the server, and a machine beside it.
args:
import ./guest/test.nix args "doors" {
  server = ./guest/keys.nix;
  client.services.tacid.enable = false;
}
