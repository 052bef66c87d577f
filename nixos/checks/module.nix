{ pkgs, ... }: pkgs.runCommand "todo" {} ""
