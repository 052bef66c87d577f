"""Pins, where their files lie, and whether a file is what it should be."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tacid.config import ModelConfig
from tacid.engine import store
from tacid.engine.gguf_file import read_head
from tacid.engine.pins import PINS, Hub, Wheels, find_pin
from tacid.errors import ModelError


def test_pins_have_names_of_their_own_and_whole_facts() -> None:
    names = [name for pin in PINS for name in (pin.name, *pin.aliases)]
    assert len(names) == len(set(names))
    assert len({pin.sha256 for pin in PINS}) == len(PINS)
    for pin in PINS:
        assert pin.mirrors
        assert pin.memory > pin.size
        for mirror in pin.mirrors:
            if isinstance(mirror, Wheels):
                assert sum(wheel.size for wheel in mirror.wheels) == pin.size
            else:
                assert isinstance(mirror, Hub)


def test_the_pins_that_the_demo_and_the_advice_need_are_there() -> None:
    for name in ("smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct", "qwen3-0.6b", "qwen3-4b-instruct-2507"):
        assert find_pin(name).recommended
    assert ModelConfig().name == find_pin("SmolLM2").name
    assert find_pin("smollm2").flash_attention is False
    assert find_pin("smollm2").defaults().temperature == 0.2


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"take one of smollm2-135m-instruct, .*or give the path of a GGUF file"):
        find_pin("gpt-9")


def test_a_name_and_a_path_are_told_apart(tmp_path: Path) -> None:
    assert store.is_path("./model.gguf") and store.is_path("model.gguf") and store.is_path("/m/x")
    assert not store.is_path("smollm2")
    with pytest.raises(ModelError, match="tacid model pull smollm2-135m-instruct"):
        store.locate(ModelConfig(name="smollm2", dir=tmp_path))
    with pytest.raises(ModelError, match="does not exist"):
        store.locate(ModelConfig(name=str(tmp_path / "mine.gguf")))


@pytest.mark.model
def test_the_pinned_model_is_found_and_its_head_is_read(smollm2: Path) -> None:
    path, pin = store.locate(ModelConfig(dir=smollm2.parent))
    assert (path, pin) == (smollm2, find_pin("smollm2"))
    head = read_head(path)
    assert head.architecture == "llama"
    assert head.context == 8192
    assert head.needed == head.size == find_pin("smollm2").size
    assert "im_start" in head.metadata["tokenizer.chat_template"]


@pytest.mark.model
def test_a_file_of_ones_own_is_taken_without_a_pin(random_model: Path) -> None:
    assert store.locate(ModelConfig(name=str(random_model))) == (random_model, None)
    assert store.verify(random_model, None).tensors > 10


@pytest.mark.model
def test_a_changed_byte_is_noticed_and_seen_again_only_when_it_changes(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = find_pin("smollm2")
    copy = tmp_path / pin.file
    copy.write_bytes(smollm2.read_bytes())
    counted: list[int] = []
    store.verify(copy, pin, counted.append)
    assert sum(counted) == pin.size
    hashed: list[Path] = []
    real = store.sha256_of
    monkeypatch.setattr(store, "sha256_of", lambda path, *rest: hashed.append(path) or real(path, *rest))
    store.check(copy, pin)
    assert hashed == []
    with copy.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"!")
    with pytest.raises(ModelError, match=r"another checksum.*tacid model pull smollm2"):
        store.check(copy, pin)
    with pytest.raises(ModelError, match="another checksum"):
        store.verify(copy, pin)
    assert len(hashed) == 2


@pytest.mark.model
def test_a_damaged_pin_is_refused_by_its_path_too(smollm2: Path, tmp_path: Path) -> None:
    pin = find_pin("smollm2")
    copy = tmp_path / pin.file
    copy.write_bytes(smollm2.read_bytes())
    assert store.locate(ModelConfig(name=str(copy))) == (copy, pin)
    with copy.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"!")
    with pytest.raises(ModelError, match="another checksum"):
        store.locate(ModelConfig(name=str(copy)))


@pytest.mark.model
def test_a_file_longer_than_its_pin_is_refused(smollm2: Path, tmp_path: Path) -> None:
    pin = find_pin("smollm2")
    copy = tmp_path / pin.file
    copy.write_bytes(smollm2.read_bytes() + b"more")
    with pytest.raises(ModelError, match="98,362,436 bytes and smollm2-135m-instruct has 98,362,432"):
        store.verify(copy, pin)
    assert store.pin_of(copy) is None
    assert store.pin_of(smollm2) == pin


@pytest.mark.model
def test_verifying_works_where_nothing_can_be_noted(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_note", lambda path: tmp_path / "no" / "such" / "folder")
    store.check(smollm2, find_pin("smollm2"))


def head_bytes(*, version: int = 3, tensors: int = 0, keys: int = 0, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"GG", "is no GGUF file"),
        (b"GGUF", "is cut short"),
        (b"FUGG" + bytes(100), "is no GGUF file"),
        (head_bytes(version=1), "version 1"),
        (head_bytes(version=3 << 24), "version"),
        (head_bytes(keys=2**40), "is damaged"),
        (head_bytes(tensors=2**63), "is damaged"),
        (head_bytes(keys=5), "is cut short"),
        (head_bytes(keys=1, rest=struct.pack("<Q", 2**62)), "is cut short"),
        (head_bytes(keys=1, rest=struct.pack("<Q", 1) + b"a" + struct.pack("<I", 77)), "is damaged"),
        (head_bytes(keys=1, rest=struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 2**60)), "is damaged"),
        (head_bytes(keys=1, rest=struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 9)), "is cut short"),
        (head_bytes(keys=1, rest=struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 900)), "is cut short"),
        (head_bytes(tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<I", 90)), "is damaged"),
    ],
)
def test_a_head_that_makes_no_sense_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        read_head(path)
    assert str(path) in str(caught.value)


def test_a_folder_or_an_unreadable_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be read"):
        read_head(tmp_path)
