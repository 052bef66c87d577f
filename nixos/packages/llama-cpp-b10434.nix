# llama.cpp b10434, the oldest build that every grammar is tried on. Until somebody has built it, its hashes are those
# of one public repository.
{
  fetchFromGitHub,
  fetchNpmDeps,
  lib,
  llama-cpp,
}:
llama-cpp.overrideAttrs (
  final: old: {
    version = "10434";
    src = fetchFromGitHub {
      owner = "ggml-org";
      repo = "llama.cpp";
      tag = "b10434";
      hash = "sha256-Sz0kW1q91YzdrKbZUqMbFJ0DLZrzARSGheUrtCKcoQo=";
    };
    # The web page is built, since the server's build asks for it; tacid turns it off.
    npmRoot = "tools/ui";
    npmDepsHash = "sha256-2Q7XhaLAArmviOLdQsNbYTfdyDE5pW9lR26cRHEVl9k=";
    npmDeps = fetchNpmDeps {
      name = "llama-cpp-10434-npm-deps";
      inherit (final) src;
      sourceRoot = "${final.src.name}/${final.npmRoot}";
      hash = final.npmDepsHash;
    };
    preConfigure = ''
      pushd ${final.npmRoot}
      npm run build
      popd
    '';
    # One build for every CPU: the server picks its code when it starts.
    cmakeFlags = old.cmakeFlags ++ [
      (lib.cmakeBool "GGML_BACKEND_DL" true)
      (lib.cmakeBool "GGML_CPU_ALL_VARIANTS" true)
    ];
  }
)
