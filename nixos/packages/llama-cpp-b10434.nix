# llama.cpp b10434, the oldest build that every grammar is tried on, without its web page. Until somebody has built it, its
# hash is that of one public repository.
{
  fetchFromGitHub,
  lib,
  llama-cpp,
}:
llama-cpp.overrideAttrs (old: {
  version = "10434";
  src = fetchFromGitHub {
    owner = "ggml-org";
    repo = "llama.cpp";
    tag = "b10434";
    hash = "sha256-Sz0kW1q91YzdrKbZUqMbFJ0DLZrzARSGheUrtCKcoQo=";
  };
  patches = [ ];

  # What nixpkgs does for the page.
  nativeBuildInputs = builtins.filter (
    input: !(lib.hasPrefix "npm-" (lib.getName input))
  ) old.nativeBuildInputs;
  npmDeps = null;
  preConfigure = "";

  cmakeFlags = old.cmakeFlags ++ [
    (lib.cmakeBool "LLAMA_BUILD_UI" false)
    (lib.cmakeBool "LLAMA_USE_PREBUILT_UI" false)
    # One build for every CPU: the server picks its code when it starts.
    (lib.cmakeBool "GGML_BACKEND_DL" true)
    (lib.cmakeBool "GGML_CPU_ALL_VARIANTS" true)
  ];
})
