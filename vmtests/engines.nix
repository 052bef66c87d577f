# engines.py on NixOS: two models behind one server.
args:
import ./guest/test.nix args "engines" {
  machine.services.tacid.engines = {
    small.model = "/opt/payload/models/bytes.gguf";
    large.model = "/opt/payload/models/random.gguf";
  };
}
