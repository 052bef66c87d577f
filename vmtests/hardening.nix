# hardening.py on NixOS, with a key that should be found nowhere.
args: import ./guest/test.nix args "hardening" { machine = ./guest/keys.nix; }
