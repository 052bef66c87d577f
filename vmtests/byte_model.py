"""A model with random weights whose words are single bytes: a hundred times faster to hold to a grammar."""

from __future__ import annotations

import tempfile
from pathlib import Path

import gguf

from tests.engine.random_model import make_random_model

_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] }}{{ '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_byte_model(path: Path) -> Path:
    """Write a model as `make_random_model` does, with 256 bytes, three control tokens and a merge, as BPE wants one."""
    # GPT-2 writes a byte as a character: itself where it can be seen, else one of those after U+0100.
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in seen]
    letters = {byte: chr(byte) for byte in seen} | {byte: chr(0x100 + n) for n, byte in enumerate(hidden)}
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    merged = letters[0x20] + "t"
    tokens = [*control, *(letters[byte] for byte in range(256)), merged]
    normal, special = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.gguf"
        writer = gguf.GGUFWriter(words, "llama")
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list(tokens)
        writer.add_token_types([special] * len(control) + [normal] * 257)
        writer.add_token_merges([f"{letters[0x20]} t"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_pad_token_id(2)
        writer.add_chat_template(_TEMPLATE)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        # Attention over a long prompt is what costs most where floats are emulated.
        return make_random_model(path, words, layers=1, width=32)


__all__ = ["make_byte_model"]
