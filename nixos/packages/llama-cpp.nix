# llama.cpp as the given nixpkgs has it, for a kind of card. Without a card that build is in the public cache.
pkgs: acceleration:
{
  none = pkgs.llama-cpp;
  cuda = pkgs.llama-cpp.override { cudaSupport = true; };
  rocm = pkgs.llama-cpp.override { rocmSupport = true; };
  vulkan = pkgs.llama-cpp.override { vulkanSupport = true; };
}
.${acceleration}
