"""A model with random weights: it wants anything, which makes it the sharpest test of a grammar."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, INNER = 2, 64, 2, 128


def make_random_model(
    path: Path, tokenizer_of: Path, *, seed: int = 20, context: int = 8192, plain: bool = False, layers: int = LAYERS,
    width: int = WIDTH,
) -> Path:  # fmt: skip
    """Write a llama of two layers with seeded random weights and the tokenizer of another GGUF file; some 4 MB.

    The weights are scaled so that the next token is far from certain and depends on what stands before it. ``plain``
    keeps them as 32-bit floats, for engines whose quantised code this CPU can't run.
    """
    inner = width * INNER // WIDTH
    source = gguf.GGUFReader(tokenizer_of)
    words = source.fields["tokenizer.ggml.tokens"].contents()
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_vocab_size(len(words))
    for name, field in source.fields.items():
        if not name.startswith("tokenizer."):
            continue
        value = field.contents()
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, field.types[0])

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return (random.standard_normal((rows, columns)) * scale / np.sqrt(columns)).astype(np.float32)

    def add(name: str, data: np.ndarray) -> None:
        if data.ndim == 1 or plain:
            writer.add_tensor(name, data)
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(data, kind), raw_dtype=kind)

    ones = np.ones(width, dtype=np.float32)
    add("token_embd.weight", matrix(len(words), width, 8.0))
    add("output_norm.weight", ones * 0.3)
    for layer in range(layers):
        add(f"blk.{layer}.attn_norm.weight", ones)
        add(f"blk.{layer}.ffn_norm.weight", ones)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", matrix(width, width, 2.0))
        add(f"blk.{layer}.ffn_gate.weight", matrix(inner, width, 2.0))
        add(f"blk.{layer}.ffn_up.weight", matrix(inner, width, 2.0))
        add(f"blk.{layer}.ffn_down.weight", matrix(width, inner, 4.0))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
