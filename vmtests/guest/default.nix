# A NixOS guest that has what a Debian one has: the service with a model of random weights, and the tests' programs.
{ self }:
{ lib, pkgs, ... }:
let
  packages = self.packages.${pkgs.stdenv.hostPlatform.system};
  payload = pkgs.callPackage ./payload.nix { inherit (packages) model; };
  python = pkgs.python313.withPackages (_: [
    (pkgs.python313.pkgs.toPythonModule packages.tacid)
  ]);
in
{
  imports = [ self.nixosModules.default ];

  services.tacid = {
    enable = lib.mkDefault true;
    model = "/opt/payload/models/bytes.gguf";
    engine.threads = 1;
    services = (builtins.fromJSON (builtins.readFile ../../examples/services.json)).services;
    settings = {
      model.aliases.machine = "bytes";
      # The machine's own tools are long, so only who asks for this model gets them.
      machine.offer = [ "machine" ];
    };
  };

  environment.systemPackages = [
    pkgs.curl
    (pkgs.writeShellScriptBin "tacid-python" ''
      PYTHONPATH=/opt/payload/tests exec ${python}/bin/python "$@"
    '')
  ];
  systemd.tmpfiles.rules = [ "L+ /opt/payload - - - - ${payload}" ];
  virtualisation.memorySize = 2048;
  virtualisation.cores = 2;
}
