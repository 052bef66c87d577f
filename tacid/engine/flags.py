"""The command line of an engine: what tacid gives, what a person may add, and what would undo ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacid.config import EngineConfig
from tacid.engine import cpu
from tacid.errors import InputError

#: What ``engine.extra_args`` may not hold, and why. llama-server's own names and short forms, b10434.
REFUSED: dict[str, tuple[str, ...]] = {
    "tacid chooses the address itself": ("--host", "--port", "--reuse-port", "--api-prefix", "--timeout", "-to"),
    "tacid makes the key itself": ("--api-key", "--api-key-file"),
    "tacid speaks plain HTTP to an engine that nobody else reaches": ("--ssl-key-file", "--ssl-cert-file"),
    "the model is set by model.name": (
        "--model", "-m", "--model-url", "-mu", "--hf-repo", "-hf", "-hfr", "--hf-file", "-hff", "--hf-token", "-hft",
        "--docker-repo", "-dr", "--models-dir", "--models-preset", "--models-max", "--models-autoload",
        "--no-models-autoload", "--alias", "-a",
    ),
    "set engine.context instead": ("--ctx-size", "-c", "--fit-ctx", "-fitc"),
    "set engine.slots instead": ("--parallel", "-np"),
    "set engine.threads instead": ("--threads", "-t"),
    "set engine.batch instead": ("--batch-size", "-b"),
    "every request brings the grammar of its own turn": (
        "--grammar", "--grammar-file", "--json-schema", "-j", "--json-schema-file", "-jf", "--ignore-eos",
        "--logit-bias", "-l", "--backend-sampling", "-bs", "--samplers", "--sampler-seq", "--sampling-seq",
        "--reverse-prompt", "-r", "--predict", "-n", "--n-predict", "--special", "-sp",
    ),
    "tacid renders the prompt itself": (
        "--chat-template", "--chat-template-file", "--chat-template-kwargs", "--jinja", "--no-jinja",
        "--reasoning-format", "--reasoning", "-rea", "--reasoning-budget", "--reasoning-budget-message",
        "--skip-chat-parsing", "--no-skip-chat-parsing", "--prefill-assistant", "--no-prefill-assistant",
    ),
    "the engine only serves tacid": (
        "--path", "--ui", "--webui", "--no-ui", "--no-webui", "--ui-config", "--webui-config", "--ui-config-file",
        "--webui-config-file", "--ui-mcp-proxy", "--webui-mcp-proxy", "--tools", "--tools-runtime", "--agent", "-ag",
        "--mcp-servers-config", "--mcp-servers-json", "--cors-origins", "--cors-methods", "--cors-headers",
        "--cors-credentials", "--media-path", "--props", "--slots", "--no-slots", "--metrics",
    ),
    "tacid reads the engine's log": ("--log-file", "--log-disable", "--log-prompts-dir", "--sse-ping-interval"),
    "the engine would answer something else than completions": (
        "--embedding", "--embeddings", "--rerank", "--reranking", "--pooling", "--help", "-h", "--usage", "--version",
        "--list-devices", "--cache-list", "-cl", "--completion-bash",
    ),
    "the prompt cache is on": ("--cache-prompt", "--no-cache-prompt"),
}  # fmt: skip

_REASONS = {name: reason for reason, names in REFUSED.items() for name in names}
#: Bytes of a GGUF file up to which so many tokens are read in one go by two cores; beyond the last one the least. An
#: engine hears that a client went away only between two batches, so a batch shall take less than a second on a machine
#: that does other work as well. Measured on two cores, idle to busy (xllamacpp b11549, timings of /completion, tokens a
#: second): SmolLM2-135M (98 MB) 900 to 80, Qwen2.5-Coder-1.5B (1.1 GB) 86 to 13. Halving the batch costs at most a
#: tenth of that down to these sizes.
_BATCHES: tuple[tuple[int, int], ...] = ((50_000_000, 512), (300_000_000, 128), (800_000_000, 64), (1_500_000_000, 32))
_LEAST, _MOST, _CORES = 16, 512, 2
#: With layers on a GPU the file's size says nothing about the speed of two cores.
_GPU = ("--gpu-layers", "--n-gpu-layers", "-ngl")
#: Older and newer builds have more of these; the whole family is ours.
_FAMILIES = (
    "--api-key",
    "--grammar",
    "--json-schema",
    "--chat-template",
    "--ssl-",
    "--reasoning",
    "--cors-",
    "--models-",
    "--mcp-",
)


def check_extra_args(arguments: Sequence[str]) -> None:
    """Refuse what would undo tacid's own settings. Raises ``InputError`` that names the argument and the reason.

    ``--x value``, ``--x=value`` and short forms are all seen; underscores count as hyphens, as llama-server reads them.
    """
    for argument in arguments:
        if not argument.startswith("-"):
            continue
        name = argument.partition("=")[0]
        if name.startswith("--"):
            name = name.replace("_", "-")
        reason = _REASONS.get(name)
        if reason is None:
            family = next((f for f in _FAMILIES if name.startswith(f)), None)
            reason = next((r for n, r in _REASONS.items() if family and n.startswith(family)), None)
        if reason is not None:
            raise InputError(f"engine.extra_args holds {name}, which is refused: {reason}. Remove it.")
        if "\0" in argument:
            raise InputError("engine.extra_args holds a NUL character; remove it.")


def engine_arguments(
    model: Path, config: EngineConfig, *, context: int, host: str, port: int | None, flash_attention: bool | None
) -> list[str]:
    """The arguments of llama-server for this model.

    ``context`` is in tokens for each slot (llama-server's ``-c`` is the sum of all slots); ``host`` an address, or
    the path of a Unix socket, which has no ``port``; ``flash_attention`` none leaves the choice to the engine.
    """
    check_extra_args(config.extra_args)
    threads = str(config.threads or cpu.physical_cores())
    batch = str(batch_size(model, config))
    arguments = [
        "--model", str(model), "--host", host, *(("--port", str(port)) if port is not None else ()),
        "--ctx-size", str(context * config.slots), "--parallel", str(config.slots),
        "--threads", threads, "--threads-batch", threads, "--batch-size", batch,
        "--jinja", "--no-webui", "--check-tensors", "--cache-ram", str(_cache_ram()),
    ]  # fmt: skip
    if flash_attention is not None:
        arguments += ["--flash-attn", "on" if flash_attention else "off"]
    return [*arguments, *config.extra_args]


def batch_size(model: Path, config: EngineConfig) -> int:
    """Tokens that are read in one go: what is configured, else a power of two by the model's size and the threads."""
    if config.batch is not None:
        return config.batch
    if any(argument.partition("=")[0].replace("_", "-") in _GPU for argument in config.extra_args):
        return _MOST
    size = model.stat().st_size if model.exists() else 0
    tokens = next((tokens for most, tokens in _BATCHES if size <= most), _LEAST)
    threads = config.threads or cpu.physical_cores()
    scaled = max(1, tokens * threads // _CORES)
    return max(_LEAST, min(_MOST, 1 << (scaled.bit_length() - 1)))


def _cache_ram() -> int:
    # MiB of finished prompts kept outside the slots; llama-server's default of 8192 is more than a small machine has.
    memory = cpu.memory()
    return 1024 if memory is None else max(128, min(8192, memory.total // 2**20 // 16))
