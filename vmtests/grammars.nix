# grammars.py on NixOS.
args: import ./guest/test.nix args "grammars" { machine = { }; }
