"""The command ``python -m tests.bench.calls``: our calls beside llama-server's own tool calling, same model, one run.

Thirty requests with the call that a person would expect and twenty that want words (`data/calls.json`), temperature
0, at most 128 tokens. Ours: the wordings that ``--words`` names, the grammar compiled from the catalogue, one request
each. The peer: ``/v1/chat/completions`` of the same engine with ``tools``, in template mode, ``tool_choice`` auto
and required. Prints a table and writes all replies as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacid.chat import Call, Completion, Message, Sampling, Say, Truncated
from tacid.config import Config, EngineConfig, ModelConfig
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.opening import open_endpoint
from tacid.errors import TacidError
from tacid.grammar import compile_catalogue
from tacid.prompt.render import render
from tacid.prompt.words import DEFAULT_WORDS, WORDS, Words
from tacid.reply.lenient import read_message
from tacid.reply.reader import EnvelopeReader
from tacid.schema.validate import Validators
from tests.bench.callset import DATA, CallSet, load_callset

MAX_TOKENS = 128
OUT = Path(__file__).parent / "out"
#: Seconds without a sign of life: a whole reply of a slow peer comes without one.
PATIENCE = 600.0


@dataclass(frozen=True)
class Reply:
    """One reply, judged. ``kind`` is call, words, cut (off at the limit) or error; ``hidden``: a call found in mere text."""

    request: str
    kind: str
    raw: str
    ms: float
    valid: bool = False
    right_tool: bool = False
    right_arguments: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Row:
    """One line of the table: a way to ask, its replies to the requests and to those that want words."""

    name: str
    calls: tuple[Reply, ...]
    answers: tuple[Reply, ...]

    def figures(self) -> dict[str, Any]:
        """What the table shows, and what the JSON file holds beside the replies."""
        everything = (*self.calls, *self.answers)
        return {
            "way": self.name,
            "requests": len(self.calls),
            "finished": sum(reply.kind in ("call", "words") for reply in self.calls),
            "valid": sum(reply.valid for reply in self.calls),
            "called": sum(reply.kind == "call" for reply in self.calls),
            "right_tool": sum(reply.right_tool for reply in self.calls),
            "right_arguments": sum(reply.right_arguments for reply in self.calls),
            "hidden_calls": sum(reply.hidden for reply in self.calls),
            "wanting_words": len(self.answers),
            "in_words": sum(reply.kind == "words" and not reply.hidden for reply in self.answers),
            "seconds": round(sum(reply.ms for reply in everything) / 1000, 1),
            "median_ms": round(statistics.median(reply.ms for reply in everything)) if everything else 0,
        }


#: Takes a request's text; gives the completion, the raw text, and whether a call was found in mere text.
Ask = Callable[[str], Awaitable[tuple[Completion, str, bool]]]


def ours(endpoint: LocalEndpoint, calls: CallSet, words: Words) -> Ask:
    """Asks as tacid does: its prompt, its grammar, its reader."""
    grammar = compile_catalogue(calls.catalogue)
    assert not grammar.gates

    async def ask(text: str) -> tuple[Completion, str, bool]:
        prompt = render((Message("user", text),), catalogue=calls.catalogue, family=endpoint.family, words=words)
        reader = EnvelopeReader([tool.name for tool in calls.catalogue])
        sampling = Sampling(temperature=0.0, max_tokens=MAX_TOKENS)
        raw, cut_off = "", False
        ids = await endpoint.tokens(prompt)
        stream = endpoint.generate(ids, grammar=grammar.text, sampling=sampling, stop=endpoint.family.stop)
        async with aclosing(stream) as pieces:
            async for piece in pieces:
                raw += piece.text
                reader.feed(piece.text)
                if piece.end is not None:
                    cut_off = piece.end.reason == "length" and not reader.done
        completion = reader.finish(cut_off)[-1]
        assert isinstance(completion, (Say, Call, Truncated))
        # An answer without its end is words all the same; that it was cut off counts under "finished".
        return (Truncated(raw) if cut_off else completion), raw, False

    return ask


def peer(endpoint: LocalEndpoint, calls: CallSet, choice: str) -> Ask:
    """Asks llama-server's own tool calling; a call that it leaves in the text is found leniently and marked."""
    names = [tool.name for tool in calls.catalogue]

    async def ask(text: str) -> tuple[Completion, str, bool]:
        body = {
            "messages": [{"role": "user", "content": text}],
            "tools": calls.tools,
            "tool_choice": choice,
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
        }
        answer = await endpoint.client._ask("POST", "/v1/chat/completions", body)
        first = answer["choices"][0]
        message = first["message"]
        raw = json.dumps(message, ensure_ascii=False)
        read = read_message(message, names)
        own = bool(message.get("tool_calls"))
        if first.get("finish_reason") == "length" and not (own and isinstance(read, Call)):
            return Truncated(raw), raw, isinstance(read, Call)
        if own:
            return read, raw, False
        said = message.get("content") or ""
        return (Say(said) if said.strip() else Truncated(raw)), raw, isinstance(read, Call)

    return ask


async def measure(
    name: str, ask: Ask, calls: CallSet, limit: int | None, tell: Callable[[str], None], *, required: bool = False
) -> Row:
    """Ask everything in order and judge it. ``limit``: only so many of either kind; ``required``: words are not valid."""
    validators = Validators(calls.catalogue)
    judged: list[Reply] = []
    for request in calls.requests[:limit]:
        completion, raw, hidden, ms, kind = await _asked(ask, request.text)
        valid = kind == "words" and not required
        tool = arguments = False
        if isinstance(completion, Call):
            valid = completion.name in calls.catalogue and not validators.problems(
                completion.name, completion.arguments
            )
            tool = request.right_tool(completion.name)
            arguments = request.right_call(completion.name, completion.arguments)
        judged.append(Reply(request.text, kind, raw, ms, valid, tool, arguments, hidden))
        tell(f"{name}: {len(judged)} requests")
    answers: list[Reply] = []
    for text in calls.answers[:limit]:
        _, raw, hidden, ms, kind = await _asked(ask, text)
        if kind == "cut" and _is_words(raw):
            kind = "words"
        answers.append(Reply(text, kind, raw, ms, hidden=hidden))
        tell(f"{name}: {len(answers)} that want words")
    return Row(name, tuple(judged), tuple(answers))


def _is_words(raw: str) -> bool:
    """Whether a reply that was cut off was an answer, ours (an envelope) or the peer's (a message)."""
    if raw.startswith('{"say":'):
        return True
    try:
        message = json.loads(raw)
    except ValueError:
        return False
    return bool(message.get("content")) and not message.get("tool_calls")


async def _asked(ask: Ask, text: str) -> tuple[Completion | None, str, bool, float, str]:
    start = time.monotonic()
    try:
        completion, raw, hidden = await ask(text)
    except TacidError as error:
        return None, str(error), False, (time.monotonic() - start) * 1000, "error"
    kind = {Call: "call", Say: "words", Truncated: "cut"}[type(completion)]
    return completion, raw, hidden, (time.monotonic() - start) * 1000, kind


COLUMNS = {
    "way": "way", "finished": "finished", "valid": "valid", "called": "called", "right_tool": "right tool",
    "right_arguments": "right arguments", "hidden_calls": "call in the text", "in_words": "in words",
    "seconds": "seconds", "median_ms": "median ms",
}  # fmt: skip


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|" + " --- |" * len(COLUMNS)]
    for row in rows:
        figures = row.figures()
        lines.append("| " + " | ".join(str(figures[column]) for column in COLUMNS) + " |")
    return "\n".join(lines)


@asynccontextmanager
async def opened(args: argparse.Namespace) -> AsyncIterator[LocalEndpoint]:
    """The endpoint that the command's options name."""
    engine = EngineConfig.model_validate(
        {
            "url": args.engine,
            "binary": args.server,
            "threads": args.threads,
            "context": 8192,
            "slots": 1,
            "reply_timeout": PATIENCE,
            "extra_args": args.engine_arg,
        }
    )
    config = Config(engine=engine, model=ModelConfig.model_validate({"name": args.model}))
    async with open_endpoint(config, on_progress=_tell) as ready:
        for notice in ready.notices:
            _tell(notice)
        yield ready.endpoint


def options(description: str) -> argparse.ArgumentParser:
    """The options that the commands of this folder share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a pin by name, or a GGUF file")
    parser.add_argument("--words", action="append", choices=sorted(WORDS), help="a wording by name; repeatable")
    parser.add_argument("--set", type=Path, default=DATA, help="another set of requests")
    parser.add_argument("--limit", type=int, help="only so many requests of either kind")
    parser.add_argument("--engine", help="the URL of an engine that runs, instead of starting one")
    parser.add_argument("--server", type=Path, help="a llama-server to start")
    parser.add_argument("--engine-arg", action="append", default=[], help="one more argument for it; repeatable")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    return parser


def chosen(names: Sequence[str] | None) -> dict[str, Words]:
    """The wordings that were named, else the default."""
    if names:
        return {name: WORDS[name] for name in names}
    return {next(name for name, words in WORDS.items() if words == DEFAULT_WORDS): DEFAULT_WORDS}


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write the JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"\nAll replies: {path}")


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


async def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    calls = load_callset(args.set)
    rows: list[Row] = []
    async with opened(args) as endpoint:
        for name, words in chosen(args.words).items():
            rows.append(await measure(f"tacid, {name}", ours(endpoint, calls, words), calls, args.limit, _tell))
        for choice in () if args.no_peer else ("auto", "required"):
            # What must call can't answer: the requests that want words say nothing about it.
            asked = calls if choice == "auto" else calls.model_copy(update={"answers": ()})
            rows.append(
                await measure(
                    f"llama-server, {choice}",
                    peer(endpoint, calls, choice),
                    asked,
                    args.limit,
                    _tell,
                    required=choice == "required",
                )
            )
        model, build = endpoint.model, endpoint.build
    print(f"\n{model} on {build}, temperature 0, at most {MAX_TOKENS} tokens\n\n{table(rows)}")
    document = {
        "set": args.set.name,
        "model": model,
        "engine": build,
        "max_tokens": MAX_TOKENS,
        "rows": [{**row.figures(), "replies": [asdict(reply) for reply in (*row.calls, *row.answers)]} for row in rows],
    }
    write(args.out or OUT / f"calls-{Path(model).stem}.json", document)


def main() -> None:
    """The command."""
    parser = options("Our calls beside llama-server's own tool calling.")
    parser.add_argument("--no-peer", action="store_true", help="only our own side")
    try:
        asyncio.run(run(parser.parse_args()))
    except TacidError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
