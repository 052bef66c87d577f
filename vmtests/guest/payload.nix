# What lies at /opt/payload: the tests' programs and cases, SmolLM2, and models with random weights, made here.
{
  model,
  python313,
  runCommand,
}:
let
  python = python313.withPackages (packages: [
    packages.gguf
    packages.numpy
  ]);
in
runCommand "tacid-payload" { nativeBuildInputs = [ python ]; } ''
  mkdir -p $out/models $out/tests/tests/engine $out/tests/vmtests
  cp ${../../tests/__init__.py} $out/tests/tests/__init__.py
  cp ${../../tests/sampling.py} $out/tests/tests/sampling.py
  cp -r ${../../tests/cases} $out/tests/tests/cases
  cp ${../../tests/engine/__init__.py} $out/tests/tests/engine/__init__.py
  cp ${../../tests/engine/random_model.py} $out/tests/tests/engine/random_model.py
  cp -r ${../../examples} $out/tests/examples
  cp ${../__init__.py} $out/tests/vmtests/__init__.py
  cp ${../byte_model.py} $out/tests/vmtests/byte_model.py
  cp -r ${../inside} $out/tests/vmtests/inside
  cp ${model}/*.gguf $out/models/smollm2.gguf
  cd $out/tests
  python -c '
  from pathlib import Path
  from tests.engine.random_model import make_random_model
  from vmtests.byte_model import make_byte_model
  models = Path("'$out'/models")
  make_random_model(models / "random.gguf", models / "smollm2.gguf")
  make_byte_model(models / "bytes.gguf")
  '
''
