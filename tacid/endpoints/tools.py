"""A local server that honours tools and holds a grammar (vLLM): it is told the same thing twice.

It gets the tools, so that its template shows them, the grammar as its own structured-output field, and the envelope's
contract as a system message. Which of its fields holds a grammar, and under which ``tool_choice`` its own machinery
keeps its hands off the reply, is found out by trying (`ToolsEndpoint.learn`), since it differs from release to release:

- ``structured_outputs: {"grammar": …}`` is vLLM's field; ``guided_grammar``, its older name, was removed in 0.12
  (https://docs.vllm.ai/en/latest/features/structured_outputs/). Both take GBNF (xgrammar).
- With ``tool_choice`` "required" or a named function vLLM puts a schema of its own in the grammar's place, since 0.24 a
  structural tag with "auto" too (``VLLM_ENFORCE_STRICT_TOOL_CALLING``). With "none" the grammar holds, and the
  template shows the tools all the same, unless ``--exclude-tools-when-tool-choice-none`` was given
  (https://docs.vllm.ai/en/latest/features/tool_calling/).
- ``grammar`` is llama.cpp's (its server's README), and of what imitates it.

The choice that a turn asks for is in the grammar, so nothing is lost by ``tool_choice: "none"``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from tacid.catalogue import Tool
from tacid.chat import ReplyEvent
from tacid.endpoints.asked import SEVERAL, Asked, Several, tool_body
from tacid.endpoints.chat_client import ChatClient
from tacid.endpoints.chat_deltas import Deltas
from tacid.endpoints.remote import Thoughts, chosen, sampling_body
from tacid.engine.body import sendable
from tacid.engine.client import End
from tacid.errors import Busy, EngineDied, EngineError, GrammarRefused
from tacid.prompt.render import chat_turns
from tacid.reply.lenient import read_message
from tacid.reply.reader import ReplyReader, TextReader

#: Fields that hold a grammar, by the server that has them; tried in this order.
GRAMMAR_FIELDS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "structured_outputs": lambda grammar: {"structured_outputs": {"grammar": grammar}},
    "guided_grammar": lambda grammar: {"guided_grammar": grammar},
    "grammar": lambda grammar: {"grammar": grammar},
}

_CHOICES = ("none", "auto")
#: A grammar that no model keeps to by itself, and a tool to show.
_TRIED = 'root ::= "held-" [0-9] [0-9]'
_HELD = re.compile(r"held-[0-9][0-9]")
_BEGUN = re.compile(r"(h(e(l(d(-([0-9][0-9]?)?)?)?)?)?)?")
_TOOL = Tool("clock_read", "Read the clock of the kitchen.", {"type": "object", "properties": {}})


@dataclass(frozen=True, slots=True)
class Habits:
    """How a server is asked: the field of its grammar, the ``tool_choice``, whether its template shows the tools."""

    field: str
    choice: str
    shows: bool


class ToolsEndpoint:
    """A server that speaks OpenAI's chat protocol and holds grammars, and the model that it is asked for."""

    def __init__(self, client: ChatClient, model: str) -> None:
        self.client = client
        self.model = model
        self._habits: Habits | None = None

    @property
    def name(self) -> str:
        """What it is called in logs and errors."""
        return self.client.name

    async def learn(self, *, again: bool = False) -> Habits:
        """How the server is asked, found out by a few short replies; kept until it is asked ``again``.

        Raises ``GrammarRefused`` where no field holds a grammar, ``EngineDied``, ``EngineError``.
        """
        if self._habits is None or again:
            self._habits = await self._tried()
        return self._habits

    async def _tried(self) -> Habits:
        reasons: dict[str, list[str]] = {}
        holding: Habits | None = None
        bare: int | None = None
        for name in GRAMMAR_FIELDS:
            for choice in _CHOICES:
                held, read, reason = await self._try(name, choice)
                if not held:
                    reasons.setdefault(reason, []).append(f"{name} with tool_choice {choice}")
                    continue
                if bare is None:
                    bare = (await self._try(name, None))[1]
                if read > bare:
                    return Habits(name, choice, shows=True)
                holding = holding or Habits(name, choice, shows=False)
            if holding is not None:
                return holding
        tried = "; ".join(f"{', '.join(ways)}: {reason}" for reason, ways in reasons.items())
        raise GrammarRefused(
            f'The endpoint "{self.name}" holds no grammar ({tried}); start it so that it does, or take it as kind = '
            '"remote".'
        )

    async def _try(self, name: str, choice: str | None) -> tuple[bool, int, str]:
        """Whether a grammar is held, how many tokens the prompt had, and what came instead."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": "What time is it?"}],
            "max_tokens": 1024,  # for one that can't but think; what isn't held is broken off at once
            "temperature": 0,
            **_unthinking(),
            **GRAMMAR_FIELDS[name](_TRIED),
        }
        if choice is not None:
            body |= {"tools": [tool_body(_TOOL)], "tool_choice": choice}
        deltas = Deltas()
        said = ""
        try:
            async with aclosing(self.client.chat(body)) as chunks:
                async for chunk in chunks:
                    said += deltas.feed(chunk)[1]
                    if deltas.calling or not _BEGUN.fullmatch(said.strip()):
                        return False, 0, "ignored"
        except (EngineDied, Busy):
            raise
        except EngineError as error:
            return False, 0, str(error).rstrip(".")
        return _HELD.fullmatch(said.strip()) is not None, deltas.end().usage.prompt, "ignored"

    async def reply(self, asked: Asked) -> AsyncGenerator[ReplyEvent | Several | End, None]:
        """The events of one reply, then its `End`.

        A call that the server makes of the reply by itself comes whole, without a start, when the reply is. Raises
        what `ChatClient.chat` raises; ``GrammarRefused`` too where the reply is not what the grammar admits.
        """
        habits = await self.learn()
        names = [tool.name for tool in asked.catalogue]
        reader = ReplyReader(names, value=asked.answer is not None) if names else TextReader()
        deltas = Deltas()
        thoughts = Thoughts(heard=asked.think)
        listing = False
        async with aclosing(self.client.chat(self._body(asked, habits))) as chunks:
            async for chunk in chunks:
                thought, words = deltas.feed(chunk)
                for event in thoughts.feed(thought, words, calling=deltas.calling):
                    yield event
                if not words or deltas.calling:
                    continue
                events = reader.feed(words)
                if reader.listing and not listing:
                    listing = True
                    yield SEVERAL
                for event in events:
                    yield event
                self._check(asked, reader)
        for event in thoughts.finish():
            yield event
        calls = chosen([read_message(message, names) for message in deltas.messages()], asked)
        if calls:
            if len(calls) > 1:
                yield SEVERAL
            for call in calls:
                yield call
        else:
            for event in reader.finish(deltas.cut_off):
                yield event
        yield deltas.end()

    def _check(self, asked: Asked, reader: ReplyReader | TextReader) -> None:
        if asked.grammar is not None and isinstance(reader, ReplyReader) and reader.left:
            raise GrammarRefused(
                f'The endpoint "{self.name}" left the grammar that it was given; see docs/scaling.md for how it has to '
                "be started."
            )

    def _body(self, asked: Asked, habits: Habits) -> dict[str, Any]:
        sampling = asked.sampling
        turns = chat_turns(
            asked.messages,
            catalogue=asked.catalogue,
            shown=not habits.shows,
            facts=asked.facts,
            choice=asked.choice,
            answer=asked.answer,
            several=asked.max_calls > 1,
        )
        extra = {"top_k": sampling.top_k, "min_p": sampling.min_p, "repetition_penalty": sampling.repeat_penalty}
        return {
            "model": self.model,
            "messages": [{"role": turn.speaker, "content": sendable(turn.text)} for turn in turns],
            "max_tokens": sampling.max_tokens or None,
            **sampling_body(asked),
            **{key: value for key, value in extra.items() if value is not None},
            **({"tools": [tool_body(tool) for tool in asked.catalogue]} if len(asked.catalogue) else {}),
            **({"tool_choice": habits.choice} if len(asked.catalogue) else {}),
            **({} if asked.think else _unthinking()),
            **(GRAMMAR_FIELDS[habits.field](asked.grammar) if asked.grammar is not None else {}),
        }


def _unthinking() -> dict[str, Any]:
    """Asks a template that can think not to (Qwen3's way, which others took over; templates pass over it else)."""
    return {"chat_template_kwargs": {"enable_thinking": False}}


__all__ = ["GRAMMAR_FIELDS", "Habits", "ToolsEndpoint"]
