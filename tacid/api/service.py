"""The server's core: from a parsed request to the events of its turn, whatever protocol it came in."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from weakref import WeakSet

from tacid.api.affinity import conversation, key_of
from tacid.api.behind import PATIENCE, Behind, Stand
from tacid.api.cards import ModelCard, card_of_served, unknown_card
from tacid.api.events import Events
from tacid.api.keys import keys_of
from tacid.api.left_out import refuse
from tacid.api.modes import Sessions
from tacid.api.offers import MachineOffers
from tacid.api.refused import keep_refused
from tacid.api.request import ChatRequest, CompletionRequest, Limits
from tacid.api.turn_request import TurnRequests
from tacid.catalogue import Catalogue, load_catalogue
from tacid.chat import Call, ReplyEvent, Say, SayDelta
from tacid.config import Config
from tacid.endpoints.backend import Served
from tacid.endpoints.pool import Pool
from tacid.errors import (
    CatalogueError,
    EngineDied,
    EngineError,
    EngineStartError,
    GrammarRefused,
    ModelUnknown,
    RequestError,
    Stopping,
)
from tacid.grammar import Report
from tacid.jsontext import quote
from tacid.machine.protocol import FACTS_GET, PROPOSE_CHANGES
from tacid.metrics import Metrics
from tacid.prompt.words import INFO
from tacid.turn.mode import count, run_local
from tacid.turn.remote import run_remote
from tacid.turn.request import TurnResult
from tacid.turn.steps import Tally, sample

#: Times that a turn is taken again because its engine ended before anything was sent.
MAX_AGAIN = 1

_LOG = logging.getLogger("tacid")


@dataclass(frozen=True, slots=True)
class Who:
    """Who asks: the name of their key, if they gave one, and the address they ask from."""

    key: str | None = None
    peer: str | None = None

    @property
    def name(self) -> str:
        """One word for the queue."""
        return f"key {self.key}" if self.key is not None else f"peer {self.peer}"


class Service:
    """Everything behind the routes; use it as a context.

    Raises what `Backend` and ``load_catalogue`` raise, ``InputError`` where the file of keys can't be used.
    """

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self.config = config
        self.metrics = metrics
        server = config.server
        self.own = load_catalogue(server.tools) if server.tools is not None else Catalogue()
        machines = {FACTS_GET, PROPOSE_CHANGES} if config.machine.offer else set()
        if taken := sorted(tool.name for tool in self.own if tool.name in machines):
            raise CatalogueError(
                f"The tool {quote(taken[0], shown=True)} of {server.tools} is called like one that machine.offer adds; "
                "rename it."
            )
        if INFO in self.own and "deferred" in (config.tools.mode, config.tools.instead):
            raise CatalogueError(
                f'The tool "{INFO}" of {server.tools} is called like one that the tool mode "deferred" adds; rename it.'
            )
        self.limits = Limits(
            server.max_messages,
            server.max_tools,
            server.max_schema_bytes,
            server.max_nesting,
            server.max_tokens,
            frozenset(tool.name for tool in self.own),
            server.strict_tools,
        )
        self.keys = keys_of(server)
        self.offers = MachineOffers(config.machine, metrics)
        self._requests = TurnRequests(config, self.own, self.offers)
        self.behind = Behind(config, metrics)
        self._sessions = Sessions()
        self._cards: dict[Pool, ModelCard] = {}
        self._open: WeakSet[Events] = WeakSet()
        self._stopping = False

    @property
    def pool(self) -> Pool:
        """The engines of our own that are asked where no model is named; empty where there are none."""
        return self.behind.pool

    def pool_of(self, asked: str | None) -> Pool:
        """The engines of our own that serve the model of this name, else those that are asked without a name."""
        stand = self.behind.serving(self._target(asked)) if asked is not None else None
        return stand.place if stand is not None and isinstance(stand.place, Pool) else self.pool

    @property
    def name(self) -> str:
        """The model, for people, before an engine is ready."""
        if not self.pool.backends:
            return ", ".join(f"{other.model or other.config.model or other.name}" for other in self.behind.others)
        backend = self.pool.backends[0]
        return backend.pin.name if backend.pin is not None else str(backend.path or self.config.engine.url)

    async def __aenter__(self) -> Self:
        await self.behind.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.behind.__aexit__(*error)

    @property
    def status(self) -> str:
        """How the engines are, in one line."""
        return "; ".join(
            f"{state['name']} is {state['state']}" + (f" ({state['reason']})" if state["reason"] else "")
            for state in self.behind.states()
        )

    async def look_again(self) -> None:
        """Read the keys and the machine's lists now. What is open goes on with what it began with."""
        if self.keys is not None:
            await asyncio.to_thread(self.keys.look)
        await self.offers.lists()

    def end_open(self) -> None:
        """End every open turn, each client being told; turns that come later end at once. Ask in the event loop."""
        self._stopping = True
        for events in tuple(self._open):
            events.end(_stopping())

    # Models

    async def served(self, asked: str | None = None) -> Served:
        """What the first ready engine with this model serves, or one that rests, which this doesn't start.

        Raises ``EngineError`` where none is ready in time.
        """
        return await self.pool_of(asked).known(self.patience)

    @property
    def patience(self) -> float:
        """Seconds that a request waits for an engine that isn't ready."""
        return self.config.engine.start_timeout

    async def load(self, asked: str | None = None, keep: float | None = None) -> None:
        """Have an engine that rests started; ``keep`` as in `keep`. Raises ``EngineError``."""
        async with self.pool_of(asked).visit(self.patience):
            self.keep(asked, keep)

    def keep(self, asked: str | None, seconds: float | None) -> None:
        """Have the engine rest so many seconds after it was last used; infinite for never, none for as it is."""
        if seconds is not None:
            self.pool_of(asked).rest.asked(seconds)

    async def unload(self, asked: str | None = None) -> None:
        """Let the engine rest as soon as nobody uses it. Raises ``RequestError`` where it wasn't started here."""
        await self.served(asked)
        if not await self.pool_of(asked).unload():
            raise RequestError(
                "The engine was not started by this server, so it can't be stopped from here; stop it where it was "
                "started, or leave keep_alive out.",
                param="keep_alive",
            )

    async def loaded(self) -> list[tuple[ModelCard, float]]:
        """The cards of the models that are loaded, each with the seconds until it rests. Raises ``EngineError``."""
        if not self.behind.pools:
            return [(await self.card(), math.inf)]
        awake = [pool for pool in self.behind.pools if not all(backend.resting for backend in pool.backends)]
        if len(self.behind.pools) > 1:
            awake = [pool for pool in awake if any(pool.usable(backend) for backend in pool.backends)]
        return [(await self._card(pool), pool.rest.left) for pool in awake]

    @property
    def known_model(self) -> str | None:
        """The name of the model that is asked unless another one is named, where it is known without waiting."""
        return self.behind.asked(None)[0].model

    def known(self, asked: str | None) -> str | None:
        """The served model's name for a name that a client gave, where it is known without waiting."""
        stand = self.behind.serving(self._target(asked)) if asked is not None else self.behind.asked(None)[0]
        return stand.model if stand is not None else None

    async def meet(self) -> None:
        """Wait until the served model is known, or a fallback has to do. Raises ``EngineError``."""
        patience = self._patience(self.behind.asked(None))
        try:
            if self.pool.backends:
                await self.pool.known(patience)
            else:
                await self.behind.others[0].wait_ready(patience)
        except EngineError:
            if len(self.behind.asked(None)) == 1:
                raise

    async def card(self, asked: str | None = None) -> ModelCard:
        """The card of the served model of this name. Raises ``EngineError``."""
        pool = self.pool_of(asked)
        if pool.backends:
            return await self._card(pool)
        await self.behind.others[0].wait_ready(self.patience)
        return unknown_card(self.behind.others[0].endpoint.model)

    async def _card(self, pool: Pool) -> ModelCard:
        served = await pool.known(self.patience)
        card = self._cards.get(pool)
        if card is None or card.context != served.context:
            card = self._cards[pool] = await asyncio.to_thread(card_of_served, served)
        return card

    async def cards(self) -> list[ModelCard]:
        """The cards of all models that can be asked for, by each of their names."""
        found: dict[str, ModelCard] = {}
        for stand in self.behind.stands:
            if stand.fallback or not isinstance(stand.place, Pool):
                continue
            there = any(stand.place.usable(one) or one.resting for one in stand.place.backends)
            # One among several that isn't there is still a model that can be asked for, and isn't waited for.
            if not there and stand.model is not None and len(self.behind.stands) > 1:
                card = self._cards.get(stand.place) or unknown_card(stand.model)
            else:
                card = await self._card(stand.place)
            found.setdefault(card.name, card)
        if not found:
            first = await self.card()
            found = {first.name: first}
        for other in self.behind.others:
            if other.model is not None:
                found.setdefault(other.model, unknown_card(other.model))
        first = next(iter(found.values()))
        for alias, target in self.config.model.aliases.items():
            found.setdefault(alias, replace(found.get(target, first), name=alias))
        return list(found.values())

    async def check_context(self, asked: str | None, wanted: object) -> None:
        """Raises ``RequestError`` where a client wants a longer context than is served."""
        if not isinstance(wanted, int) or not self.pool_of(asked).backends:
            return
        context = (await self.served(asked)).context
        if wanted > context:
            raise RequestError(
                f"num_ctx is {wanted:,}, but {context:,} tokens of context are served; leave it out, or raise "
                "engine.context on the server.",
                param="options.num_ctx",
            )

    async def model(self, asked: str | None) -> str:
        """The served model's name for a name that a client gave. Raises ``ModelUnknown`` that says what there is."""
        if (known := self.known(asked)) is not None:
            return known
        if self.known_model is None:
            await self.meet()
        name = self.known_model
        if name is None:
            # Nobody knows yet what the first place serves; a fallback takes it for whatever it is called.
            return asked or self.config.model.name
        if asked is None:
            return name
        if (known := self.known(asked)) is not None:
            return known
        firsts = [stand.model for stand in self.behind.stands if not stand.fallback]
        there = ", ".join(dict.fromkeys(model for model in firsts if model is not None))
        raise ModelUnknown(
            f"There is no model {quote(asked[:200], shown=True)} here; there is {there}. "
            "model.aliases gives it further names."
        )

    def _target(self, asked: str) -> str:
        asked = asked.removesuffix(":latest")
        return self.config.model.aliases.get(asked, asked)

    # Turns

    def events(self, chat: ChatRequest, who: Who, *, started: float | None = None) -> Events:
        """The events of a turn; the last is its `TurnResult`. Closing it ends the turn and the engine's work on it."""

        def hear(report: Report) -> None:
            if self.config.server.strict_tools:
                refuse(report.left_out)
            events.left_out = report.left_out

        events = self._events(self._taken(chat, who, hear), started)
        return events

    def completion_events(self, request: CompletionRequest, who: Who, *, started: float | None = None) -> Events:
        """The same for a raw continuation of a text."""
        return self._events(self._again(lambda: self._continuation(request, who), streamed=request.stream), started)

    def _events(self, work: AsyncGenerator[ReplyEvent | TurnResult, None], started: float | None) -> Events:
        server = self.config.server
        events = Events(
            work,
            limit=server.request_timeout,
            heartbeat=server.heartbeat,
            started=started,
            on_first=self.metrics.first_token_seconds.observe,
            on_result=self._count,
        )
        if self._stopping:
            events.end(_stopping())
        self._open.add(events)
        return events

    async def count(self, chat: ChatRequest, who: Who) -> int:
        """The tokens of the prompt that a request would have."""
        async with self.pool_of(chat.model).visit(self.patience) as served:
            return await count(served.endpoint, await self._requests.turn(chat, who.key, served))

    async def _again(
        self, work: Callable[[], AsyncGenerator[ReplyEvent | TurnResult, None]], *, streamed: bool
    ) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
        """``work``, from its beginning once more where its engine ended before anything of it was sent."""
        for attempt in range(MAX_AGAIN + 1):
            sent = False
            try:
                async with aclosing(work()) as events:
                    async for event in events:
                        sent = streamed
                        yield event
                return
            except EngineDied:
                # Where nothing was sent yet, nobody sees that it was another engine.
                if sent or attempt == MAX_AGAIN:
                    raise

    def _patience(self, stands: tuple[Stand, ...]) -> float:
        return self.patience if len(stands) == 1 else min(PATIENCE, self.patience)

    async def _taken(
        self, chat: ChatRequest, who: Who, hear: Callable[[Report], None]
    ) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
        """A turn, at the first place that can take it; a fallback is asked only where nothing was sent yet."""
        stands = self.behind.asked(self._target(chat.model) if chat.model is not None else None)
        first: EngineError | None = None
        for number, stand in enumerate(stands):
            patience = self._patience(stands[number:])
            sent = False
            try:
                work = partial(self._turn, stand, chat, who, patience, hear)
                async with aclosing(self._again(work, streamed=chat.stream)) as events:
                    async for event in events:
                        sent = chat.stream
                        yield event
                return
            except (EngineDied, EngineStartError) as error:
                if sent or number == len(stands) - 1:
                    raise first or error from None
                first = first or error
                _LOG.warning("The endpoint %s can't reply, so a fallback is asked: %s", stand.name, error)

    async def _turn(
        self, stand: Stand, chat: ChatRequest, who: Who, patience: float, hear: Callable[[Report], None]
    ) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
        name = stand.name
        try:
            if isinstance(stand.place, Pool):
                async with stand.place.lease(conversation(chat), who=who.name, patience=patience) as lease:
                    name = lease.backend
                    fetched = self._sessions.of(who.name, chat.session)
                    request = await self._requests.turn(chat, who.key, lease.served, fetched)
                    work = run_local(lease.served.endpoint, replace(request, on_report=hear))
                    async for event in self._named(name, work):
                        if isinstance(event, TurnResult):
                            self._sessions.add(who.name, chat.session, event.fetched, len(chat.messages))
                        yield event
                return
            endpoint = await stand.place.wait_ready(patience)
            request = replace(await self._requests.turn(chat, who.key, None), on_report=hear)
            async for event in self._named(name, run_remote(endpoint, request)):
                yield event
        except GrammarRefused as error:
            self.metrics.turn(name, "failed")
            if chat.grammar is None:
                await asyncio.to_thread(keep_refused, error.grammar or "", self.config.machine.state_dir)
                raise
            raise RequestError(f"The engine refused the grammar: {error}", param="grammar") from None
        except EngineDied as error:
            self.metrics.turn(name, "failed")
            if not isinstance(stand.place, Pool):
                stand.place.failed(error)
            raise
        except EngineError:
            self.metrics.turn(name, "failed")
            raise

    async def _named(
        self, name: str, work: AsyncGenerator[ReplyEvent | TurnResult, None]
    ) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
        """The events of a turn, its result with the endpoint that took it."""
        async with aclosing(work) as events:
            async for event in events:
                if isinstance(event, TurnResult):
                    self.metrics.turn(name, "invalid" if event.invalid else "ok")
                    event = replace(event, endpoint=name)
                yield event

    async def _continuation(
        self, request: CompletionRequest, who: Who
    ) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
        tally = Tally()
        said = ""
        key = request.prompt if isinstance(request.prompt, str) else repr(request.prompt[:256])
        pool = self.pool_of(request.model)
        async with pool.lease((key_of(key[:2000]),), who=who.name, patience=self.patience) as lease:
            endpoint = lease.served.endpoint
            ids = (
                list(request.prompt)
                if not isinstance(request.prompt, str)
                else await endpoint.client.tokenize(request.prompt, special=False)
            )
            sampling = self._requests.sampling(request.sampling, request.max_tokens, lease.served)
            try:
                async with aclosing(sample(endpoint, ids, None, sampling, tally, raw=request.grammar)) as texts:
                    async for text in texts:
                        if text:
                            said += text
                            yield SayDelta(text)
            except GrammarRefused as error:
                if request.grammar is None:
                    raise
                raise RequestError(f"The engine refused the grammar: {error}", param="grammar") from None
            except EngineError as error:
                if "invalid tokens" not in str(error):
                    raise
                raise RequestError(
                    "prompt holds a number that is no token of this model; give its tokens, or a text.", param="prompt"
                ) from None
        done = Say(said, complete=not tally.cut_off)
        yield done
        stop = tally.stop_word if tally.stop_word in sampling.stop else None
        yield TurnResult((done,), tally.usage, 0, tally.timings, Report(), stop=stop)

    def _count(self, result: TurnResult) -> None:
        metrics, usage = self.metrics, result.usage
        metrics.tokens(
            prompt=usage.prompt, cached=usage.cached, completion=usage.completion, forced=result.forced_tokens
        )
        if result.compiling is not None:
            metrics.grammar_compile_seconds.observe(result.compiling)
        elif result.report.sizes:
            metrics.grammar_cache_hits.inc()
        for widening in result.report.widenings:
            metrics.widening(widening.keyword)
        metrics.mode(result.mode, result.mode_why, hops=result.infos, saved=result.saved)
        metrics.retries.inc(result.retries)
        metrics.invalid_calls.inc(len(result.invalid))
        if result.outside:
            metrics.left_grammar.inc()
            _LOG.warning("The engine wrote a reply that is not in its grammar; is it a llama-server that honours one?")


def told(result: TurnResult) -> dict[str, Any]:
    """What the doors' log is told of a turn (see `tacid.api.doors`)."""
    calls = [(done, (done.id or "") not in result.invalid) for done in result.completions if isinstance(done, Call)]
    outcome = "invalid" if result.invalid else "ok"
    return {
        "usage": result.usage,
        "calls": calls,
        "outcome": outcome,
        "endpoint": result.endpoint,
        "left_out": [tool.tool for tool in result.report.left_out],
        "turn": result,
    }


def _stopping() -> Stopping:
    return Stopping("The server is being stopped, and this could not be finished before; ask again in a moment.")


__all__ = ["Service", "Who", "told"]
