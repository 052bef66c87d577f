"""The command line of an engine: ours, theirs, and what may not be mixed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import pytest

from tacid.chat import Sampling
from tacid.config import EngineConfig
from tacid.engine.child import FLAGS
from tacid.engine.find import EngineSpec
from tacid.engine.flags import REFUSED, batch_size, check_extra_args, engine_arguments
from tacid.engine.process import start_engine
from tacid.errors import EngineStartError, InputError


def arguments(config: EngineConfig, *, flash_attention: bool | None = None, port: int | None = 4000) -> list[str]:
    return engine_arguments(
        Path("/m.gguf"), config, context=1000, host="127.0.0.1", port=port, flash_attention=flash_attention
    )


def value(found: list[str], name: str) -> str:
    return found[found.index(name) + 1]


def test_the_context_given_is_the_sum_of_all_slots() -> None:
    found = arguments(EngineConfig(slots=3))
    assert value(found, "--ctx-size") == "3000"
    assert value(found, "--parallel") == "3"


def test_flash_attention_is_set_only_where_the_pin_says_so() -> None:
    assert "--flash-attn" not in arguments(EngineConfig())
    assert value(arguments(EngineConfig(), flash_attention=False), "--flash-attn") == "off"
    assert value(arguments(EngineConfig(), flash_attention=True), "--flash-attn") == "on"


def test_a_unix_socket_has_no_port() -> None:
    assert "--port" not in arguments(EngineConfig(), port=None)


def test_what_a_person_adds_comes_last() -> None:
    assert arguments(EngineConfig(extra_args=("--no-warmup",)))[-1] == "--no-warmup"


@pytest.mark.parametrize("name", [name for names in REFUSED.values() for name in names])
def test_what_would_undo_ours_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputError) as caught:
        check_extra_args(["--no-warmup", name, "x"])
    assert f"holds {name}, which is refused" in str(caught.value)


@pytest.mark.parametrize(
    "argument",
    ["--port=1", "--ctx_size", "--chat-template=x", "--grammar-lazy", "--api-key-new=1", "-m=x", "-c", "--no_jinja"],
)
def test_every_spelling_of_it_is_seen(argument: str) -> None:
    with pytest.raises(InputError, match="refused"):
        check_extra_args([argument])


@pytest.mark.parametrize("harmless", [["--mlock"], ["-ub", "256"], ["--lora", "a.gguf"], ["--temp", "0"], ["-1"], []])
def test_everything_else_is_left_to_the_engine(harmless: list[str]) -> None:
    check_extra_args(harmless)


def test_all_that_tacid_gives_is_understood_by_the_child_of_the_package() -> None:
    known = {name for names in FLAGS for name in names}
    given = {argument for argument in arguments(EngineConfig(), flash_attention=True) if argument.startswith("--")}
    assert given <= known


def test_the_child_understands_nothing_that_is_refused_except_what_tacid_gives() -> None:
    ours = set(arguments(EngineConfig(), flash_attention=True))
    for name in (name for names in REFUSED.values() for name in names):
        assert name in ours or not any(name in names for names in FLAGS)


@pytest.mark.parametrize(
    ("size", "threads", "batch"),
    [
        (4_000_000, 1, 256),
        (98_000_000, 2, 128),
        (98_000_000, 3, 128),
        (98_000_000, 16, 512),
        (1_117_000_000, 2, 32),
        (1_117_000_000, 1, 16),
        (2_500_000_000, 8, 64),
        (90_000_000_000, 1, 16),
    ],
)
def test_a_batch_is_what_is_read_within_a_second(tmp_path: Path, size: int, threads: int, batch: int) -> None:
    model = tmp_path / "m.gguf"
    with model.open("wb") as file:
        file.truncate(size)  # takes no room
    assert batch_size(model, EngineConfig(threads=threads)) == batch
    assert batch_size(model, EngineConfig(threads=threads, batch=100)) == 100
    assert batch_size(model, EngineConfig(threads=threads, extra_args=("-ngl", "99"))) == 512


@pytest.mark.engine
@pytest.mark.model
async def test_the_batch_reaches_the_engine(engine_spec: EngineSpec, random_model: Path) -> None:
    seen: list[int] = []
    config = EngineConfig(context=2048, threads=1, batch=100)
    async with start_engine(engine_spec, random_model, config) as engine:
        stream = engine.client.complete(
            ["word " * 1000],
            grammar=None,
            sampling=Sampling(max_tokens=1),
            on_progress=lambda done, _: seen.append(done),
        )
        async with aclosing(stream) as pieces:
            async for _ in pieces:
                pass
    assert [later - sooner for sooner, later in pairwise(seen)][:9] == [100] * 9


@pytest.mark.engine
@pytest.mark.model
async def test_extra_arguments_reach_the_package(random_model: Path) -> None:
    config = EngineConfig(
        context=512, threads=1, extra_args=("--no-warmup", "-ub=64", "--slot-prompt-similarity", "0.5")
    )
    async with start_engine(EngineSpec("package", "xllamacpp"), random_model, config) as engine:
        assert await engine.client.tokenize("x", special=False)


@pytest.mark.engine
@pytest.mark.model
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("--lora", "can't honour --lora; remove it from engine.extra_args"),
        ("--ubatch-size=many", "--ubatch-size can't be 'many'"),
        ("--ubatch-size", "--ubatch-size can't be ''"),
        ("-ctk=odd", "-ctk can't be 'odd'"),
    ],
)
async def test_what_the_package_cannot_honour_is_said(random_model: Path, extra: str, words: str) -> None:
    with pytest.raises(EngineStartError) as caught:
        async with start_engine(EngineSpec("package", "xllamacpp"), random_model, EngineConfig(extra_args=(extra,))):
            pass
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("libgomp.so.1: cannot open shared object file: No such file or directory", "on Debian: apt install libgomp1"),
        ("something else", "can't be loaded: something else"),
    ],
)
def test_a_package_that_cannot_be_loaded_says_what_to_install(tmp_path: Path, message: str, words: str) -> None:
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({message!r})\n", encoding="utf-8")
    tried = subprocess.run(
        [sys.executable, "-P", "-m", "tacid.engine.child", "--try"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.returncode == 1
    assert tried.stderr.startswith("tacid: ")
    assert words in tried.stderr
    assert "Traceback" not in tried.stderr
