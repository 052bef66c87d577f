# power.py on NixOS.
args: import ./guest/test.nix args "power" { machine = { }; }
