"""The card of a model: from real files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import gguf
import pytest

from tacid.api.cards import FILE_TYPES, card_of
from tacid.engine.pins import find_pin
from tacid.errors import ModelError


def test_the_file_types_are_those_of_the_format() -> None:
    named = {kind.value: kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in gguf.LlamaFileType}
    assert {**FILE_TYPES}.items() <= named.items()


@pytest.mark.model
def test_a_pins_card_has_its_facts(smollm2: Path) -> None:
    pin = find_pin("smollm2")
    card = card_of(smollm2)
    assert (card.name, card.size, card.digest, card.licence) == (pin.name, pin.size, pin.sha256, pin.licence)
    assert (card.architecture, card.quantization, card.context) == ("llama", "Q4_1", 8192)
    assert 134_000_000 < card.parameters < 135_000_000
    assert card.modified.timestamp() == pytest.approx(smollm2.stat().st_mtime, abs=1e-3)
    assert not card.thinking
    assert "<|im_start|>" in card.template
    assert card.sampling == {"temperature": 0.2, "top_p": 0.9}
    assert card.info["llama.block_count"] == 30
    assert not any(key.startswith("tokenizer.") for key in card.info)


@pytest.mark.model
def test_the_context_is_what_is_served_and_never_more_than_the_models_own(smollm2: Path) -> None:
    assert card_of(smollm2, context=2048).context == 2048
    assert card_of(smollm2, context=100_000).context == 8192


@pytest.mark.model
def test_the_count_of_weights_is_that_of_the_files_tensors(smollm2: Path) -> None:
    assert card_of(smollm2).parameters == sum(int(tensor.n_elements) for tensor in gguf.GGUFReader(smollm2).tensors)


def _written(path: Path, template: str | None = None) -> Path:
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_context_length(4096)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_float32("qwen3.rope.freq_base", float("inf"))
    writer.add_string("general.license", "mit")
    if template is not None:
        writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_of_ones_own_is_named_after_itself_and_its_digest_is_read(tmp_path: Path) -> None:
    path = _written(tmp_path / "Mine-8B.gguf")
    card = card_of(path)
    assert (card.name, card.architecture, card.quantization, card.context) == ("Mine-8B", "qwen3", "Q8_0", 4096)
    assert card.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert card.licence == "mit"
    assert "qwen3.rope.freq_base" not in card.info, "JSON has no infinity"
    assert card_of(path, name="mine", digest="0" * 64).digest == "0" * 64


def test_a_model_thinks_where_its_template_has_a_place_for_it(tmp_path: Path) -> None:
    path = _written(tmp_path / "thinks.gguf", "{{ '<think>\n' }}")
    assert card_of(path).thinking
    assert not card_of(path, thinking=False).thinking
    assert not card_of(_written(tmp_path / "speaks.gguf", "{{ messages }}")).thinking


def test_a_file_that_isnt_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        card_of(tmp_path / "none.gguf")
