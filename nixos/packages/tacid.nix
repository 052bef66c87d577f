# The Python application, with the units that it ships.
{ lib, python313 }:
let
  root = ../..;
  project = (lib.importTOML (root + "/pyproject.toml")).project;
  python = python313;
  # "pydantic-settings>=2.7" is pydantic-settings.
  named = requirement: builtins.head (builtins.match "([A-Za-z0-9-]+).*" requirement);
in
python.pkgs.buildPythonApplication {
  pname = "tacid";
  version = builtins.head (
    builtins.match ".*__version__ = \"([^\"]+)\".*" (builtins.readFile (root + "/tacid/__init__.py"))
  );
  pyproject = true;

  src = lib.fileset.toSource {
    inherit root;
    fileset = lib.fileset.unions (
      map (path: root + "/${path}") [
        "LICENSE"
        "README.md"
        "packaging/systemd"
        "pyproject.toml"
        "tacid"
      ]
    );
  };

  build-system = [ python.pkgs.hatchling ];
  dependencies = map (requirement: python.pkgs.${named requirement}) project.dependencies;

  # Models that only lie in wheels are fetched by a pip of its own, which doesn't see the application's path.
  makeWrapperArgs = [
    "--prefix"
    "PYTHONPATH"
    ":"
    "${python.pkgs.pip}/${python.sitePackages}"
  ];

  postInstall = ''
    install -Dm644 -t $out/lib/systemd/system packaging/systemd/*.service
    substituteInPlace $out/lib/systemd/system/*.service --replace-fail /usr/bin/tacid $out/bin/tacid
  '';

  pythonImportsCheck = [
    "tacid"
    "tacid.api.app"
    "tacid.cli.main"
    "tacid.grammar"
  ];
  doInstallCheck = true;
  installCheckPhase = ''
    runHook preInstallCheck
    $out/bin/tacid grammar ${../../examples/tools.json} >/dev/null
    runHook postInstallCheck
  '';

  meta = {
    inherit (project) description;
    license = lib.licenses.asl20;
    mainProgram = "tacid";
    platforms = lib.platforms.linux ++ lib.platforms.darwin;
  };
}
