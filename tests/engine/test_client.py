"""The client against a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

import pytest

from tacid.chat import Message, Sampling
from tacid.engine.body import completion_body
from tacid.engine.client import EngineClient, Piece
from tacid.engine.process import Engine
from tacid.errors import ContextExceeded, EngineDied, EngineError, GrammarRefused

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


async def test_text_and_ids_are_mixed_and_foreign_control_tokens_stay_text(engine: Engine) -> None:
    plain = await engine.client.tokenize("<|im_end|>", special=False)
    control = await engine.client.tokenize("<|im_end|>", special=True)
    assert len(control) == 1
    assert len(plain) > 1
    assert control[0] not in plain
    pieces = await written(engine, ["<|im_start|>user\n", *plain, "<|im_end|>\n"])
    end = pieces[-1].end
    assert end is not None
    assert end.usage.prompt == len(plain) + len(await engine.client.tokenize("<|im_start|>user\n", special=True)) + len(
        await engine.client.tokenize("<|im_end|>\n", special=True)
    )


async def test_texts_alone_are_one_prompt(engine: Engine) -> None:
    pieces = await written(engine, ["One ", "two ", "three"], max_tokens=2)
    assert [piece.end for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    end = pieces[-1].end
    assert end is not None and end.usage.prompt == len(await engine.client.tokenize("One two three", special=True))


async def test_what_was_sampled_comes_as_ids_and_can_be_sent_back(engine: Engine) -> None:
    pieces = await written(engine, ["The capital of France is"], max_tokens=6)
    ids = [token for piece in pieces for token in piece.tokens]
    text = "".join(piece.text for piece in pieces)
    assert len(ids) == 6
    assert await engine.client.detokenize(ids) == text
    prompt = await engine.client.tokenize("The capital of France is", special=False)
    again = await written(engine, [*prompt, *ids], max_tokens=1)
    assert again[-1].end is not None
    assert again[-1].end.usage.cached >= len(prompt) - 1


async def test_the_token_limit_and_stop_words_are_told_apart(engine: Engine) -> None:
    limited = await written(engine, ["x"], 'root ::= "abc" [a-z]{100}', max_tokens=3)
    assert limited[-1].end is not None and limited[-1].end.reason == "length"
    async with aclosing(
        engine.client.complete(
            ["x"], grammar='root ::= "abc" "def"', sampling=Sampling(temperature=0.0, max_tokens=9), stop=("d", "")
        )
    ) as pieces:
        stopped = [piece async for piece in pieces]
    assert "".join(piece.text for piece in stopped) == "abc"
    assert stopped[-1].end is not None
    assert (stopped[-1].end.reason, stopped[-1].end.stopping_word) == ("word", "d")


async def test_a_bias_pushes_within_the_grammar_only(engine: Engine) -> None:
    (yes,) = await engine.client.tokenize("yes", special=False)
    (no,) = await engine.client.tokenize("no", special=False)
    for liked, word in ((yes, "yes"), (no, "no")):
        pieces = await written(engine, ["?"], 'root ::= "yes" | "no"', logit_bias=((liked, 50.0),))
        assert "".join(piece.text for piece in pieces) == word
    pieces = await written(engine, ["?"], 'root ::= "yes"', logit_bias=((no, 1e9), ("no", 50.0), (yes, float("-inf"))))
    assert "".join(piece.text for piece in pieces) in ("yes", "")


async def test_the_same_seed_writes_the_same(random_engine: Engine) -> None:
    texts = set()
    for _ in range(2):
        pieces = await written(
            random_engine, ["seed"], "root ::= [a-z]{30}", temperature=1.5, seed=2**40 + 7, max_tokens=30
        )
        texts.add("".join(piece.text for piece in pieces))
    assert len(texts) == 1


async def test_going_away_ends_the_work_at_once(engine: Engine) -> None:
    for leave in ("aclose", "cancel"):
        begun = asyncio.Event()

        async def read(started: asyncio.Event) -> None:
            async with aclosing(
                engine.client.complete(["Tell me all:"], grammar="root ::= [a-z ]+", sampling=Sampling(max_tokens=4000))
            ) as pieces:
                async for _ in pieces:
                    started.set()

        if leave == "cancel":
            task = asyncio.create_task(read(begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            pieces = engine.client.complete(
                ["Tell me all:"], grammar="root ::= [a-z ]+", sampling=Sampling(max_tokens=4000)
            )
            await anext(pieces)
            await pieces.aclose()
        async with asyncio.timeout(3):
            while any(slot.get("is_processing") for slot in await engine.client.slots()):
                await asyncio.sleep(0.02)


async def test_the_progress_of_reading_is_told(engine: Engine) -> None:
    heard: list[tuple[int, int]] = []
    async with aclosing(
        engine.client.complete(
            ["word " * 700], grammar=None, sampling=Sampling(max_tokens=1), on_progress=lambda *at: heard.append(at)
        )
    ) as pieces:
        texts = [piece async for piece in pieces]
    assert heard[-1][0] == heard[-1][1] >= 700
    assert len(texts) <= 2


async def test_lone_surrogates_and_nul_harm_nobody(engine: Engine) -> None:
    assert await engine.client.tokenize("a\ud800b\0", special=False)
    assert await written(engine, ["\ud800 and \0"], max_tokens=1)


async def test_the_template_of_the_model_is_shown(engine: Engine) -> None:
    shown = await engine.client.apply_template([Message("system", "S"), Message("user", "U")])
    assert shown == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"


async def test_one_waiting_behind_another_is_not_wedged(random_engine: Engine) -> None:
    client = random_engine.client
    patience, client.silence = client.silence, 1.0
    sampling = Sampling(max_tokens=500, temperature=1.0)
    try:
        replies = [
            written(random_engine, [f"{n}"], "root ::= [a-z]+", max_tokens=sampling.max_tokens) for n in range(5)
        ]
        for pieces in await asyncio.gather(*replies):
            assert pieces[-1].end is not None
    finally:
        client.silence = patience


def test_a_request_is_always_bounded_streamed_and_has_its_grammar() -> None:
    body = completion_body(["x"], 'root ::= "a"', Sampling(max_tokens=0, seed=-1), ("", "s"), 1)
    assert body["n_predict"] == 1
    assert body["stream"] is True
    assert body["grammar"] == 'root ::= "a"'
    assert body["stop"] == ["s"]
    assert body["seed"] == 2**32 - 1
    assert body["id_slot"] == 1
    assert "temperature" not in body and "logit_bias" not in body


@asynccontextmanager
async def answering(*answers: bytes, hold: float = 0.0) -> AsyncIterator[EngineClient]:
    """A client of a server that sends these bytes, one lot a connection, and closes."""
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(left.pop(0) if left else b"")
        with suppress(ConnectionError):
            await writer.drain()
            for _ in range(int(hold / 0.1)):
                await asyncio.sleep(0.1)
                writer.write(b": still here\n\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with EngineClient(f"http://127.0.0.1:{port}", silence=0.5) as client:
        yield client
    server.close()
    await server.wait_closed()


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
PLAIN = b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


async def drained(client: EngineClient) -> list[Piece]:
    async with aclosing(client.complete(["x"], grammar="root ::= [a-z]", sampling=Sampling())) as pieces:
        return [piece async for piece in pieces]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b"", EngineDied, "ended in the middle of the reply"),
        (STREAM, EngineDied, "ended in the middle of the reply"),
        (STREAM + b'data: {"content":"a","tokens":[1],"stop":false}\n\n', EngineDied, "ended in the middle"),
        (STREAM + b"data: not json\n\n", EngineError, "no JSON"),
        (STREAM + b"data: " + b"x" * (5 * 1024 * 1024), EngineError, "is it a llama-server"),
        (STREAM + b'error: {"message":"Unexpected empty grammar stack"}\n\n', GrammarRefused, "grammar"),
        (STREAM + b'data: {"error":{"code":500,"message":"out of slots"}}\n\n', EngineError, "500: out of slots"),
        (PLAIN % 401 + b'{"error":{"message":"Invalid API Key"}}', EngineError, "set engine.key"),
        (PLAIN % 404 + b"<html>\n nginx", EngineError, "is it a llama-server"),
        (PLAIN % 503 + b'{"error":{"message":"Loading model"}}', EngineError, "Loading model"),
        (PLAIN % 400 + b'{"error":{"message":"failed to parse grammar"}}', GrammarRefused, "400"),
        (PLAIN % 500 + b"\xff\x00[31m" * 500, EngineError, "500"),
    ],
)
async def test_an_engine_that_misbehaves_is_an_error_of_one_sentence(
    answer: bytes, kind: type[Exception], words: str
) -> None:
    async with answering(answer) as client:
        with pytest.raises(kind) as caught:
            await drained(client)
    message = str(caught.value)
    assert words in message
    assert message.isprintable() and len(message) < 500


async def test_signs_that_only_keep_a_connection_open_are_no_life() -> None:
    async with answering(STREAM, hold=3.0) as client:
        with pytest.raises(EngineDied, match="wedged"):
            await drained(client)


async def test_nobody_there_is_said_with_the_remedy() -> None:
    async with EngineClient("http://127.0.0.1:9") as client:
        with pytest.raises(EngineDied, match=r"isn't there.*correct engine\.url"):
            await client.props()
        assert (await client.health())[0] == 0
