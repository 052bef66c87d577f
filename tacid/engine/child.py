"""The engine of the package xllamacpp as a process of its own, with llama-server's arguments.

Started by ``python -m tacid.engine.child``: the package has a server and no command. The key comes in the environment
(``LLAMA_API_KEY``), as llama-server takes it. SIGTERM ends it at once by its default action: there is nothing to
save. An argument that isn't in `FLAGS` is refused by name; ``--try`` alone only loads the package.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

_LIBRARIES = {"libgomp": "libgomp1", "libstdc++": "libstdc++6"}


def main(arguments: list[str]) -> NoReturn:
    """Serve until a signal comes."""
    xllamacpp = _package()
    if arguments == ["--try"]:
        sys.exit(0)
    params = xllamacpp.CommonParams()
    params.n_gpu_layers = 0
    try:
        _apply(params, arguments, xllamacpp)
        if key := os.environ.pop("LLAMA_API_KEY", ""):
            params.api_keys = [key]
    except (ValueError, TypeError, OverflowError) as error:
        _give_up(str(error))
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        sys.exit(1)  # the log has the reason
    while True:
        signal.pause()
        assert server is not None  # kept alive


def _package() -> Any:
    try:
        import xllamacpp  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        for library, debian in _LIBRARIES.items():
            if library in str(error):
                _give_up(f"the package xllamacpp needs the library {library}; on Debian: apt install {debian}")
        _give_up(f"the package xllamacpp can't be loaded: {error}")
    return xllamacpp


def _give_up(reason: str) -> NoReturn:
    print(f"tacid: {reason}", file=sys.stderr)
    sys.exit(1)


def _set(path: str, kind: Callable[[str], Any] = str) -> Callable[[Any, str, Any], None]:
    def setter(params: Any, value: str, _: Any) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            params = getattr(params, parent)
        setattr(params, last, kind(value))

    return setter


def _switch(path: str, value: bool) -> Callable[[Any, str, Any], None]:
    return _set(path, lambda _: value)


def _flash(params: Any, value: str, xllamacpp: Any) -> None:
    kind = xllamacpp.llama_flash_attn_type
    params.flash_attn_type = {
        "on": kind.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": kind.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        "auto": kind.LLAMA_FLASH_ATTN_TYPE_AUTO,
    }[value]


def _cache_type(path: str) -> Callable[[Any, str, Any], None]:
    def setter(params: Any, value: str, xllamacpp: Any) -> None:
        setattr(params, path, getattr(xllamacpp.ggml_type, f"GGML_TYPE_{value.upper()}"))

    return setter


#: llama-server's arguments that the package can honour: names, whether a value follows, and what it sets.
FLAGS: dict[tuple[str, ...], tuple[bool, Callable[[Any, str, Any], None]]] = {
    ("--model",): (True, _set("model.path")),
    ("--host",): (True, _set("hostnames", lambda value: [value])),
    ("--port",): (True, _set("port", int)),
    ("--ctx-size",): (True, _set("n_ctx", int)),
    ("--parallel",): (True, _set("n_parallel", int)),
    ("--threads",): (True, _set("cpuparams.n_threads", int)),
    ("--threads-batch", "-tb"): (True, _set("cpuparams_batch.n_threads", int)),
    ("--batch-size",): (True, _set("n_batch", int)),
    ("--ubatch-size", "-ub"): (True, _set("n_ubatch", int)),
    ("--gpu-layers", "--n-gpu-layers", "-ngl"): (True, _set("n_gpu_layers", int)),
    ("--main-gpu", "-mg"): (True, _set("main_gpu", int)),
    ("--flash-attn", "-fa"): (True, _flash),
    ("--cache-type-k", "-ctk"): (True, _cache_type("cache_type_k")),
    ("--cache-type-v", "-ctv"): (True, _cache_type("cache_type_v")),
    ("--cache-ram", "-cram"): (True, _set("cache_ram_mib", int)),
    ("--cache-reuse",): (True, _set("n_cache_reuse", int)),
    ("--slot-save-path",): (True, _set("slot_save_path", lambda value: value.rstrip("/") + "/")),
    ("--slot-prompt-similarity", "-sps"): (True, _set("slot_prompt_similarity", float)),
    ("--sleep-idle-seconds",): (True, _set("sleep_idle_seconds", int)),
    ("--threads-http",): (True, _set("n_threads_http", int)),
    ("--rope-freq-base",): (True, _set("rope_freq_base", float)),
    ("--rope-freq-scale",): (True, _set("rope_freq_scale", float)),
    ("--verbosity", "--log-verbosity", "-lv"): (True, _set("verbosity", int)),
    ("--jinja",): (False, _switch("use_jinja", True)),
    ("--no-webui",): (False, _switch("ui", False)),
    ("--check-tensors",): (False, _switch("check_tensors", True)),
    ("--warmup",): (False, _switch("warmup", True)),
    ("--no-warmup",): (False, _switch("warmup", False)),
    ("--context-shift",): (False, _switch("ctx_shift", True)),
    ("--no-context-shift",): (False, _switch("ctx_shift", False)),
    ("--kv-unified", "-kvu"): (False, _switch("kv_unified", True)),
    ("--cont-batching", "-cb"): (False, _switch("cont_batching", True)),
    ("--no-cont-batching", "-nocb"): (False, _switch("cont_batching", False)),
    ("--swa-full",): (False, _switch("swa_full", True)),
}
_BY_NAME = {name: entry for names, entry in FLAGS.items() for name in names}


def _apply(params: Any, arguments: list[str], xllamacpp: Any) -> None:
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name.startswith("--"):
            name = name.replace("_", "-")
        if name not in _BY_NAME:
            raise ValueError(
                f"the package xllamacpp can't honour {name}; remove it from engine.extra_args, or use a llama-server"
            )
        takes_value, setter = _BY_NAME[name]
        if takes_value and not equals:
            value = next(rest, "")
        try:
            setter(params, value, xllamacpp)
        except (ValueError, KeyError, AttributeError):
            raise ValueError(f"{name} can't be {value!r}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
