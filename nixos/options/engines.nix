# One of several engines: what is not said of it is that of services.tacid.model and services.tacid.engine.
{
  lib,
  pkgs,
  cfg,
}:
{ config, ... }:
let
  engine = import ./engine.nix { inherit lib pkgs cfg; };
  like =
    option: value: text:
    option
    // {
      default = value;
      defaultText = lib.literalExpression text;
    };
  build =
    if config.acceleration == cfg.engine.acceleration then
      cfg.engine.package
    else
      import ../packages/llama-cpp.nix pkgs config.acceleration;
  same = name: like engine.${name} cfg.engine.${name} "config.services.tacid.engine.${name}";
in
{
  options = {
    model = like engine.model cfg.model "config.services.tacid.model";
    acceleration = same "acceleration";
    extraArgs = same "extraArgs";
    memoryMax = same "memoryMax";
    threads = same "threads";
    package = like engine.package build "that of the one engine, or one for this `acceleration`";
  };
}
