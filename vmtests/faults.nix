# faults.py on NixOS.
args: import ./guest/test.nix args "faults" { machine = { }; }
