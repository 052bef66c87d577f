# The server with its engine and the small model: runs from an empty folder, fetches nothing.
{
  lib,
  llama-cpp,
  makeWrapper,
  model,
  runCommand,
  tacid,
}:
runCommand "tacid-appliance"
  {
    nativeBuildInputs = [ makeWrapper ];
    meta = tacid.meta // {
      description = "tacid with llama.cpp and SmolLM2";
      mainProgram = "tacid-appliance";
    };
  }
  ''
    mkdir -p $out/bin
    for name in tacid tacid-appliance; do
      makeWrapper ${lib.getExe tacid} $out/bin/$name \
        --set-default TACID_ENGINE__BINARY ${llama-cpp}/bin/llama-server \
        --set-default TACID_MODEL__DIR ${model}
    done
    # Without words of its own it serves.
    substituteInPlace $out/bin/tacid-appliance --replace-fail '"$@"' '"''${@:-serve}"'
  ''
