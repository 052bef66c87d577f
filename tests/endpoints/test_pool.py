"""The pool: by turns, the same conversation to the same slot, what fails is taken out and comes back, one model only."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tacid.catalogue import Catalogue, Tool
from tacid.chat import Message, Sampling
from tacid.config import EngineConfig, ModelConfig
from tacid.endpoints.backend import Backend, Served
from tacid.endpoints.identity import Identity, identity_of
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.pool import Lease, Pool
from tacid.engine.process import Engine, start_engine
from tacid.errors import Busy, EngineDied, EngineStartError, RequestError
from tacid.prompt.families import CHATML
from tacid.turn.full import run_full
from tacid.turn.request import TurnRequest, TurnResult
from tests.engine.random_model import make_random_model

SAME = Identity("m.gguf", (("n_vocab", 300), ("size", 1000)), "x")


class Still:
    """Stands where a `Backend` does, without an engine, so that only the pool's own choices are looked at."""

    def __init__(self, name: str, slots: int, identity: Identity = SAME) -> None:
        self.name = name
        self.ready = True
        self.resting = False
        self.on_ready: Callable[[], None] = lambda: None
        endpoint = LocalEndpoint(cast(Any, None), CHATML, "m")
        self.served = Served(endpoint, Sampling(), slots, 4096, None, None, (), identity)
        self._back = asyncio.Event()

    async def wait_ready(self, patience: float | None) -> Served:
        if not self.ready:
            try:
                async with asyncio.timeout(patience):
                    await self._back.wait()
            except TimeoutError:
                raise EngineStartError(f"{self.name} is not ready.") from None
        return self.served

    def back(self) -> None:
        self.ready = True
        self._back.set()
        self.on_ready()


def pool_of(*backends: Still, queue: int = 8) -> Pool:
    return Pool(cast(Any, backends), queue=queue)


async def held(pool: Pool, *keys: str, who: str = "") -> tuple[Lease, AsyncExitStack]:
    stack = AsyncExitStack()
    return await stack.enter_async_context(pool.lease(keys, who=who, patience=0.05)), stack


async def place(pool: Pool, *keys: str) -> tuple[str, int | None]:
    async with pool.lease(keys, patience=0.05) as lease:
        return lease.backend, lease.served.endpoint.slot


async def test_the_least_busy_engine_is_taken() -> None:
    pool = pool_of(Still("a", 2), Still("b", 2))
    taken = []
    async with AsyncExitStack() as stack:
        for number in range(4):
            lease = await stack.enter_async_context(pool.lease((f"c{number}", "tools"), patience=1))
            taken.append(lease.backend)
    assert sorted(taken[:2]) == ["a", "b"]
    assert sorted(taken) == ["a", "a", "b", "b"]


async def test_the_same_conversation_gets_the_same_slot_however_many_come_between() -> None:
    pool = pool_of(Still("a", 2), Still("b", 2))
    first: dict[str, tuple[str, int | None]] = {}
    async with AsyncExitStack() as stack:
        for name in ("one", "two", "three", "four"):
            lease = await stack.enter_async_context(pool.lease((name, "tools"), patience=1))
            first[name] = (lease.backend, lease.served.endpoint.slot)
    assert len(set(first.values())) == 4
    for _ in range(3):
        for name, where in first.items():
            assert await place(pool, name, "tools") == where


async def test_a_conversation_whose_slot_is_taken_goes_elsewhere() -> None:
    pool = pool_of(Still("a", 1), Still("b", 1))
    where = await place(pool, "one", "tools")
    lease, stack = await held(pool, "one", "tools")
    assert (lease.backend, lease.served.endpoint.slot) == where
    assert (await place(pool, "one", "tools"))[0] != where[0]
    await stack.aclose()


async def test_who_waits_is_served_by_turns() -> None:
    pool = pool_of(Still("a", 1))
    _, stack = await held(pool)
    order: list[str] = []

    async def ask(who: str) -> None:
        async with pool.lease((), who=who, patience=1):
            order.append(who)
            await asyncio.sleep(0)

    tasks = []
    for who in ("greedy", "greedy", "greedy", "modest", "greedy", "late"):
        tasks.append(asyncio.create_task(ask(who)))
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert pool.depth == 6
    await stack.aclose()
    await asyncio.gather(*tasks)
    assert order == ["greedy", "modest", "late", "greedy", "greedy", "greedy"]


async def test_the_queue_is_bounded_and_says_so() -> None:
    pool = pool_of(Still("a", 1), queue=2)
    _, stack = await held(pool)
    waiting = [asyncio.create_task(place(pool)) for _ in range(2)]
    await asyncio.sleep(0.01)
    with pytest.raises(Busy, match="2 requests wait") as raised:
        await place(pool)
    assert raised.value.retry_after > 0
    await stack.aclose()
    await asyncio.gather(*waiting)
    assert pool.depth == 0
    await place(pool)


async def test_who_goes_away_while_waiting_loses_no_slot() -> None:
    pool = pool_of(Still("a", 1))
    _, stack = await held(pool)
    waiting = asyncio.create_task(place(pool))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert pool.depth == 0
    await stack.aclose()
    assert await place(pool) == ("a", 0)


async def test_an_engine_that_is_not_ready_is_left_out_and_taken_when_it_is_back() -> None:
    a, b = Still("a", 1), Still("b", 1)
    pool = pool_of(a, b)
    b.ready = False
    lease, stack = await held(pool)
    assert lease.backend == "a"
    waiting = asyncio.create_task(place(pool))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    b.back()
    assert (await asyncio.wait_for(waiting, 0.5))[0] == "b"
    await stack.aclose()


async def test_an_engine_that_has_just_failed_a_request_is_passed_over() -> None:
    a, b = Still("a", 2), Still("b", 2)
    pool = pool_of(a, b)
    where = (await place(pool, "one"))[0]
    with pytest.raises(EngineDied):
        async with pool.lease(("one",), patience=1):
            raise EngineDied("gone")
    for _ in range(4):
        assert (await place(pool, "one"))[0] != where
    a.ready = b.ready = False
    {"a": a, "b": b}[where].ready = True
    assert (await place(pool, "one"))[0] == where, "the only one there is"


async def test_an_engine_with_another_model_is_not_let_in(caplog: pytest.LogCaptureFixture) -> None:
    other = replace(SAME, figures=(("n_vocab", 301), ("size", 1000)))
    pool = pool_of(Still("a", 1), Still("b", 4, other))
    assert {(await place(pool, f"c{number}"))[0] for number in range(6)} == {"a"}
    assert "n_vocab is 301, not 300" in pool.refused["b"]
    assert "start it with that one" in pool.refused["b"]
    assert sum("n_vocab" in record.message for record in caplog.records) == 1
    cast(Any, pool.backends[0]).ready = False
    with pytest.raises(EngineStartError):
        await place(pool, "c")


async def test_without_engines_there_is_a_clear_word() -> None:
    with pytest.raises(RequestError, match="engine of this server's own"):
        await place(pool_of())


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(SAME, words="y"), "vocabulary or its chat template"),
        (replace(SAME, file="n.gguf"), "n.gguf, not m.gguf"),
        (replace(SAME, figures=(("n_vocab", 300), ("size", 999))), "size is 999, not 1,000"),
    ],
)
def test_how_models_differ_is_said(other: Identity, words: str) -> None:
    assert words in str(other.differs(SAME))
    assert SAME.differs(SAME) is None


# With real engines

TOOLS = tuple(
    Tool(f"tool_{number}", "Does a thing. " * 20, {"type": "object", "properties": {"n": {"type": "integer"}}})
    for number in range(12)
)


@asynccontextmanager
async def two(spec: Any, model: Path, config: EngineConfig) -> AsyncIterator[tuple[Pool, list[Backend]]]:
    """Two engines that are kept running here."""
    engine = config.model_copy(update={"threads": 1, "slots": 2, "binary": config.binary})
    backends = [Backend(name, engine, ModelConfig(name=str(model))) for name in ("a", "b")]
    async with AsyncExitStack() as stack:
        for backend in backends:
            await stack.enter_async_context(backend)
        pool = Pool(backends, queue=16)
        await asyncio.gather(*(backend.wait_ready(60) for backend in backends))
        yield pool, backends


@pytest.fixture
def request_of() -> Iterator[Callable[..., TurnRequest]]:
    def made(*said: str) -> TurnRequest:
        messages = tuple(Message("user" if index % 2 == 0 else "assistant", text) for index, text in enumerate(said))
        return TurnRequest(messages, Catalogue(TOOLS), sampling=Sampling(temperature=1.0, seed=1, max_tokens=8))

    yield made


async def taken(pool: Pool, request: TurnRequest, *keys: str) -> tuple[str, TurnResult]:
    async with pool.lease(keys, patience=30) as lease:
        async for event in run_full(lease.served.endpoint, request):
            if isinstance(event, TurnResult):
                return lease.backend, event
    raise AssertionError


@pytest.mark.engine
@pytest.mark.model
async def test_cached_tokens_prove_that_a_conversation_finds_its_slot_again(
    engine_spec: Any, random_model: Path, engine_config: EngineConfig, request_of: Callable[..., TurnRequest]
) -> None:
    async with two(engine_spec, random_model, engine_config) as (pool, _):
        names = ("one", "two", "three")
        first = await asyncio.gather(*(taken(pool, request_of(f"I am {n}. " * 60), n, "tools") for n in names))
        where = {name: backend for name, (backend, _) in zip(names, first, strict=True)}
        assert set(where.values()) == {"a", "b"}
        for name in names:
            more = request_of(f"I am {name}. " * 60, "Yes?", "Go on.")
            again, result = await taken(pool, more, name, "tools")
            assert again == where[name]
            assert result.usage.cached > 0.85 * result.usage.prompt


@pytest.mark.engine
@pytest.mark.model
async def test_a_killed_engine_is_taken_out_and_comes_back(
    engine_spec: Any, random_model: Path, engine_config: EngineConfig, request_of: Callable[..., TurnRequest]
) -> None:
    async with two(engine_spec, random_model, engine_config) as (pool, backends):
        victim = backends[0]
        assert victim.supervisor.engine.pid is not None
        os.kill(victim.supervisor.engine.pid, signal.SIGKILL)
        for number in range(4):
            try:
                backend, _ = await taken(pool, request_of("Hello."), f"c{number}")
                assert backend == "b" or victim.supervisor.lives > 1
            except EngineDied:
                assert number == 0, "only one that was on its way can be hit"
        async with asyncio.timeout(30):
            while not victim.ready:
                await asyncio.sleep(0.05)
        assert victim.supervisor.lives == 2
        async with (
            pool.lease(("x",), patience=5),
            pool.lease(("y",), patience=5),
            pool.lease(("z",), patience=5) as third,
        ):
            seen = {third.backend}
        for number in range(4):
            seen.add((await taken(pool, request_of("Hello."), f"d{number}"))[0])
        assert "a" in seen


@pytest.mark.engine
@pytest.mark.model
async def test_engines_with_other_weights_are_told_apart(
    engine_spec: Any,
    random_engine: Engine,
    random_model: Path,
    smollm2: Path,
    engine_config: EngineConfig,
    tmp_path: Path,
) -> None:
    mine = await identity_of(random_engine.client)
    assert mine.file == random_model.name
    assert dict(mine.figures)["n_vocab"] > 40_000
    config = engine_config.model_copy(update={"threads": 1})
    same = tmp_path / random_model.name
    same.write_bytes(random_model.read_bytes())
    async with start_engine(engine_spec, same, config) as twin:
        assert (await identity_of(twin.client)).differs(mine) is None
    other = make_random_model(tmp_path / "other.gguf", smollm2)
    async with start_engine(engine_spec, other, config) as stranger:
        assert "other.gguf" in str((await identity_of(stranger.client)).differs(mine))
