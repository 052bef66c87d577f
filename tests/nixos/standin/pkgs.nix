# As many packages as the flake uses: each a derivation that says what it was made from, and can't be built.
{ lib, system }:
let
  drv =
    name: from:
    derivation {
      inherit name system;
      builder = "/bin/sh";
      args = [ ];
      from = builtins.toJSON from;
    }
    // { inherit from; };
  app = attributes: drv attributes.pname attributes // attributes;
  callPackage =
    file: more:
    let
      make = if builtins.isFunction file then file else import file;
    in
    make (builtins.intersectAttrs (builtins.functionArgs make) self // more);
  self = {
    inherit lib callPackage;
    stdenv.hostPlatform = {
      inherit system;
      isLinux = lib.hasSuffix "linux" system;
    };
    stdenv.cc.cc = drv "gcc" { };
    fetchurl = fetched: drv fetched.name (builtins.removeAttrs fetched [ "meta" ]);
    fetchFromGitHub = source: drv "source" source;
    linkFarm = drv;
    makeWrapper = drv "make-wrapper" { };
    nixfmt = drv "nixfmt" { };
    nixfmt-tree = drv "nixfmt-tree" { };
    qemu = drv "qemu" { };
    tacid = drv "tacid" { };
    unzip = drv "unzip" { };
    runCommand =
      name: attributes: text:
      drv name text // { meta = attributes.meta or { }; };
    writeShellScript = name: text: drv name text // { inherit text; };
    writeShellScriptBin = drv;
    curl = drv "curl" { };
    mkShell = shell: drv "shell" shell;
    llama-cpp = drv "llama-cpp" { } // {
      cmakeFlags = [ ];
      nativeBuildInputs = [
        (drv "cmake" { })
        (drv "npm-config-hook" { })
      ];
      override = arguments: drv "llama-cpp" arguments;
      overrideAttrs =
        change:
        let
          changed = change self.llama-cpp;
        in
        drv "llama-cpp-${changed.version}" changed;
    };
    formats.toml = _: {
      type = lib.types.anything;
      generate = drv;
    };
    formats.json = self.formats.toml;
    nixosOptionsDoc = _: { optionsCommonMark = drv "options.md" { }; };
    python313 = drv "python3" { } // {
      sitePackages = "lib/python3.13/site-packages";
      pkgs =
        lib.genAttrs [
          "fastapi"
          "gguf"
          "hatchling"
          "httpx"
          "huggingface-hub"
          "jsonschema-rs"
          "numpy"
          "pip"
          "prometheus-client"
          "pydantic"
          "pydantic-settings"
          "rich"
          "typer"
          "uvicorn"
        ] (name: drv name { })
        // {
          fetchPypi = wheel: drv "${wheel.pname}.whl" wheel;
          buildPythonApplication = app;
          toPythonModule = package: package;
        };
      withPackages = choose: drv "python3-env" (map toString (choose self.python313.pkgs));
    };
    testers.runNixOSTest = test: drv "vm-test-${test.name}" test.testScript;
  };
in
self
