"""The client against a real engine."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from tacid.chat import Sampling
from tacid.engine.client import Piece
from tacid.engine.process import Engine
from tacid.errors import ContextExceeded, GrammarRefused

pytestmark = [pytest.mark.engine, pytest.mark.model]


async def written(
    engine: Engine, prompt: list[int | str], grammar: str | None = None, **sampling: object
) -> list[Piece]:
    settings = Sampling(**{"temperature": 0.0, "max_tokens": 16, **sampling})  # type: ignore[arg-type]
    async with aclosing(engine.client.complete(prompt, grammar=grammar, sampling=settings)) as pieces:
        return [piece async for piece in pieces]


async def test_a_completion_stays_in_its_grammar_and_says_how_it_ended(engine: Engine) -> None:
    pieces = await written(engine, ["Say yes:"], 'root ::= "yes" | "no"')
    assert "".join(piece.text for piece in pieces) in ("yes", "no")
    end = pieces[-1].end
    assert end is not None
    assert end.reason == "eos"
    assert end.usage.completion >= 1
    assert end.usage.prompt == len(await engine.client.tokenize("Say yes:", special=True))


async def test_the_random_model_wants_anything_and_is_held(random_engine: Engine) -> None:
    seen = set()
    for seed in range(20):
        pieces = await written(random_engine, ["x"], 'root ::= "a" [a-z]{1,5}', temperature=2.0, seed=seed)
        text = "".join(piece.text for piece in pieces)
        assert text.startswith("a")
        assert text.isascii() and text.isalpha() and len(text) <= 6
        seen.add(text)
    assert len(seen) > 10


@pytest.mark.parametrize("grammar", ['root ::= "a', 'root ::= "a" [z-a]', "root ::= nobody"])
async def test_a_refused_grammar_is_an_error_and_never_free_text(engine: Engine, grammar: str) -> None:
    with pytest.raises(GrammarRefused, match="refused a grammar"):
        await written(engine, ["x"], grammar)


async def test_too_long_a_prompt_says_both_numbers(engine: Engine) -> None:
    with pytest.raises(ContextExceeded) as caught:
        await written(engine, ["hi " * 9000])
    assert caught.value.context == 8192
    assert caught.value.prompt >= 9000
