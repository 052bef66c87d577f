# What is said of an engine: the one engine's options, and those of each of several.
{
  lib,
  pkgs,
  cfg,
}:
let
  inherit (lib) mkOption types;
in
{
  model = mkOption {
    type = types.either (types.enum (builtins.attrNames (import ../pins.nix).models)) types.path;
    default = "smollm2-135m-instruct";
    example = "qwen2.5-coder-1.5b-instruct";
    description = ''
      The model: a pin by its name, which is fetched when the machine is built, the path of a GGUF file on the machine,
      or a package that is such a file. Nothing is fetched at boot.
    '';
  };

  package = mkOption {
    type = types.package;
    default = import ../packages/llama-cpp.nix pkgs cfg.engine.acceleration;
    defaultText = lib.literalExpression "pkgs.llama-cpp, built for `acceleration`";
    description = "llama.cpp, with `bin/llama-server`.";
  };

  threads = mkOption {
    type = types.nullOr types.ints.positive;
    default = null;
    description = "Threads of the engine; without it, the physical cores.";
  };

  acceleration = mkOption {
    type = types.enum (builtins.attrNames (import ../cards.nix));
    default = "none";
    description = ''
      The kind of card that the engine uses. The unit then sees the device nodes of that card and no others, and fails
      with a sentence in the journal where llama-server finds none. `cuda` needs `nixpkgs.config.allowUnfree`.
    '';
  };

  extraArgs = mkOption {
    type = types.listOf types.str;
    default = [ ];
    example = [
      "--device"
      "CUDA1"
    ];
    description = "Further arguments for llama-server, such as which of several cards it takes.";
  };

  memoryMax = mkOption {
    type = types.nullOr types.str;
    default = null;
    example = "6G";
    description = "The most memory that the unit may take (systemd's `MemoryMax=`); without it, what the unit says.";
  };
}
