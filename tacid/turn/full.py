"""The full turn: every schema in the prompt, every schema in the grammar, one reply."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from tacid.catalogue import Catalogue
from tacid.chat import Call, CallDelta, CallStart, Completion, Message, ReplyEvent, Say, SayDelta, Truncated
from tacid.endpoints.local import LocalEndpoint
from tacid.errors import CallInvalid, CatalogueError
from tacid.grammar import Grammar, Report, compile_catalogue
from tacid.prompt.render import render
from tacid.reply.reader import EnvelopeReader, TextReader
from tacid.schema.validate import Validators
from tacid.turn.request import TurnRequest, TurnResult
from tacid.turn.steps import Tally, sample

#: Times that a call which fails its check is sampled again.
MAX_RETRIES = 1
_NOTHING = Report()


async def run_full(endpoint: LocalEndpoint, request: TurnRequest) -> AsyncGenerator[ReplyEvent | TurnResult, None]:
    """Take one turn; the last event is its `TurnResult`.

    Events of a call are held back until it is checked where its grammar is wider than its schema or where
    ``request.check`` has a say: what was given out can't be recalled. A call that fails is told to the model once,
    with the field, and sampled again. Raises ``CallInvalid`` where that fails too, ``CatalogueError`` where no
    tool is left to choose from, and ``EngineError``.
    """
    grammar, catalogue = _compile(request)
    validators = Validators(catalogue)
    widened = {w.tool for w in grammar.report.widenings} if grammar else set()
    messages = request.messages
    tally = Tally()
    problems: tuple[str, ...] = ()
    for attempt in range(MAX_RETRIES + 1):
        prompt = render(
            messages, catalogue=catalogue, family=endpoint.family, facts=request.facts, choice=request.choice
        )
        ids = await endpoint.tokens(prompt)
        reader = EnvelopeReader([tool.name for tool in catalogue]) if grammar else TextReader()
        sampling = replace(request.sampling, stop=(*request.sampling.stop, *endpoint.family.stop))
        held: list[ReplyEvent] = []
        completion: Completion | None = None
        hold = False
        stream = sample(endpoint, ids, grammar, sampling, tally)
        try:
            async for event in _events(reader, stream, tally):
                if isinstance(event, CallStart):
                    hold = event.name in widened or request.check is not None
                if isinstance(event, (Say, Call, Truncated)):
                    completion = event
                elif hold and isinstance(event, (CallStart, CallDelta)):
                    held.append(event)
                elif isinstance(event, (SayDelta, CallStart, CallDelta)):
                    yield event
        finally:
            await stream.aclose()
        assert completion is not None
        wrong = _problems(completion, catalogue, validators, request)
        if not wrong:
            for event in held:
                yield event
            yield completion
            report = grammar.report if grammar else _NOTHING
            yield TurnResult(completion, tally.usage, tally.forced_tokens, tally.timings, report, attempt, problems)
            return
        problems = (*problems, *wrong)
        assert isinstance(completion, Call)
        if attempt == MAX_RETRIES:
            raise CallInvalid(
                f'The model called "{completion.name}" with arguments that don\'t fit, twice: {"; ".join(wrong)}. '
                "Put the request more clearly, or take a larger model."
            )
        told = "This call was refused: " + "; ".join(wrong) + ". Call again with arguments that fit."
        call = replace(completion, id="refused-1")
        messages = (
            *messages,
            Message("assistant", calls=(call,)),
            Message("tool", told, name=call.name, call_id=call.id),
        )


def _compile(request: TurnRequest) -> tuple[Grammar | None, Catalogue]:
    """The grammar and the catalogue of what may be called: both hold the same tools."""
    if not len(request.catalogue) or request.choice.mode == "none":
        if request.choice.mode in ("required", "named"):
            raise CatalogueError("A call is required, but no tool is offered; offer one.")
        return None, Catalogue()
    grammar = compile_catalogue(request.catalogue, choice=request.choice)
    left_out = {tool.tool for tool in grammar.report.left_out}
    return grammar, Catalogue(tuple(tool for tool in request.catalogue if tool.name not in left_out))


async def _events(
    reader: EnvelopeReader | TextReader, stream: AsyncGenerator[str, None], tally: Tally
) -> AsyncGenerator[ReplyEvent, None]:
    async for text in stream:
        for event in reader.feed(text):
            yield event
    for event in reader.finish(tally.cut_off):
        yield event


def _problems(
    completion: Completion, catalogue: Catalogue, validators: Validators, request: TurnRequest
) -> tuple[str, ...]:
    """What is wrong with a finished call; nothing is with anything else."""
    if not isinstance(completion, Call):
        return ()
    if completion.name not in catalogue:
        return (f'there is no tool called "{completion.name}"',)
    problems = validators.problems(completion.name, completion.arguments)
    if problems:
        return tuple(str(problem) for problem in problems)
    return request.check(completion.name, completion.arguments) if request.check else ()
