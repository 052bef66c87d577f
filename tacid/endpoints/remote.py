"""A remote endpoint: one that guarantees the shape by itself, and so gets neither a grammar nor our words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tacid.chat import Call, Completion, Message, ReplyEvent, Say, SayDelta, Think, ThinkDelta, Truncated
from tacid.endpoints.asked import SEVERAL, Asked, Several, choice_body, is_strict, tool_body
from tacid.endpoints.chat_client import ChatClient
from tacid.endpoints.chat_deltas import Deltas
from tacid.engine.body import sendable
from tacid.engine.client import End
from tacid.errors import RequestError
from tacid.jsontext import dumps
from tacid.prompt.words import DEFAULT_WORDS, plain_system_text
from tacid.reply.json_stream import mend
from tacid.reply.lenient import read_remote


class RemoteEndpoint:
    """A server that speaks OpenAI's chat protocol, and the model that it is asked for. ``name`` is for people."""

    def __init__(self, client: ChatClient, model: str) -> None:
        self.client = client
        self.model = model

    @property
    def name(self) -> str:
        """What it is called in logs and errors."""
        return self.client.name

    async def reply(self, asked: Asked) -> AsyncGenerator[ReplyEvent | Several | End, None]:
        """The events of one reply, then its `End`; a call comes whole, without a start, when the reply is.

        Raises what `ChatClient.chat` raises, ``RequestError`` for a grammar.
        """
        if asked.grammar is not None:
            raise RequestError(
                f'A grammar of your own can\'t be held by the endpoint "{self.name}"; leave it out.', param="grammar"
            )
        deltas = Deltas()
        thoughts = Thoughts(heard=asked.think)
        said = ""
        async with aclosing(self.client.chat(self._body(asked))) as chunks:
            async for chunk in chunks:
                thought, words = deltas.feed(chunk)
                for event in thoughts.feed(thought, words, calling=deltas.calling):
                    yield event
                # With calls, more words are of no use to anybody; what was said before them stands.
                if words and not deltas.calling:
                    said += mend(words)
                    yield SayDelta(mend(words))
        for event in thoughts.finish():
            yield event
        calls = chosen([read_remote(message) for message in deltas.messages()], asked)
        if said or not calls:
            yield Say(said, complete=not deltas.cut_off or bool(calls))
        if len(calls) > 1:
            yield SEVERAL
        for call in calls:
            yield call
        yield deltas.end()

    def _body(self, asked: Asked) -> dict[str, Any]:
        sampling = asked.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "messages": openai_messages(asked.messages, asked.facts),
            "max_tokens": sampling.max_tokens or None,
            **sampling_body(asked),
        }
        if len(asked.catalogue):
            body["tools"] = [tool_body(tool) for tool in asked.catalogue]
            body["tool_choice"] = choice_body(asked.choice)
            body["parallel_tool_calls"] = asked.max_calls > 1
        if isinstance(asked.answer, Mapping):
            held = {"name": "answer", "schema": dict(asked.answer), "strict": is_strict(asked.answer)}
            body["response_format"] = {"type": "json_schema", "json_schema": held}
        elif asked.answer is not None:
            body["response_format"] = {"type": "json_object"}
        return body


class Thoughts:
    """A thought that comes before a reply, as its events; without ``heard`` it is passed over."""

    def __init__(self, *, heard: bool) -> None:
        self._heard = heard
        self._text = ""
        self._ended = False

    def feed(self, thought: str, words: str, *, calling: bool) -> Iterator[ReplyEvent]:
        """The events of a chunk that adds ``thought`` and ``words``."""
        if self._heard and thought and not self._ended:
            self._text += thought
            yield ThinkDelta(thought)
        if words or calling:
            yield from self.finish()

    def finish(self, *, complete: bool = True) -> Iterator[ReplyEvent]:
        """The thought, once, if there was one."""
        if self._text and not self._ended:
            yield Think(self._text, complete)
        self._ended = True


def chosen(read: Sequence[Completion], asked: Asked) -> list[Call | Truncated]:
    """Which of the calls that were made count: one of those that are made alone before all, no more than may be."""
    calls = [one for one in read if isinstance(one, (Call, Truncated))]
    whole = [one for one in calls if isinstance(one, Call)]
    alone = next((one for one in whole if one.name in asked.alone), None)
    if alone is not None:
        return [alone]
    if whole:
        return [*whole[: max(1, asked.max_calls)]]
    return calls[:1]


def sampling_body(asked: Asked) -> dict[str, Any]:
    """The sampling options that OpenAI's protocol has, without the limit of tokens."""
    sampling = asked.sampling
    options: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "seed": sampling.seed,
        "logit_bias": {str(token): bias for token, bias in sampling.logit_bias if isinstance(token, int)} or None,
    }
    return {key: value for key, value in options.items() if value is not None}


def openai_messages(messages: Sequence[Message], facts: Sequence[str]) -> list[dict[str, Any]]:
    """The conversation in OpenAI's shape: one system message, each call with an id that its result names."""
    lead = 0
    while lead < len(messages) and messages[lead].role == "system":
        lead += 1
    caller = "\n\n".join(message.content for message in messages[:lead] if message.content)
    system = plain_system_text(DEFAULT_WORDS, facts, caller)
    found: list[dict[str, Any]] = [{"role": "system", "content": sendable(system)}] if system else []
    open_calls: list[Call] = []
    for message in messages[lead:]:
        if message.role == "assistant":
            open_calls = [
                one if one.id else replace(one, id=f"call_{len(found)}_{index}")
                for index, one in enumerate(message.calls)
            ]
            found.append(_assistant(message, open_calls))
        elif message.role == "tool":
            answered = _answered(message, open_calls)
            found.append({"role": "tool", "tool_call_id": answered, "content": sendable(message.content)})
        else:
            found.append({"role": message.role, "content": sendable(message.content)})
    return found


def _assistant(message: Message, calls: Sequence[Call]) -> dict[str, Any]:
    body: dict[str, Any] = {"role": "assistant", "content": sendable(message.content)}
    if calls:
        body["content"] = body["content"] or None
        body["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": dumps(dict(one.arguments))},
            }
            for one in calls
        ]
    return body


def _answered(message: Message, calls: list[Call]) -> str:
    """The id of the call that a result answers: by id, by name, by order; each call is answered once."""
    pick = next((one for one in calls if message.call_id and one.id == message.call_id), None)
    if pick is None:
        pick = next((one for one in calls if message.name and one.name == message.name), None)
    if pick is None and not message.call_id:
        pick = calls[0] if calls else None
    if pick is None:
        return message.call_id or "call_0"
    calls.remove(pick)
    return pick.id or "call_0"


__all__ = ["RemoteEndpoint", "Thoughts", "chosen", "openai_messages", "sampling_body"]
