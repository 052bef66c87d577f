# What scripts/test and scripts/check need: Python, an engine, and for the machines QEMU.
{ pkgs }:
pkgs.mkShell {
  packages = [
    pkgs.llama-cpp
    pkgs.nixfmt
    pkgs.python313
    pkgs.qemu
  ];
  # Wheels of the package index find it there.
  LD_LIBRARY_PATH = pkgs.lib.makeLibraryPath [ pkgs.stdenv.cc.cc ];
}
