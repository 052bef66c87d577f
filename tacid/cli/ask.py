"""`tacid ask`: one turn."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tacid.api.modes import modes_of
from tacid.catalogue import AUTO, Catalogue, Choice, load_catalogue
from tacid.chat import Call, Message, Sampling, Say, SayDelta, Truncated
from tacid.cli.console import emit, notice, say, tree, waiting, write
from tacid.cli.options import HopsFlag, IndexFlag, ModeFlag, tools_flags
from tacid.config import Config, load_config
from tacid.endpoints.local import LocalEndpoint
from tacid.endpoints.opening import open_first
from tacid.errors import CatalogueError, InputError, ReplyTruncated
from tacid.jsontext import quote
from tacid.machine.offer import beside, check_protocol, offer_machine
from tacid.turn.mode import run_local
from tacid.turn.remote import run_remote
from tacid.turn.request import TurnRequest, TurnResult

MAX_TEXT = 1_000_000


def ask(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help='What you want, in words; "-" reads it from standard input.')
    ],
    tools: Annotated[
        Path | None,
        typer.Option(help="A catalogue of tools beside the machine's own: OpenAI tools, MCP tools/list, or a list."),
    ] = None,
    services: Annotated[
        Path | None, typer.Option(help="The services that this machine can build; no other name can be sampled.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A pinned model by name (see: tacid model list), or the path of a GGUF file.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help='An engine that already runs, http://host:port; "auto" starts one.')
    ] = None,
    system: Annotated[str | None, typer.Option(help="Further words for the system turn.")] = None,
    choice: Annotated[
        str, typer.Option(help='"auto", "required" (a call), "none" (an answer), or the name of a tool.')
    ] = "auto",
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Makes the sampling repeatable.")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, max=5.0, help="0 is greedy; default: what the model's publisher advises.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, max=32_768, help="The most tokens that are sampled.")] = 512,
    tool_mode: ModeFlag = None,
    index: IndexFlag = None,
    max_hops: HopsFlag = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of words.")] = False,
) -> None:
    """Ask once: the model calls one tool, or answers. The call can't be wrong in shape.

    It is asked of the first of the configured [[endpoints]], unless --engine or --model names another.

    Example: tacid ask "Turn on nginx, please" --tools tools.json --services services.json
    """
    if text == "-":
        text = _standard_input()
    if not text.strip() or len(text) > MAX_TEXT:
        raise _wrong_length()
    config = _config(load_config(overrides={"tools": tools_flags(tool_mode, index, max_hops)}), model, engine, services)
    catalogue = load_catalogue(tools) if tools else Catalogue()
    offer = offer_machine(config.machine)
    for line in offer.notices:
        notice(f"tacid: {line}")
    messages = (Message("system", system),) if system else ()
    everything = beside(offer.catalogue, catalogue, tools)
    chosen = _choice(choice)
    if chosen.name is not None and chosen.name not in everything:
        raise CatalogueError(
            f"There is no tool {quote(chosen.name, shown=True)} to choose; choose one that is offered."
        )
    request = TurnRequest(
        messages=(*messages, Message("user", text)),
        catalogue=everything,
        facts=offer.facts,
        choice=chosen,
        sampling=Sampling(temperature=temperature, seed=seed, max_tokens=max_tokens),
        checks={tool.name: check_protocol for tool in offer.catalogue},
        max_seconds=config.grammar.max_seconds,
        max_bytes=config.grammar.max_bytes,
        modes=modes_of(config.tools),
    )
    result, about = asyncio.run(_turn(config, request, stream=not as_json))
    if as_json:
        emit(_object(result, about))
    else:
        _show(result, about)
    if isinstance(result.completion, Truncated):
        raise ReplyTruncated(
            f"The reply was cut off in the middle of a call at {result.usage.completion} tokens; "
            "give more with --max-tokens."
        )


def _standard_input() -> str:
    """The text on standard input."""
    if sys.stdin is None:
        return ""
    data = sys.stdin.buffer.read(4 * MAX_TEXT + 1)
    if len(data) > 4 * MAX_TEXT:
        raise _wrong_length()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"Standard input is not UTF-8 text (byte {error.start:,}); give it as UTF-8.") from None


def _wrong_length() -> typer.BadParameter:
    return typer.BadParameter(f"give between 1 and {MAX_TEXT:,} characters", param_hint="TEXT")


def _config(config: Config, model: str | None, engine: str | None, services: Path | None) -> Config:
    """The configuration with the flags over it."""
    updates: dict[str, Any] = {}
    if model is not None:
        updates["model"] = config.model.model_copy(update={"name": model})
    if engine is not None:
        updates["engine"] = config.engine.model_copy(update={"url": None if engine == "auto" else engine})
    if engine is not None or model is not None:
        # Who names an engine or a model means that one, not what the file's [[endpoints]] have.
        updates["endpoints"] = ()
    if services is not None:
        updates["machine"] = config.machine.model_copy(update={"services": services})
    return config.model_copy(update=updates)


def _choice(text: str) -> Choice:
    modes: dict[str, Choice] = {"auto": AUTO, "required": Choice("required"), "none": Choice("none")}
    return modes.get(text) or Choice("named", text)


async def _turn(config: Config, request: TurnRequest, *, stream: bool) -> tuple[TurnResult, dict[str, Any]]:
    """Take the turn, writing an answer as it comes; gives its result and what it ran on."""
    with waiting("looking for the engine") as status:
        async with open_first(config, status.update) as opened:
            for line in opened.notices:
                notice(f"tacid: {line}")
            status.update("reading")
            asked = request.sampling
            advised = replace(opened.sampling, seed=asked.seed, max_tokens=asked.max_tokens)
            if asked.temperature is not None:
                advised = replace(advised, temperature=asked.temperature)
            started = time.perf_counter()
            request = replace(request, sampling=advised, modes=replace(request.modes, context=opened.context))
            endpoint = opened.endpoint
            if isinstance(endpoint, LocalEndpoint):
                endpoint.on_progress = lambda read, of: status.update(
                    f"reading {read:,} of {of:,} tokens" if read < of else "sampling"
                )
            events = (
                run_local(endpoint, request) if isinstance(endpoint, LocalEndpoint) else run_remote(endpoint, request)
            )
            result: TurnResult | None = None
            try:
                async for event in events:
                    if isinstance(event, TurnResult):
                        result = event
                    elif isinstance(event, SayDelta) and stream:
                        status.stop()
                        write(event.text)
            finally:
                await events.aclose()
            assert result is not None
            about = {
                "model": opened.endpoint.model,
                "engine": opened.build,
                "seconds": round(time.perf_counter() - started, 3),
            }
            return result, about


def _object(result: TurnResult, about: dict[str, Any]) -> dict[str, Any]:
    """The reply as one object for scripts."""
    done = result.completion
    reply: dict[str, Any]
    if isinstance(done, Call):
        reply = {"tool": done.name, "arguments": done.arguments}
    elif isinstance(done, Say):
        reply = {"say": done.text} if done.complete else {"say": done.text, "truncated": True}
    else:
        reply = {"truncated": True, "raw": done.raw}
    return {
        **reply,
        "usage": {
            "prompt_tokens": result.usage.prompt,
            "cached_tokens": result.usage.cached,
            "completion_tokens": result.usage.completion,
        },
        "forced_tokens": result.forced_tokens,
        "timings": {**result.timings, "seconds": about["seconds"]},
        "widenings": [asdict(widening) for widening in result.report.widenings],
        "left_out": [asdict(tool) for tool in result.report.left_out],
        "retries": result.retries,
        "tool_mode": result.mode,
        "get_tool_info_hops": result.infos,
        "model": about["model"],
        "engine": about["engine"],
    }


def _show(result: TurnResult, about: dict[str, Any]) -> None:
    """The reply for a person, and the line of cost."""
    done = result.completion
    if isinstance(done, Call):
        say(done.name, style="bold")
        for line in tree(dict(done.arguments)):
            say(line)
    elif isinstance(done, Say):
        write("\n")
        if not done.complete:
            notice("tacid: the answer was cut off; give more with --max-tokens.")
    for tool in result.report.left_out:
        notice(f"tacid: {tool.tool} was not offered: {tool.reason} at {tool.pointer or '/'}.")
    usage = result.usage
    again = f", {result.retries} more try" if result.retries else ""
    say(
        f"{about['model']}: {usage.prompt:,} tokens read ({usage.cached:,} from the cache), {usage.completion} "
        f"written ({result.forced_tokens} forced by the grammar{again}), {about['seconds']:.1f} s",
        style="dim",
    )
