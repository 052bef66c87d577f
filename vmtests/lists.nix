# lists.py on NixOS.
args: import ./guest/test.nix args "lists" { machine = { }; }
