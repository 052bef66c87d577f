# The TOML file: every setting that tacid knows may stand here, the typed ones are those that machines often change.
{ lib, pkgs, ... }:
let
  inherit (lib) mkOption types;
  setting =
    type: default: description:
    mkOption { inherit type default description; };
  texts = setting (types.listOf types.str) [ ];
in
mkOption {
  default = { };
  example = lib.literalExpression ''
    {
      server.hosts = [ "chat.example.org" ];
      model.aliases."gpt-4o-mini" = "smollm2-135m-instruct";
    }
  '';
  description = ''
    The configuration, section by section as `config.example.toml` has it; `null` leaves a setting out. It lies in the
    store, where everybody reads it: keys have no place here.
  '';
  type = types.submodule {
    freeformType = (pkgs.formats.toml { }).type;
    options = {
      server = {
        host = setting types.str "127.0.0.1" "The address to listen on; any but loopback needs `apiKeysFile`.";
        port = setting types.port 8017 "The TCP port to listen on.";
        hosts = texts "Further names by which clients reach the server, such as that of a reverse proxy.";
        origins = texts "Web pages that may use the server, as origins.";
        trusted = texts "Addresses or networks that need no key.";
        log_contents = setting types.bool false "Whether logs hold what people and models wrote.";
      };
      engine = {
        context = setting (types.ints.between 512 1048576) 8192 "Tokens of context for each slot.";
        slots = setting (types.ints.between 1 64) 1 "Requests that are sampled side by side.";
      };
      model = {
        aliases = setting (types.attrsOf types.str) { } "Further names by which clients may ask for a model.";
        reasoning_tokens =
          setting (types.ints.between 0 131072) 1024
            "The most tokens that a model may think before it replies.";
      };
      machine.offer = texts "Keys or model aliases for which the machine's own tools are offered; `*` is everybody.";
    };
  };
}
