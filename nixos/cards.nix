# What a kind of card needs: device nodes (names as in /proc/devices), groups, and what llama-server calls the card.
{
  none = {
    devices = [ ];
    groups = [ ];
    seen = null;
  };
  cuda = {
    devices = [ "char-nvidia*" ];
    groups = [ ];
    seen = "CUDA";
  };
  rocm = {
    devices = [
      "char-drm"
      "char-kfd"
    ];
    groups = [
      "render"
      "video"
    ];
    seen = "ROCm";
  };
  vulkan = {
    devices = [ "char-drm" ];
    groups = [
      "render"
      "video"
    ];
    seen = "Vulkan";
  };
}
