# unsampleable.py on NixOS.
args: import ./guest/test.nix args "unsampleable" { machine = { }; }
